//! A connection.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::link::Link;
use super::poller::{Sealed, Source, Target};
use super::progress::Description;
use super::wait::Key;
use super::{Shared, Stack};
use crate::memory::{Mapping, Receiver, Sender};
use crate::slot::{CLOSED, CONNECTED, FINISHED};

/// A connection. Dropping it closes it: what was written is still sent.
///
/// It reads and writes as a stream of the standard library, with copies; [`fill_buf`](BufRead::fill_buf) and
/// [`space`](Connection::space) lend the bytes in place.
#[derive(Debug)]
pub struct Connection {
    receive: ReceiveHalf,
    send: SendHalf,
}

/// The half of a connection that receives.
#[derive(Debug)]
pub struct ReceiveHalf {
    // Dropped before the link: the slot is given back when no end of it is left.
    receiver: Receiver,
    /// Bytes that were consumed since the engine was last told.
    untold: usize,
    link: Arc<Link>,
}

/// The half of a connection that sends.
#[derive(Debug)]
pub struct SendHalf {
    sender: Sender,
    link: Arc<Link>,
}

impl Connection {
    pub(super) fn open(shared: &Arc<Shared>, slot: u32) -> io::Result<Connection> {
        let ends = Link::take(shared, slot, Mapping::take)?;
        let ((sender, receiver), link) = ends;
        Ok(Connection {
            receive: ReceiveHalf {
                receiver,
                untold: 0,
                link: Arc::clone(&link),
            },
            send: SendHalf { sender, link },
        })
    }

    /// What any thread may use while others have the halves.
    pub fn link(&self) -> &Arc<Link> {
        &self.send.link
    }

    pub(super) fn wait_connected(&self) -> io::Result<()> {
        let link = self.link();
        let key = Key::Slot(link.slot);
        link.shared
            .wait(key, None, || link.has(CONNECTED | CLOSED))?;
        match link.has(CONNECTED) {
            true => Ok(()),
            false => Err(link
                .error()
                .unwrap_or_else(|| io::ErrorKind::ConnectionAborted.into())),
        }
    }

    /// The stack that it is of.
    pub fn stack(&self) -> Stack {
        let shared = Arc::clone(&self.link().shared);
        Stack { shared }
    }

    /// The halves, for two threads.
    pub fn into_split(self) -> (ReceiveHalf, SendHalf) {
        (self.receive, self.send)
    }

    /// The halves, borrowed.
    pub fn halves(&mut self) -> (&mut ReceiveHalf, &mut SendHalf) {
        (&mut self.receive, &mut self.send)
    }

    /// The address of this end.
    ///
    /// # Errors
    /// It is not known.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.link().local_addr()
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// It is not known.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.link().peer_addr()
    }

    /// Whether operations wait.
    pub fn set_nonblocking(&self, on: bool) {
        self.link().blocking.store(!on, Ordering::Relaxed);
    }

    /// How long reads wait; for ever if `None`.
    pub fn set_read_timeout(&self, time: Option<Duration>) {
        Link::set_timeout(&self.link().receive_timeout, time);
    }

    /// How long writes wait; for ever if `None`.
    pub fn set_write_timeout(&self, time: Option<Duration>) {
        Link::set_timeout(&self.link().send_timeout, time);
    }

    /// Whether small segments are sent at once, and do not wait for acknowledgments.
    ///
    /// # Errors
    /// The connection is over, or the engine is gone.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.link().set_nodelay(on)
    }

    /// Whether the peer is probed while the connection is idle.
    ///
    /// # Errors
    /// The connection is over, or the engine is gone.
    pub fn set_keepalive(&self, on: bool) -> io::Result<()> {
        self.link().set_keepalive(on)
    }

    /// Measures of the connection.
    ///
    /// # Errors
    /// The connection is over, or the engine is gone.
    pub fn describe(&self) -> io::Result<Description> {
        self.link().describe()
    }

    /// Ends one direction or both. What was written before is sent; what arrives after is not read.
    pub fn shutdown(&self, how: Shutdown) {
        self.link().shutdown(how);
    }

    /// Closes the connection with a reset; what was not sent is lost.
    pub fn abort(self) {
        self.link().aborted.store(true, Ordering::Relaxed);
    }

    /// Room to write into, as [`SendHalf::space`].
    ///
    /// # Errors
    /// As `SendHalf::space`.
    pub fn space(&mut self) -> io::Result<&mut [u8]> {
        self.send.space()
    }

    /// Sends part of the room, as [`SendHalf::commit`].
    pub fn commit(&mut self, len: usize) {
        self.send.commit(len);
    }

    /// What was received and not consumed, without waiting: some of it if there is any, as the memory has an end.
    pub(super) fn data(&self) -> &[u8] {
        self.receive.receiver.data()
    }

    /// Room to write into, without waiting: some of it if there is any, as the memory has an end.
    pub(super) fn free(&mut self) -> &mut [u8] {
        self.send.sender.space()
    }

    /// Bytes that are written and not acknowledged by the peer.
    pub fn unsent(&self) -> usize {
        self.send.sender.unsent()
    }

    /// Bytes that can be read at once.
    pub fn available(&self) -> usize {
        self.receive.receiver.available()
    }

    /// Copies bytes that can be read, which stay; as [`ReceiveHalf::peek`].
    ///
    /// # Errors
    /// As a read.
    pub fn peek(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.receive.peek(to)
    }
}

impl SendHalf {
    /// Waits for room: fails where no more can be sent.
    fn wait_room(&self) -> io::Result<()> {
        let link = &self.link;
        loop {
            link.shared.check_engine()?;
            let state = link.state();
            if link.send_ended.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if state & CLOSED != 0 {
                return Err(link
                    .error()
                    .unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()));
            }
            if state & CONNECTED != 0 && self.sender.room() > 0 {
                return Ok(());
            }
            link.wait(&link.send_timeout, || {
                link.has(CLOSED) || link.has(CONNECTED) && self.sender.room() > 0
            })?;
        }
    }

    /// Room to write into: some of it, as the memory has an end, but at least a byte. Waits if there is none.
    ///
    /// # Errors
    /// No more can be sent, or none without waiting and the connection is non-blocking.
    pub fn space(&mut self) -> io::Result<&mut [u8]> {
        self.wait_room()?;
        Ok(self.sender.space())
    }

    /// Sends the first `len` bytes of the [`space`](SendHalf::space).
    ///
    /// # Panics
    /// If it had fewer.
    pub fn commit(&mut self, len: usize) {
        if len > 0 {
            self.sender.commit(len);
            self.link.shared.notify(self.link.slot);
        }
    }

    /// Sends no more: the peer reads to the end of what was written.
    pub fn end(&self) {
        self.link.shutdown(Shutdown::Write);
    }
}

impl Write for SendHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        self.wait_room()?;
        let n = self.sender.write(bytes);
        self.link.shared.notify(self.link.slot);
        self.link.shared.check_engine()?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReceiveHalf {
    /// Waits for something to read. False at the end.
    fn wait_data(&self) -> io::Result<bool> {
        let link = &self.link;
        loop {
            if link.receive_ended.load(Ordering::Relaxed) {
                return Ok(false);
            }
            // What was received before the end is visible once the end is.
            let state = link.state();
            if self.receiver.available() > 0 {
                return Ok(true);
            }
            if state & FINISHED != 0 {
                return Ok(false);
            }
            if state & CLOSED != 0 {
                return link.error().map_or(Ok(false), Err);
            }
            link.wait(&link.receive_timeout, || {
                self.receiver.available() > 0 || link.has(FINISHED | CLOSED)
            })?;
        }
    }

    /// Tells the engine that there is room, in steps that are worth it: it looks by itself whenever it acknowledges, so
    /// this matters only if the peer waits for room.
    fn consumed(&mut self, len: usize) {
        self.untold += len;
        if self.untold >= self.link.shared.mapping.slots().receive / 4 {
            self.untold = 0;
            self.link.shared.notify(self.link.slot);
        }
    }

    /// Copies bytes that can be read, which stay. Waits if there are none; 0 at the end.
    ///
    /// # Errors
    /// As a read.
    pub fn peek(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.wait_data()? {
            true => Ok(self.receiver.peek(to)),
            false => Ok(0),
        }
    }
}

impl Read for ReceiveHalf {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() || !self.wait_data()? {
            return Ok(0);
        }
        let n = self.receiver.read(to);
        self.consumed(n);
        Ok(n)
    }
}

impl BufRead for ReceiveHalf {
    /// What was received, in place: some of it, as the memory has an end. Empty at the end.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.wait_data()? {
            true => Ok(self.receiver.data()),
            false => Ok(&[]),
        }
    }

    fn consume(&mut self, len: usize) {
        self.receiver.consume(len);
        self.consumed(len);
    }
}

impl Read for Connection {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.receive.read(to)
    }
}

impl BufRead for Connection {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.receive.fill_buf()
    }

    fn consume(&mut self, len: usize) {
        self.receive.consume(len);
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! sources {
    ($($half:ty, $link:expr);+) => {$(
        impl Source for $half {}

        impl Sealed for $half {
            fn target(&self) -> Target<'_> {
                let link: fn(&$half) -> &Arc<Link> = $link;
                Target::Connection(link(self))
            }
        }
    )+};
}

sources!(Connection, |c| c.link(); ReceiveHalf, |c| &c.link; SendHalf, |c| &c.link);
