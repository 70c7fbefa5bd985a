//! What wakes the thread of a loop.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::engine::Owner;
use crate::server::Watched;

/// Sources that are told at a time.
const EVENTS: usize = 64;

/// What woke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The device or a command.
    Other,
    /// The socket of an application.
    Socket(Owner),
    /// The end of its process.
    Process(Owner),
    /// The socket of an heir, by its number.
    Heir(u32),
}

const OTHER: u64 = 0;
const SOCKET: u64 = 1 << 32;
const PROCESS: u64 = 2 << 32;
const HEIR: u64 = 3 << 32;

/// All that wakes it.
pub struct Waiter {
    epoll: OwnedFd,
    events: [Event; EVENTS],
}

impl Waiter {
    /// The device, if it can, and commands.
    pub fn new(device: Option<BorrowedFd<'_>>, commands: BorrowedFd<'_>) -> io::Result<Waiter> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for fd in device.into_iter().chain([commands]) {
            epoll::add(&epoll, fd, EventData::new_u64(OTHER), EventFlags::IN)?;
        }
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(OTHER),
        };
        Ok(Waiter {
            epoll,
            events: [none; EVENTS],
        })
    }

    /// An application. It is forgotten when its file descriptors are closed.
    pub fn add(&self, owner: Owner, watched: &Watched<'_>) -> io::Result<()> {
        let add = |fd: BorrowedFd<'_>, kind: u64| {
            let data = EventData::new_u64(kind | u64::from(owner.0));
            epoll::add(&self.epoll, fd, data, EventFlags::IN)
        };
        add(watched.socket, SOCKET)?;
        watched.process.map_or(Ok(()), |fd| add(fd, PROCESS))?;
        Ok(())
    }

    /// An heir, likewise.
    pub fn add_heir(&self, number: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let data = EventData::new_u64(HEIR | u64::from(number));
        epoll::add(&self.epoll, socket, data, EventFlags::IN)?;
        Ok(())
    }

    /// Waits until one wakes it, or for `timeout`; for ever if that is none.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<impl Iterator<Item = Source>> {
        let timeout = timeout.map(|timeout| Timespec::try_from(timeout).unwrap_or_default());
        let n = match epoll::wait(&self.epoll, &mut self.events, timeout.as_ref()) {
            Ok(n) => n,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(self.events[..n].iter().map(|event| {
            let data = event.data.u64();
            let owner = Owner(data as u32);
            match data & !u64::from(u32::MAX) {
                SOCKET => Source::Socket(owner),
                PROCESS => Source::Process(owner),
                HEIR => Source::Heir(data as u32),
                _ => Source::Other,
            }
        }))
    }
}
