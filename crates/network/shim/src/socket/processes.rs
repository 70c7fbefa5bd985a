//! Sockets that several file descriptors, processes or programs have.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use evener_net_client::SocketId;
use evener_net_client::program::errno;

use super::{Kind, Socket};
use crate::datagrams::Datagrams;
use crate::options::Options;
use crate::process;
use crate::sys::Errno;

/// A socket that the program had which this process ran before.
pub(super) struct Elsewhere {
    pub(super) kind: Kind,
    pub(super) id: SocketId,
    pub(super) ended: [bool; 2],
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_own() {
            if let Some(stream) = self.stream.get()
                && self.options.resets()
            {
                stream.link.abort_at_end();
            }
        } else {
            self.leave();
            // The attachment that these use is the parent's.
            let inherited = (self.stream.take(), self.listener.take());
            std::mem::forget((inherited, self.datagrams.take()));
        }
    }
}

impl Socket {
    /// One that the program had which this process ran before.
    pub fn elsewhere(
        kind: Kind,
        id: SocketId,
        ended: [bool; 2],
        six: bool,
        nonblocking: bool,
    ) -> Socket {
        let mut socket = Socket::new(Options::default(), six, nonblocking);
        socket.elsewhere = Some(Elsewhere { kind, id, ended });
        socket
    }

    /// Whether it is of this process and program, and not of those before.
    pub(super) fn is_own(&self) -> bool {
        self.forks == process::forks() && self.elsewhere.is_none()
    }

    /// Whether this process has its memory.
    pub fn is_here(&self) -> bool {
        self.is_own() && !self.is_moved()
    }

    /// Whether another process adopted it.
    pub fn is_moved(&self) -> bool {
        self.any_link().is_some_and(|link| link.is_moved())
    }

    pub fn check(&self) -> Result<(), Errno> {
        self.is_own().then_some(()).ok_or(libc::ECONNRESET)
    }

    /// Another file descriptor has it.
    pub fn add_fd(&self) {
        self.fds.fetch_add(1, Ordering::Relaxed);
    }

    /// A file descriptor no longer has it. What a thread of the parent did with it at the fork is never over here, so its
    /// file descriptors say when an inherited one ends.
    pub fn remove_fd(&self) {
        if self.fds.fetch_sub(1, Ordering::Relaxed) == 1 && !self.is_own() {
            self.leave();
        }
    }

    /// Whether a file descriptor has it.
    pub fn is_open(&self) -> bool {
        self.fds.load(Ordering::Relaxed) > 0
    }

    /// This process no longer has what it inherited.
    fn leave(&self) {
        if let Some(id) = self.id()
            && !self.over.swap(true, Ordering::Relaxed)
        {
            process::release(id);
        }
    }

    /// The same socket in the memory of this process.
    pub fn adopt(&self) -> Result<Socket, Errno> {
        let new = Socket::new(
            self.options.copy(),
            self.six,
            self.nonblocking.load(Ordering::Relaxed),
        );
        if let Some(kernel) = self.kernel.get() {
            let _ = new.kernel.set(Arc::clone(kernel));
        }
        let both = self.both.load(Ordering::Relaxed);
        new.both.store(both, Ordering::Relaxed);
        if let Some(&bound) = self.bound.get() {
            let _ = new.bound.set(bound);
        }
        let stack = &process::attach()?.stack;
        let Some(id) = self.id() else {
            return Ok(new);
        };
        let told = self.told.load(Ordering::Relaxed);
        new.told.store(told, Ordering::Relaxed);
        match self.kind() {
            Kind::Listener => {
                let joined = stack.join(id).map_err(|error| errno(&error))?;
                joined.set_nonblocking(true);
                let _ = new.listener.set(joined);
                new.accepts.store(true, Ordering::Relaxed);
            }
            Kind::Stream => {
                let adopted = stack.adopt(id, self.ended());
                new.begin(adopted.map_err(|error| errno(&error))?);
            }
            Kind::Datagrams => {
                let adopted = stack.adopt_udp(id).map_err(|error| errno(&error))?;
                new.set_datagrams(Datagrams::new(adopted));
            }
        }
        self.over.store(true, Ordering::Relaxed);
        Ok(new)
    }
}
