//! Listeners.

use std::ffi::c_int;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use evener_net_client::Listener;
use evener_net_client::program::errno;

use super::{Kind, Socket};
use crate::process;
use crate::sys::{self, Errno};
use crate::wait;

impl Socket {
    pub fn bind(&self, address: SocketAddr) {
        let _ = self.bound.set(address);
    }

    pub fn listen(&self, backlog: c_int) -> Result<(), Errno> {
        self.check()?;
        if self.is_listening() {
            return Ok(());
        }
        let local = *self.bound.get().ok_or(libc::EDESTADDRREQ)?;
        if let Some(kernel) = self.kernel_listener() {
            let flags = [kernel, libc::F_SETFL, libc::O_NONBLOCK].map(sys::word);
            sys::call(libc::SYS_fcntl, flags)?;
            sys::call(libc::SYS_listen, [kernel, backlog].map(sys::word))?;
        }
        let backlog = u32::try_from(backlog).unwrap_or(0).max(1);
        let stack = &process::attach()?.stack;
        let listener = match self.shares_address()? {
            true => stack.listen_shared(local, backlog),
            false => stack.listen(local, backlog),
        };
        let listener = listener.map_err(|error| errno(&error))?;
        listener.set_nonblocking(true);
        let _ = self.listener.set(listener);
        Ok(())
    }

    /// Whether it listens, in this process or one that forked it, so that its address is known.
    pub fn has_listener(&self) -> bool {
        self.listener.get().is_some()
    }

    pub fn is_listening(&self) -> bool {
        self.kind() == Kind::Listener
    }

    /// Waits until a listener has a connection.
    pub fn wait_to_accept(&self) -> Result<(), Errno> {
        if !self.is_listening() {
            return Err(libc::EINVAL);
        }
        if self.is_own()
            && let Some(listener) = self.listener.get()
        {
            self.accept_too(listener);
            if listener.pending() > 0 {
                return Ok(());
            }
        }
        if self.listens_no_more() && self.tell() {
            return Err(libc::ENETDOWN);
        }
        match self.nonblocking.load(Ordering::Relaxed) {
            true => Err(libc::EAGAIN),
            false => wait::one(self, libc::POLLIN, self.options.receive_timeout.deadline()),
        }
    }

    /// Whether no more connections come to a listener, as the stack is gone. `accept` says so once. Then it is as if the
    /// kernel's interface were down: a program that waits sleeps, as it would otherwise try again and again.
    pub(super) fn listens_no_more(&self) -> bool {
        let own = self.listener.get().filter(|_| self.is_own());
        own.is_none_or(Listener::is_gone)
    }

    pub(super) fn accept_too(&self, listener: &Listener) {
        if !self.accepts.swap(true, Ordering::Relaxed) {
            listener.accept_too();
        }
    }

    /// The next connection of a listener; `EAGAIN` if there is none.
    pub fn accept(&self, nonblocking: bool) -> Result<Socket, Errno> {
        let listener = self.listener.get().ok_or(libc::EINVAL)?;
        let connection = loop {
            let connection = listener
                .accept()
                .map_err(|error| match listener.is_gone() {
                    // The next wait says so.
                    true => libc::EAGAIN,
                    false => errno(&error),
                })?;
            // The engine may have given it to another process at the last moment.
            if !connection.link().is_moved() {
                break connection;
            }
        };
        let socket = Socket::new(self.options.copy(), self.six, nonblocking);
        socket.options.apply(connection.link());
        socket.begin(connection);
        Ok(socket)
    }
}
