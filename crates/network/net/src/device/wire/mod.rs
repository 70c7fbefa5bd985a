//! `wire:PATH`: memory shared with one other process, which has a device like this at the other end. Packets go from one
//! engine to another, or to a load generator, without a system call while both are awake.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::specification::{Arguments, Open, SpecificationError};
use super::{Capabilities, Context, Device, Entry, LARGEST, Medium};
use crate::doorbell;
use crate::packet::{Offload, Outgoing};

use connect::End;
use ring::{Consumer, Producer, RING_LEN};

mod connect;
mod ring;

pub(super) const ENTRY: Entry = Entry {
    kind: "wire",
    syntax: "wire:PATH[,mtu=BYTES][,offload=on|off]",
    about: "memory shared with one other process, which it meets at a Unix socket",
    options: &["mtu", "offload"],
    computes: false,
    parse,
};

const MTU: u16 = 1500;

/// A device that never waits finds out that its peer is gone after this many attempts to receive.
const LOOK_AFTER: u32 = 1 << 16;

fn parse(path: &str, arguments: &Arguments<'_>) -> Result<Open, SpecificationError> {
    let path = PathBuf::from(path);
    let mtu = arguments.mtu()?.unwrap_or(MTU);
    let offload = arguments.switch("offload", true)?;
    Ok(Arc::new(move |context| {
        Ok(Box::new(Wire::meet_with(&path, mtu, offload, context)?))
    }))
}

/// One end of a wire.
#[derive(Debug)]
pub struct Wire {
    capabilities: Capabilities,
    consumer: Consumer,
    producer: Producer,
    /// The doorbell, which also tells when the peer is gone.
    peer: UnixStream,
    /// Whether the last packet found no room.
    is_full: bool,
    is_gone: bool,
    idle: u32,
    buffer: Box<[u8]>,
}

impl Wire {
    /// Meets another process at `path`. The first waits until the second is there.
    ///
    /// With `offload` it takes super-segments, and no checksum is computed: the bytes never leave memory.
    ///
    /// # Errors
    /// What the operating system says, or that the other process has no wire of this version.
    pub fn meet(path: &Path, mtu: u16, offload: bool) -> io::Result<Wire> {
        Wire::meet_with(path, mtu, offload, &Context::default())
    }

    fn meet_with(path: &Path, mtu: u16, offload: bool, context: &Context) -> io::Result<Wire> {
        Ok(Wire::new(connect::meet(path, context)?, mtu, offload))
    }

    /// Both ends, in this process.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn pair(mtu: u16, offload: bool) -> io::Result<[Wire; 2]> {
        let [one, other] = connect::pair()?;
        Ok([Wire::new(one, mtu, offload), Wire::new(other, mtu, offload)])
    }

    fn new(end: End, mtu: u16, offload: bool) -> Wire {
        let (reads, writes) = if end.is_first {
            (0, RING_LEN)
        } else {
            (RING_LEN, 0)
        };
        let largest = if offload { 65_535 } else { u32::from(mtu) };
        Wire {
            capabilities: Capabilities {
                medium: Medium::Ip,
                mtu,
                tcp_segments: largest,
                udp_segments: largest,
                checksums: offload,
            },
            consumer: Consumer::new(&end.memory, reads),
            producer: Producer::new(&end.memory, writes),
            peer: end.peer,
            is_full: false,
            is_gone: false,
            idle: 0,
            buffer: vec![0; LARGEST].into(),
        }
    }

    fn may_wait(&mut self) -> io::Result<bool> {
        self.is_gone = !doorbell::answer(&self.peer);
        Ok(!self.is_gone && self.consumer.wait()? && (!self.is_full || self.producer.wait()?))
    }
}

impl Device for Wire {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        let mut count = 0;
        while count < limit
            && let Some((len, offload)) = self.consumer.pop(&mut self.buffer)?
        {
            each(&self.buffer[..len], offload);
            count += 1;
        }
        if count > 0 {
            self.idle = 0;
            if self.consumer.release() {
                doorbell::ring(&self.peer);
            }
            return Ok(count);
        }
        if limit > 0 {
            self.idle += 1;
            if self.idle >= LOOK_AFTER {
                self.idle = 0;
                self.is_gone = !doorbell::answer(&self.peer);
            }
            if self.is_gone {
                let message = "the other end of the wire is gone";
                return Err(io::Error::new(io::ErrorKind::ConnectionReset, message));
            }
        }
        Ok(0)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let sent = self.producer.push(&packet)?;
        if !sent {
            // What there is must be seen, or there is never room.
            self.flush()?;
        }
        self.is_full = !sent;
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.producer.publish() {
            doorbell::ring(&self.peer);
        }
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.peer.as_fd())
    }

    fn before_wait(&mut self) -> bool {
        // What the peer did wrong is told by the next call that receives.
        self.may_wait().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests;
