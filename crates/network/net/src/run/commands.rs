//! What other threads tell the thread of a loop.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel as unbounded, sync_channel};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::device::Count;
use crate::engine::{CacheCounters, Counters, Info};
use crate::server::{Attached, Heir};

/// How long a loop may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

pub enum Command {
    Attach(Attached),
    Heir(Heir),
    Inspect {
        flows: bool,
        reply: SyncSender<Snapshot>,
    },
    Stop,
}

/// How an engine is doing.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Since it began.
    pub uptime: Duration,
    /// What it counted.
    pub counters: Counters,
    /// The cache of recent flows.
    pub cache: CacheCounters,
    /// Applications that are attached.
    pub applications: usize,
    /// How often the loop turned, and how often it slept.
    pub turns: u64,
    /// How often it slept.
    pub sleeps: u64,
    /// What the device counted.
    pub device: Vec<Count>,
    /// Connections: both ends and what is known of them. Empty if not asked for.
    pub flows: Vec<(SocketAddr, SocketAddr, Info)>,
}

#[derive(Debug)]
struct Wake {
    waiting: AtomicBool,
    event: OwnedFd,
}

/// Tells a loop what to do.
#[derive(Clone, Debug)]
pub struct Commands {
    sender: Sender<Command>,
    wake: Arc<Wake>,
}

/// The loop's end.
#[derive(Debug)]
pub struct Inbox {
    receiver: Receiver<Command>,
    wake: Arc<Wake>,
}

/// Both ends.
///
/// # Errors
/// What the operating system says.
pub fn channel() -> io::Result<(Commands, Inbox)> {
    let wake = Arc::new(Wake {
        waiting: AtomicBool::new(false),
        event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
    });
    let (sender, receiver) = unbounded();
    let commands = Commands {
        sender,
        wake: Arc::clone(&wake),
    };
    Ok((commands, Inbox { receiver, wake }))
}

impl Commands {
    fn send(&self, command: Command) -> bool {
        let sent = self.sender.send(command).is_ok();
        self.wake.waiting.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.wake.event, &1_u64.to_ne_bytes());
        sent
    }

    /// Adds an application. False if the loop has ended.
    pub fn attach(&self, attached: Attached) -> bool {
        self.send(Command::Attach(attached))
    }

    /// Adds an heir. False if the loop has ended.
    pub fn add_heir(&self, heir: Heir) -> bool {
        self.send(Command::Heir(heir))
    }

    /// How the engine is doing, with all connections if `flows`. None if the loop has ended.
    pub fn inspect(&self, flows: bool) -> Option<Snapshot> {
        let (reply, answer) = sync_channel(1);
        let sent = self.send(Command::Inspect { flows, reply });
        sent.then(|| answer.recv_timeout(ANSWER).ok()).flatten()
    }

    /// Ends the loop.
    pub fn stop(&self) {
        self.send(Command::Stop);
    }
}

impl Inbox {
    /// Readable when a command waits.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.wake.event.as_fd()
    }

    /// Whether a command may wait.
    pub fn is_waiting(&self) -> bool {
        self.wake.waiting.load(Ordering::Acquire)
    }

    /// The commands that wait.
    pub(super) fn take(&self) -> impl Iterator<Item = Command> {
        // Before they are taken: a command that comes after that sets it again.
        self.wake.waiting.store(false, Ordering::Release);
        let _ = rustix::io::read(&self.wake.event, &mut [0; 8]);
        self.receiver.try_iter()
    }
}
