//! The kernel's socket beside one of the stack.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evener_net_client::Listener;

use super::Socket;
use crate::own;
use crate::sys::{self, Errno};

/// A socket of the kernel's that nothing is sent through.
pub(super) struct Kernel(RawFd);

impl Kernel {
    pub(super) fn new(fd: RawFd) -> Kernel {
        own::add(fd);
        Kernel(fd)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        own::remove(self.0);
        let _ = sys::close(self.0);
    }
}

impl Socket {
    /// The kernel's socket for options.
    pub fn kernel(&self) -> Result<RawFd, Errno> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(kernel.0);
        }
        let family = if self.six {
            libc::AF_INET6
        } else {
            libc::AF_INET
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let made = sys::call(libc::SYS_socket, [sys::word(family), sys::word(kind), 0])?;
        let made = Arc::new(Kernel::new(made as RawFd));
        Ok(self.kernel.get_or_init(|| made).0)
    }

    /// The kernel's socket, if connections come through it too.
    pub fn kernel_listener(&self) -> Option<RawFd> {
        let kernel = self.kernel.get()?;
        (self.both.load(Ordering::Relaxed)).then_some(kernel.0)
    }

    /// The kernel's socket, if it is to be asked for a connection before the stack: both sides take turns, so that neither
    /// keeps the other waiting.
    pub fn kernel_to_accept(&self) -> Option<RawFd> {
        let kernel = self.kernel_listener()?;
        let is_turn = self.kernel_first.fetch_not(Ordering::Relaxed);
        let pending = self.listener.get().map_or(0, Listener::pending);
        (is_turn || pending == 0).then_some(kernel)
    }

    /// Connections are to come through the kernel's socket too, which is bound.
    pub fn accept_from_kernel(&self) {
        self.both.store(true, Ordering::Relaxed);
    }

    /// Whether others may have its address, by the options of the kernel's socket.
    pub fn shares_address(&self) -> Result<bool, Errno> {
        let kernel = self.kernel()?;
        let is_on = |name| sys::option(kernel, libc::SOL_SOCKET, name).unwrap_or(0) != 0;
        let datagram =
            sys::option(kernel, libc::SOL_SOCKET, libc::SO_TYPE) == Some(libc::SOCK_DGRAM);
        Ok(is_on(libc::SO_REUSEPORT) || datagram && is_on(libc::SO_REUSEADDR))
    }
}
