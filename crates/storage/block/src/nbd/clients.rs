//! The connected clients, so that all can be disconnected.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evener_files::{lock, unpoisoned};
use evener_runtime::stream::CancelToken;
use evener_sockets::Stream;

use super::channel::Channel;
use crate::serve::{ClientCounts, Counter};

/// The most clients at once. Others are refused.
const MAX_CLIENTS: usize = 2048;
/// How long replies under way may take when the server ends.
const GRACE: Duration = Duration::from_secs(1);

/// The connected clients.
#[derive(Default)]
pub struct Clients {
    list: Mutex<List>,
    disconnected: Condvar,
    accepted: Counter,
    /// Cancelled when the last client that agreed on an export is gone.
    exit_last: Option<CancelToken>,
}

#[derive(Default)]
struct List {
    streams: HashMap<u64, Arc<Channel>>,
    next: u64,
}

/// A client. It is disconnected when this is dropped.
pub struct Client<'a> {
    clients: &'a Clients,
    number: u64,
    stream: Arc<Channel>,
    negotiated: bool,
}

impl Clients {
    /// No clients yet. `exit_last` is cancelled when the last one is gone that agreed on an export.
    pub fn new(exit_last: Option<CancelToken>) -> Clients {
        Clients {
            exit_last,
            ..Clients::default()
        }
    }

    /// How many there are, and were.
    pub fn counts(&self) -> ClientCounts {
        ClientCounts {
            connected: lock(&self.list).streams.len() as u64,
            accepted: self.accepted.get(),
        }
    }

    /// Adds a client; `None` if there are too many.
    pub fn admit(&self, stream: Stream) -> Option<Client<'_>> {
        let mut list = lock(&self.list);
        if list.streams.len() >= MAX_CLIENTS {
            return None;
        }
        let (number, stream) = (list.next, Arc::new(Channel::new(stream)));
        list.next += 1;
        list.streams.insert(number, Arc::clone(&stream));
        self.accepted.add(1);
        Some(Client {
            clients: self,
            number,
            stream,
            negotiated: false,
        })
    }

    /// Disconnects all. No more requests are read, and replies under way may be sent for a moment.
    pub fn disconnect_all(&self) {
        let mut list = lock(&self.list);
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
    pub fn stream(&self) -> &Arc<Channel> {
        &self.stream
    }

    /// Notes that it has agreed on an export.
    pub fn set_negotiated(&mut self) {
        self.negotiated = true;
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        // Other threads may still hold the stream, and the client has to notice now.
        self.stream.shutdown(Shutdown::Both);
        let mut list = lock(&self.clients.list);
        list.streams.remove(&self.number);
        if let Some(exit) = &self.clients.exit_last
            && self.negotiated
            && list.streams.is_empty()
        {
            exit.cancel();
        }
        drop(list);
        self.clients.disconnected.notify_all();
    }
}
