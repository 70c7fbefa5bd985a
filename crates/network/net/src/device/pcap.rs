//! Packets written to a file of pcapng (draft-ietf-opsawg-pcapng), which Wireshark and tcpdump open, and a device that
//! writes all that passes another.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Capabilities, Count, Device, Medium};
use crate::packet::{Offload, Outgoing};

/// A file that packets are written to with their direction and time. Super-segments are written as they are, and checksums
/// that a device completes are not complete there.
///
/// A file that cannot be written ends the recording, and nothing else.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Until it fails.
    file: Option<BufWriter<File>>,
    /// Used again for each block.
    block: Vec<u8>,
}

/// A device, and a file that each of its packets is written to.
pub struct Capture {
    device: Box<dyn Device>,
    recorder: Recorder,
}

/// The values of the flags of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    Inbound = 1,
    Outbound = 2,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const LINK_ETHERNET: u16 = 1;
/// Packets of IPv4 or IPv6.
const LINK_RAW: u16 = 101;

const OPTION_FLAGS: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;

impl Recorder {
    /// Records in a new file.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub(crate) fn new(path: &Path, medium: Medium) -> io::Result<Recorder> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut block = Vec::new();
        start(&mut block, SECTION);
        block.extend(BYTE_ORDER.to_ne_bytes());
        // Version 1.0, of a length that is not known.
        block.extend([1u16, 0].map(u16::to_ne_bytes).concat());
        block.extend((-1i64).to_ne_bytes());
        file.write_all(finish(&mut block))?;

        let link = match medium {
            Medium::Ip => LINK_RAW,
            Medium::Ethernet(_) => LINK_ETHERNET,
        };
        start(&mut block, INTERFACE);
        block.extend([link, 0].map(u16::to_ne_bytes).concat());
        // Packets are not cut.
        block.extend(0u32.to_ne_bytes());
        // Nanoseconds.
        option(&mut block, OPTION_RESOLUTION, &[9]);
        option(&mut block, 0, &[]);
        file.write_all(finish(&mut block))?;
        Ok(Recorder {
            file: Some(file),
            block,
        })
    }

    /// Writes a packet of `len` bytes, which `fill` puts in place.
    pub(crate) fn record(
        &mut self,
        direction: Direction,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let Recorder { file, block } = self;
        let Some(to) = file else {
            return;
        };
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64);
        start(block, PACKET);
        let words = [
            0,
            (nanos >> 32) as u32,
            nanos as u32,
            len as u32,
            len as u32,
        ];
        for word in words {
            block.extend(word.to_ne_bytes());
        }
        let at = block.len();
        block.resize(at + len, 0);
        fill(&mut block[at..]);
        pad(block);
        option(block, OPTION_FLAGS, &(direction as u32).to_ne_bytes());
        option(block, 0, &[]);
        if let Err(error) = to.write_all(finish(block)) {
            self.end(&error);
        }
    }

    /// Writes what was kept.
    pub(crate) fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.flush()
        {
            self.end(&error);
        }
    }

    fn end(&mut self, error: &io::Error) {
        tracing::warn!("the recording of packets ends: {error}");
        self.file = None;
    }
}

impl Capture {
    /// Records what passes `device`, in a new file.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn new(device: Box<dyn Device>, path: &Path) -> io::Result<Capture> {
        let recorder = Recorder::new(path, device.capabilities().medium)?;
        Ok(Capture { device, recorder })
    }
}

/// Begins a block in an empty buffer.
fn start(block: &mut Vec<u8>, kind: u32) {
    block.clear();
    block.extend(kind.to_ne_bytes());
    block.extend([0; 4]);
}

/// Ends a block: its length is at both ends.
fn finish(block: &mut Vec<u8>) -> &[u8] {
    let len = (block.len() as u32 + 4).to_ne_bytes();
    block[4..8].copy_from_slice(&len);
    block.extend(len);
    block
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend([code, value.len() as u16].map(u16::to_ne_bytes).concat());
    block.extend(value);
    pad(block);
}

/// What is in a block is aligned to four bytes.
fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

impl Device for Capture {
    fn capabilities(&self) -> Capabilities {
        self.device.capabilities()
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        let Capture { device, recorder } = self;
        device.receive(limit, &mut |bytes, offload| {
            let fill = |to: &mut [u8]| to.copy_from_slice(bytes);
            recorder.record(Direction::Inbound, bytes.len(), fill);
            each(bytes, offload);
        })
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let sent = self.device.send(packet)?;
        if sent {
            let fill = |to: &mut [u8]| packet.copy_to(to);
            self.recorder
                .record(Direction::Outbound, packet.len(), fill);
        }
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.device.flush()
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.device.readable()
    }

    fn before_wait(&mut self) -> bool {
        self.recorder.flush();
        self.device.before_wait()
    }

    fn counts(&self, to: &mut Vec<Count>) {
        self.device.counts(to);
    }
}
