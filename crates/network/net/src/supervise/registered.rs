//! Sockets that a program has put into an epoll before they became the stack's.

use std::collections::VecDeque;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, RawFd};

use super::caller::Caller;
use super::sys::replace_in_epoll;

/// How many are remembered: most sockets never become the stack's, and nothing tells when one is closed.
const MOST: usize = 4096;

/// The latest sockets that were put into an epoll, by their names, and the epoll's number.
#[derive(Debug, Default)]
pub struct Registered(VecDeque<(u64, RawFd)>);

/// What an epoll has of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    events: u32,
    data: u64,
}

impl Registered {
    /// A socket is about to be put into an epoll.
    pub fn add(&mut self, name: u64, epoll: RawFd) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((name, epoll));
    }

    /// Puts another file into the place of a socket, in each epoll that has it under the number `fd`.
    pub fn replace(&mut self, caller: Caller, name: u64, fd: RawFd, both: [BorrowedFd<'_>; 2]) {
        let mut epolls: Vec<RawFd> = Vec::new();
        self.0.retain(|&(other, epoll)| {
            if other == name && !epolls.contains(&epoll) {
                epolls.push(epoll);
            }
            other != name
        });
        for epoll in epolls {
            // What the epoll says itself counts: the entry may have been changed, or the epoll closed.
            let text = fs::read_to_string(format!("/proc/{}/fdinfo/{epoll}", caller.0));
            let entry = text.ok().and_then(|text| find(&text, fd, name));
            if let Some(entry) = entry
                && let Ok(epoll) = caller.socket(epoll)
            {
                // If it fails, the program is not told of the connection by this epoll.
                let _ = replace_in_epoll(epoll.as_fd(), both, fd, entry.events, entry.data);
            }
        }
    }
}

/// The entry of a file in what `/proc/PID/fdinfo` says of an epoll.
fn find(text: &str, fd: RawFd, name: u64) -> Option<Entry> {
    text.lines().find_map(|line| {
        let line = line.strip_prefix("tfd:")?.replace(':', ": ");
        let mut words = line.split_whitespace();
        let number: RawFd = words.next()?.parse().ok()?;
        let mut field = |name: &str| {
            words.find(|&word| word == name)?;
            u64::from_str_radix(words.next()?, 16).ok()
        };
        let (events, data) = (field("events:")?, field("data:")?);
        let entry = Entry {
            events: u32::try_from(events).ok()?,
            data,
        };
        (number == fd && field("ino:")? == name).then_some(entry)
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

    use super::*;

    #[test]
    fn an_epoll_says_what_it_has() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let own = Caller(std::process::id());
        for data in [0, u64::MAX, 0x1234_5678_9ABC_DEF0] {
            let socket = TcpListener::bind("127.0.0.1:0").unwrap();
            let flags = EventFlags::IN | EventFlags::ET;
            epoll::add(&epoll, &socket, EventData::new_u64(data), flags).unwrap();
            let text = format!("/proc/self/fdinfo/{}", epoll.as_raw_fd());
            let text = fs::read_to_string(text).unwrap();
            let (fd, name) = (socket.as_raw_fd(), own.number(socket.as_raw_fd()).unwrap());
            let entry = find(&text, fd, name).unwrap();
            assert_eq!(entry.data, data);
            assert_eq!(entry.events & flags.bits(), flags.bits());
            assert_eq!(find(&text, fd, name + 1), None);
            assert_eq!(find(&text, fd + 1, name), None);
        }
        assert_eq!(find("tfd: 3 events: x\ntfd:\nnonsense", 3, 1), None);
    }
}
