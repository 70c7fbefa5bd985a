//! Who is connected, so that all can be seen off.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::connection::lock;
use super::stream::Stream;
use crate::serve::Metrics;

/// Most clients at once. Others are turned away at the door.
const MAX_GUESTS: usize = 2048;
/// How long replies under way may take when the server ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who is connected.
#[derive(Default)]
pub struct Guests {
    list: Mutex<List>,
    left: Condvar,
}

#[derive(Default)]
struct List {
    streams: HashMap<u64, Arc<Stream>>,
    next: u64,
}

/// A client, until this is dropped.
pub struct Guest<'a> {
    guests: &'a Guests,
    metrics: &'a Metrics,
    number: u64,
    stream: Arc<Stream>,
}

impl Guests {
    /// Takes a client in, if there is room.
    pub fn admit<'a>(&'a self, stream: Stream, metrics: &'a Metrics) -> Option<Guest<'a>> {
        let mut list = lock(&self.list);
        if list.streams.len() >= MAX_GUESTS {
            return None;
        }
        let (number, stream) = (list.next, Arc::new(stream));
        list.next += 1;
        list.streams.insert(number, Arc::clone(&stream));
        metrics.connections.add(1);
        metrics.accepted.add(1);
        Some(Guest {
            guests: self,
            metrics,
            number,
            stream,
        })
    }

    /// Sees all off: no more requests are taken, replies under way have a moment, and then that is the end.
    pub fn see_off(&self) {
        let mut list = lock(&self.list);
        for stream in list.streams.values() {
            stream.shutdown(Shutdown::Read);
        }
        let gone = |list: &mut List| !list.streams.is_empty();
        list = match self.left.wait_timeout_while(list, PATIENCE, gone) {
            Ok((list, _)) => list,
            Err(poisoned) => poisoned.into_inner().0,
        };
        for stream in list.streams.values() {
            stream.shutdown(Shutdown::Both);
        }
    }
}

impl Guest<'_> {
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // Others may have the stream still; the client should know now.
        self.stream.shutdown(Shutdown::Both);
        lock(&self.guests.list).streams.remove(&self.number);
        self.metrics.connections.sub(1);
        self.guests.left.notify_all();
    }
}
