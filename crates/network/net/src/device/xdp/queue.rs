//! A socket with one queue of an interface, and the frames that it shares with the system.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::calls;
use super::ring::{COUNT, Descriptor, Ring};
use crate::memory::{Region, Span};
use crate::packet::Outgoing;
use crate::wire::ethernet;

/// Bytes of the smallest and of the largest frame there can be. The system takes some at the front for itself.
const SMALL: usize = 2048;
const LARGE: usize = 4096;
const TAKEN: usize = 256;
/// The first half of all frames is for receiving.
const FRAMES: usize = 2 * COUNT as usize;
/// The largest packet of IP for which a frame has room.
pub(super) const LARGEST_MTU: u16 = (LARGE - TAKEN - ethernet::LEN) as u16;

/// Frames are handed to the system at the latest when there are so many.
const KICK: u32 = 32;

/// How long a queue may be in use by a socket before, and how often that is looked at.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Yes,
    /// There is no room now.
    Full,
    /// The interface is down, or the packet too large.
    Lost,
}

#[derive(Debug)]
pub(super) struct Queue {
    socket: OwnedFd,
    /// Bytes of a frame.
    frame: usize,
    frames: Span,
    fill: Ring,
    received: Ring,
    transmit: Ring,
    transmitted: Ring,
    /// Frames to send with.
    free: Vec<u64>,
    /// Frames that the system was not asked to transmit yet.
    unsent: u32,
    /// The interface was down when last asked.
    is_down: bool,
    buffer: Box<[u8]>,
}

impl Queue {
    /// Binds a socket to a queue of an interface. None if it has no queue of the number.
    pub(super) fn bind(interface: u32, number: u32, mtu: u16) -> io::Result<Option<Queue>> {
        let family = AddressFamily::from_raw(libc::AF_XDP as u16);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::RAW, flags, None)?;
        let fd = socket.as_fd();
        let frame = match usize::from(mtu) + ethernet::LEN + TAKEN {
            ..=SMALL => SMALL,
            _ => LARGE,
        };
        let len = FRAMES * frame;
        let frames = Span::new(&Region::private(len)?, 0, len);
        calls::set_frames(fd, frames.shared(0, len).as_ptr(), len, frame as u32)?;
        for option in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            calls::set_ring(fd, option, COUNT)?;
        }
        let offsets = calls::offsets(fd)?;
        let map = |page: u64, offsets, size| Ring::map(fd, page, offsets, size);
        let mut fill = map(libc::XDP_UMEM_PGOFF_FILL_RING, offsets.fill, 8)?;
        let transmitted = map(libc::XDP_UMEM_PGOFF_COMPLETION_RING, offsets.completion, 8)?;
        let received = map(libc::XDP_PGOFF_RX_RING as u64, offsets.receive, 16)?;
        let transmit = map(libc::XDP_PGOFF_TX_RING as u64, offsets.transmit, 16)?;
        let places = |from: usize, to: usize| (from..to).map(move |number| (number * frame) as u64);
        for at in places(0, COUNT as usize) {
            fill.push(Descriptor { at, len: 0 });
        }
        fill.publish();
        let began = Instant::now();
        loop {
            match calls::bind(fd, interface, number) {
                Err(error) if number > 0 && error.raw_os_error() == Some(libc::EINVAL) => {
                    return Ok(None);
                }
                // The system takes a moment to give up what a socket had that was closed.
                Err(error)
                    if error.raw_os_error() == Some(libc::EBUSY) && began.elapsed() < PATIENCE =>
                {
                    thread::sleep(PAUSE);
                }
                bound => break bound?,
            }
        }
        Ok(Some(Queue {
            frame,
            frames,
            fill,
            received,
            transmit,
            transmitted,
            free: places(COUNT as usize, FRAMES).collect(),
            unsent: 0,
            is_down: false,
            buffer: vec![0; frame].into(),
            socket,
        }))
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What is wrong with the socket: the interface may have been removed.
    pub(super) fn failure(&self) -> Option<io::Error> {
        let error = match socket_error(&self.socket) {
            Ok(Ok(())) => return None,
            Ok(Err(error)) | Err(error) => io::Error::from(error),
        };
        let message = format!("the interface is gone: {error}");
        Some(io::Error::new(error.kind(), message))
    }

    /// Hands up to `limit` frames to `each`, and returns how many there were.
    pub(super) fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < limit
            && let Some(Descriptor { at, len }) = self.received.pop()
        {
            let packet = &mut self.buffer[..len as usize];
            self.frames.read(at as usize, packet);
            each(packet);
            let at = at - at % self.frame as u64;
            self.fill.push(Descriptor { at, len: 0 });
            count += 1;
        }
        if count > 0 {
            self.received.release();
            self.fill.publish();
        }
        count
    }

    pub(super) fn send(&mut self, packet: &Outgoing<'_>) -> io::Result<Sent> {
        let len = packet.len();
        if self.is_down {
            self.kick()?;
        }
        if self.is_down || len > self.frame {
            return Ok(Sent::Lost);
        }
        if self.free.is_empty() {
            self.reclaim();
        }
        let Some(at) = self.free.pop() else {
            self.flush()?;
            return Ok(Sent::Full);
        };
        let mut to = at as usize;
        for part in [packet.header.into(), packet.payload[0], packet.payload[1]] {
            self.frames.write_shared(to, part);
            to += part.len();
        }
        let len = len as u32;
        self.transmit.push(Descriptor { at, len });
        self.unsent += 1;
        if self.unsent >= KICK {
            self.flush()?;
        }
        Ok(Sent::Yes)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.unsent == 0 {
            return Ok(());
        }
        self.unsent = 0;
        self.transmit.publish();
        self.kick()?;
        self.reclaim();
        Ok(())
    }

    /// Asks the system to transmit. It does so for some frames at a time.
    fn kick(&mut self) -> io::Result<()> {
        let mut waiting = self.transmit.waiting();
        while waiting > 0 || self.is_down {
            let result = calls::kick(self.socket.as_fd());
            let code = result.as_ref().err().and_then(io::Error::raw_os_error);
            self.is_down = code == Some(libc::ENETDOWN);
            match code {
                // The others are transmitted by the next call, if this one got anywhere.
                None | Some(libc::EAGAIN) => {}
                // Its queue is full, or it is down: later.
                Some(libc::EBUSY | libc::ENOBUFS | libc::ENETDOWN | libc::EINTR) => {
                    self.unsent = 1;
                    return Ok(());
                }
                Some(_) => return result,
            }
            let now = self.transmit.waiting();
            if now == waiting {
                self.unsent = 1;
                return Ok(());
            }
            waiting = now;
        }
        Ok(())
    }

    fn reclaim(&mut self) {
        let before = self.free.len();
        while let Some(frame) = self.transmitted.pop() {
            self.free.push(frame.at);
        }
        if self.free.len() > before {
            self.transmitted.release();
        }
    }
}
