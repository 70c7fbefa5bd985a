//! What `poll` and `epoll` tell of a socket.

use std::ffi::c_short;
use std::sync::atomic::Ordering;

use evener_net_client::client::Progress;

use super::Socket;

/// What an edge-triggered epoll has told of a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    received: u64,
    blocked: u64,
    events: c_short,
}

impl Socket {
    /// What `poll` tells of it.
    pub fn events(&self) -> c_short {
        let hung_up = libc::POLLOUT | libc::POLLHUP;
        if self.is_listening() && !self.is_own() {
            return self.listening_events(0);
        }
        if !self.is_own() {
            return libc::POLLIN | hung_up | libc::POLLERR;
        }
        if self.is_moved() {
            // Another process reads and writes.
            return 0;
        }
        if let Some(datagrams) = self.datagrams() {
            return datagrams.events(self.told.load(Ordering::Relaxed));
        }
        if let Some(listener) = self.listener.get() {
            self.accept_too(listener);
            return self.listening_events(listener.pending());
        }
        let Some(stream) = self.stream.get() else {
            return hung_up;
        };
        let Progress {
            connected,
            finished,
            closed,
            error,
            available,
            room,
        } = stream.link.progress();
        let [received, sent] = stream.link.ended();
        let readable = available > 0 || finished || closed || received;
        let writable = closed || sent || connected && room > 0;
        let bit = |is: bool, bits| if is { bits } else { 0 };
        bit(readable, libc::POLLIN | libc::POLLRDNORM)
            | bit(writable, libc::POLLOUT | libc::POLLWRNORM)
            | bit(finished || closed || received, libc::POLLRDHUP)
            | bit(closed || sent && (finished || received), libc::POLLHUP)
            | bit(
                error != 0 && !self.told.load(Ordering::Relaxed),
                libc::POLLERR,
            )
    }

    fn listening_events(&self, pending: usize) -> c_short {
        let news = self.listens_no_more() && !self.told.load(Ordering::Relaxed);
        match pending > 0 || news {
            true => libc::POLLIN | libc::POLLRDNORM,
            false => 0,
        }
    }

    /// What is different after anything that an edge-triggered epoll tells of.
    pub fn seen(&self, events: c_short) -> Seen {
        let available = self.any_link().map_or(0, |link| link.progress().available);
        Seen {
            received: self.read.load(Ordering::Relaxed) + available as u64,
            blocked: self.blocked.load(Ordering::Relaxed),
            events,
        }
    }
}
