//! The connected clients, so that all can be disconnected.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evener_files::unpoisoned;

use super::stream::Stream;
use crate::serve::Metrics;

/// The most clients at once. Others are refused.
const MAX_CLIENTS: usize = 2048;
/// How long replies under way may take when the server ends.
const GRACE: Duration = Duration::from_secs(1);

/// The connected clients.
#[derive(Default)]
pub struct Clients {
    list: Mutex<List>,
    disconnected: Condvar,
}

#[derive(Default)]
struct List {
    streams: HashMap<u64, Arc<Stream>>,
    next: u64,
}

/// A client. It is disconnected when this is dropped.
pub struct Client<'a> {
    clients: &'a Clients,
    metrics: &'a Metrics,
    number: u64,
    stream: Arc<Stream>,
}

impl Clients {
    /// Adds a client; `None` if there are too many.
    pub fn admit<'a>(&'a self, stream: Stream, metrics: &'a Metrics) -> Option<Client<'a>> {
        let mut list = unpoisoned(self.list.lock());
        if list.streams.len() >= MAX_CLIENTS {
            return None;
        }
        let (number, stream) = (list.next, Arc::new(stream));
        list.next += 1;
        list.streams.insert(number, Arc::clone(&stream));
        metrics.connections.add(1);
        metrics.accepted.add(1);
        Some(Client {
            clients: self,
            metrics,
            number,
            stream,
        })
    }

    /// Disconnects all. No more requests are read, and replies under way may be sent for a moment.
    pub fn disconnect_all(&self) {
        let mut list = unpoisoned(self.list.lock());
        for stream in list.streams.values() {
            stream.shutdown(Shutdown::Read);
        }
        let any = |list: &mut List| !list.streams.is_empty();
        let waited = self.disconnected.wait_timeout_while(list, GRACE, any);
        list = unpoisoned(waited).0;
        for stream in list.streams.values() {
            stream.shutdown(Shutdown::Both);
        }
    }
}

impl Client<'_> {
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        // Other threads may still hold the stream, and the client has to notice now.
        self.stream.shutdown(Shutdown::Both);
        unpoisoned(self.clients.list.lock())
            .streams
            .remove(&self.number);
        self.metrics.connections.sub(1);
        self.clients.disconnected.notify_all();
    }
}
