//! Names of hosts become addresses in threads that nothing else waits for.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use evener_files::lock;

/// Names that wait at most.
const WAITING: usize = 64;

/// Where names are handed in. The threads end when all copies of this are gone.
#[derive(Clone, Debug)]
pub struct Resolver(SyncSender<Query>);

/// What the threads take names from. A name that takes long keeps one of them.
#[derive(Debug)]
pub struct Names(Mutex<Receiver<Query>>);

/// What a name stands for, without duplicates, in the order of the system's preference.
pub type Addresses = io::Result<Vec<IpAddr>>;

/// What a name stands for.
#[derive(Debug)]
pub struct Resolved {
    /// The number of the source that asked.
    pub source: u32,
    /// What tells its questions apart from those of sources before it that had the same number.
    pub ticket: u64,
    /// The answer.
    pub addresses: Addresses,
}

struct Query {
    host: String,
    answer: Box<dyn FnOnce(Addresses) + Send>,
}

impl Resolver {
    /// Both ends.
    pub fn new() -> (Resolver, Names) {
        let (sender, receiver) = sync_channel(WAITING);
        (Resolver(sender), Names(Mutex::new(receiver)))
    }

    /// Asks for a name; a thread calls `answer`. False if too many wait.
    pub(in crate::engine) fn ask(
        &self,
        host: String,
        answer: impl FnOnce(Addresses) + Send + 'static,
    ) -> bool {
        let answer = Box::new(answer);
        self.0.try_send(Query { host, answer }).is_ok()
    }
}

impl Names {
    /// Answers until nobody can ask any more. Several threads may call it.
    pub fn run(&self) {
        while let Some(Query { host, answer }) = self.next() {
            // The port is of no interest to the system's resolver.
            answer((host.as_str(), 0).to_socket_addrs().map(|found| {
                let mut addresses: Vec<IpAddr> = Vec::new();
                for address in found.map(|address| address.ip()) {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
                addresses
            }));
        }
    }

    fn next(&self) -> Option<Query> {
        let receiver = lock(&self.0);
        receiver.recv().ok()
    }
}
