//! Connections.

use std::ffi::c_int;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use evener_net_client::Connection;
use evener_net_client::client::{Link, ReceiveHalf, SendHalf, lock};
use evener_net_client::program::errno;

use super::Socket;
use crate::process;
use crate::sys::Errno;
use crate::wait;

/// A connection.
pub(super) struct Stream {
    pub(super) link: Arc<Link>,
    receive: Mutex<ReceiveHalf>,
    send: Mutex<SendHalf>,
}

impl Socket {
    pub fn connect(&self, remote: SocketAddr) -> Result<(), Errno> {
        self.check()?;
        if let Some(stream) = self.stream.get() {
            let progress = stream.link.progress();
            return match (progress.connected, progress.closed) {
                (_, true) => Err(self.take_error().unwrap_or(libc::ECONNABORTED)),
                (true, false) => Err(libc::EISCONN),
                (false, false) => Err(libc::EALREADY),
            };
        }
        let local = self.bound.get().copied();
        let stack = &process::attach()?.stack;
        let connection = stack
            .start_connect(local, remote)
            .map_err(|error| errno(&error))?;
        self.options.apply(connection.link());
        self.begin(connection);
        if self.nonblocking.load(Ordering::Relaxed) {
            return Err(libc::EINPROGRESS);
        }
        let deadline = self.options.send_timeout.deadline();
        match wait::one(self, libc::POLLOUT, deadline) {
            Err(libc::EAGAIN) => return Err(libc::EINPROGRESS),
            waited => waited?,
        }
        self.take_error().map_or(Ok(()), Err)
    }

    pub(super) fn begin(&self, connection: Connection) {
        connection.set_nonblocking(true);
        let link = Arc::clone(connection.link());
        let (receive, send) = connection.into_split();
        let _ = self.stream.set(Stream {
            link,
            receive: Mutex::new(receive),
            send: Mutex::new(send),
        });
    }

    fn stream(&self) -> Result<&Stream, Errno> {
        self.check()?;
        self.stream.get().ok_or(libc::ENOTCONN)
    }

    pub fn link(&self) -> Result<&Link, Errno> {
        self.stream().map(|stream| &*stream.link)
    }

    pub fn waits(&self, flags: c_int) -> bool {
        flags & libc::MSG_DONTWAIT == 0 && !self.nonblocking.load(Ordering::Relaxed)
    }

    /// Receives bytes, some of them unless the flags say that all are wanted.
    pub fn receive(&self, to: &mut [u8], flags: c_int) -> Result<usize, Errno> {
        let stream = self.stream()?;
        let peeks = flags & libc::MSG_PEEK != 0;
        let all = flags & libc::MSG_WAITALL != 0 && !peeks;
        let deadline = self.options.receive_timeout.deadline();
        let mut done = 0;
        loop {
            let mut half = lock(&stream.receive);
            let result = match peeks {
                true => half.peek(&mut to[done..]),
                false => half.read(&mut to[done..]),
            };
            drop(half);
            let result = match result {
                Ok(n) => {
                    if !peeks {
                        self.read.fetch_add(n as u64, Ordering::Relaxed);
                    }
                    done += n;
                    if n == 0 || !all || done == to.len() {
                        return Ok(done);
                    }
                    continue;
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => Err(errno(&error)),
                Err(_) if self.waits(flags) => wait::one(self, libc::POLLIN, deadline),
                Err(_) => Err(libc::EAGAIN),
            };
            match result {
                Err(_) if done > 0 => return Ok(done),
                result => result?,
            }
        }
    }

    /// Sends bytes: all of them if it may wait.
    pub fn send(&self, bytes: &[u8], flags: c_int) -> Result<usize, Errno> {
        let stream = self.stream()?;
        let deadline = self.options.send_timeout.deadline();
        let mut done = 0;
        loop {
            let result = lock(&stream.send).write(&bytes[done..]);
            let result = match result {
                Ok(n) => {
                    done += n;
                    if done == bytes.len() {
                        return Ok(done);
                    }
                    continue;
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => Err(errno(&error)),
                Err(_) if self.waits(flags) => wait::one(self, libc::POLLOUT, deadline),
                Err(_) => {
                    self.blocked.fetch_add(1, Ordering::Relaxed);
                    Err(libc::EAGAIN)
                }
            };
            match result {
                Err(_) if done > 0 => return Ok(done),
                result => result?,
            }
        }
    }

    pub fn shutdown(&self, how: Shutdown) -> Result<(), Errno> {
        if let Some(datagrams) = self.datagrams() {
            return datagrams.remote().map(drop).ok_or(libc::ENOTCONN);
        }
        self.stream()?.link.shutdown(how);
        process::ring_alarms();
        Ok(())
    }

    /// Bytes that can be read.
    pub fn available(&self) -> Result<usize, Errno> {
        if let Some(datagrams) = self.datagrams() {
            return Ok(datagrams.available());
        }
        Ok(self.stream()?.link.progress().available)
    }

    /// The error of the connection, once.
    pub fn take_error(&self) -> Option<Errno> {
        let progress = self.stream.get()?.link.progress();
        let error = Some(progress.error).filter(|&error| error != 0)?;
        self.tell().then_some(error)
    }
}
