//! What wakes the thread of an engine.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

/// Sockets that are told at a time.
const EVENTS: usize = 256;
const NONE: Event = Event {
    flags: EventFlags::empty(),
    data: EventData::new_u64(0),
};

/// What a socket is of. Each has a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Something is in the inbox.
    Inbox,
    /// A socket of a source: which source, and which of its sockets.
    Source(u32, u8),
    /// A client.
    Client(u32),
}

impl Token {
    fn encode(self) -> u64 {
        match self {
            Token::Inbox => 0,
            Token::Source(number, socket) => 1 << 40 | u64::from(socket) << 32 | u64::from(number),
            Token::Client(number) => 2 << 40 | u64::from(number),
        }
    }

    fn decode(data: u64) -> Token {
        match data >> 40 {
            1 => Token::Source(data as u32, (data >> 32) as u8),
            2 => Token::Client(data as u32),
            _ => Token::Inbox,
        }
    }
}

/// What a socket is ready for.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Which.
    pub token: Token,
    /// Something can be read, or its peer is gone.
    pub readable: bool,
    /// There is room.
    pub writable: bool,
}

/// All sockets of an engine.
pub struct Waiter {
    epoll: OwnedFd,
}

impl Waiter {
    /// Without any.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new() -> io::Result<Waiter> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Waiter { epoll })
    }

    /// A socket that is told of as long as there is something to read. It is forgotten when it is closed.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn add(&self, token: Token, fd: BorrowedFd<'_>) -> io::Result<()> {
        let data = EventData::new_u64(token.encode());
        Ok(epoll::add(&self.epoll, fd, data, EventFlags::IN)?)
    }

    /// Forgets a socket that stays open.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// A connection that is told of when something has come, and when there is room again.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn add_connection(&self, token: Token, fd: impl AsFd) -> io::Result<()> {
        let data = EventData::new_u64(token.encode());
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, fd, data, flags)?)
    }

    /// Waits until a socket is ready, or for `timeout`, and adds those that are to `ready`.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn wait(&self, timeout: Duration, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout = Timespec::try_from(timeout).unwrap_or_default();
        let mut events = [NONE; EVENTS];
        let count = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let gone = EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP;
        ready.extend(events[..count].iter().map(|event| {
            let flags = event.flags;
            Ready {
                token: Token::decode(event.data.u64()),
                readable: flags.intersects(EventFlags::IN | gone),
                writable: flags.intersects(EventFlags::OUT | gone),
            }
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_were_written() {
        for number in [0, 1, u32::MAX] {
            for token in [
                Token::Inbox,
                Token::Client(number),
                Token::Source(number, 0),
                Token::Source(number, u8::MAX),
            ] {
                assert_eq!(Token::decode(token.encode()), token);
            }
        }
    }
}
