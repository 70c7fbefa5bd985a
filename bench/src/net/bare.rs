//! The least that a peer of the kernel can do over a device: what a stack over the same device can reach at most.
//!
//! It takes one connection, looks at no checksum, keeps no timers but one, and has no congestion control.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use evener_net::device::{Capabilities, Device, Medium};
use evener_net::memory::Shared;
use evener_net::packet::{Checksum, Offload, Outgoing};
use evener_net::wire::checksum::Sum;
use evener_net::wire::tcp::{Header, Options, SackBlocks, flags};
use evener_net::wire::{ip, tcp, udp};

/// Bytes of the longest headers of IP and TCP.
const HEADERS: usize = 40 + 60;
/// Packets that are read before there is an answer.
const BATCH: usize = 64;
/// The shift of the window that it offers: 2 MiB, so that all segments of it find room in the queue of a TUN.
const WINDOW_SCALE: u8 = 5;
/// How long nothing is acknowledged before all is sent again.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes that the kernel is sent before it has acknowledged the first.
const IN_FLIGHT: u64 = 4 << 20;

/// One end of a connection whose other end is the kernel's.
pub struct Bare<'a> {
    device: &'a mut dyn Device,
    capabilities: Capabilities,
    own: SocketAddr,
    kernel: SocketAddr,
    /// What is expected next from the kernel.
    next: u32,
    /// What is sent next.
    sequence: u32,
    /// What the kernel has acknowledged up to, and how much more it takes.
    acknowledged: u32,
    window: u32,
    scale: u8,
    mss: u16,
    payload: Vec<u8>,
}

/// What a batch of packets was.
#[derive(Default)]
struct Batch {
    packets: usize,
    /// Bytes in order.
    bytes: u64,
    /// Whether the kernel has closed its side.
    is_finished: bool,
}

impl<'a> Bare<'a> {
    /// Waits until the kernel connects to `own`.
    ///
    /// # Errors
    /// What the device says, or that the kernel does not come.
    pub fn accept(device: &'a mut dyn Device, own: SocketAddr) -> io::Result<Bare<'a>> {
        let capabilities = device.capabilities();
        if capabilities.medium != Medium::Ip {
            let message = "a bare loop is for a device without frames";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let start = Instant::now();
        let mut syn = None;
        while syn.is_none() {
            if start.elapsed() > Duration::from_secs(10) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            device.receive(1, &mut |bytes, _| syn = read_segment(bytes, own).or(syn))?;
        }
        let (kernel, header, _) = syn.ok_or(io::ErrorKind::TimedOut)?;
        let headers = if own.is_ipv4() { 40 } else { 60 };
        let mut bare = Bare {
            device,
            capabilities,
            own,
            kernel,
            next: header.sequence.wrapping_add(1),
            sequence: 1,
            acknowledged: 1,
            window: u32::from(header.window),
            scale: header.options.window_scale.unwrap_or(0),
            mss: header
                .options
                .mss
                .unwrap_or(536)
                .min(capabilities.mtu - headers),
            payload: vec![0x5a; 1 << 16],
        };
        let options = Options {
            mss: Some(capabilities.mtu - headers),
            window_scale: Some(WINDOW_SCALE),
            sack_permitted: false,
            timestamps: None,
            sack: SackBlocks::new(),
        };
        bare.sequence = 0;
        bare.send_segment(flags::SYN | flags::ACK, options, 0)?;
        bare.device.flush()?;
        bare.sequence = 1;
        Ok(bare)
    }

    fn send_segment(&mut self, flags: u8, options: Options, len: usize) -> io::Result<bool> {
        let header = Header {
            source_port: self.own.port(),
            destination_port: self.kernel.port(),
            sequence: self.sequence,
            acknowledgment: self.next,
            flags,
            window: u16::MAX,
            options,
        };
        let mut bytes = [0; HEADERS];
        let (end, at) = packet(
            self.own,
            self.kernel,
            ip::protocol::TCP,
            header.len(),
            len,
            &mut bytes,
        );
        let bytes = &mut bytes[..end];
        tcp::write(&header, &mut bytes[at..]);
        let (sum, checksum) = self.checksum(ip::protocol::TCP, header.len() + len);
        let field = match checksum {
            Checksum::Partial => sum.partial(),
            _ => sum.add(&bytes[at..]).add(&self.payload[..len]).folded(),
        };
        tcp::set_checksum(&mut bytes[at..], field);
        let segment = if len > usize::from(self.mss) {
            self.mss
        } else {
            0
        };
        self.device.send(Outgoing {
            header: bytes,
            payload: [Shared::from(&self.payload[..len]), Shared::EMPTY],
            offload: Offload { segment, checksum },
        })
    }

    fn checksum(&self, protocol: u8, len: usize) -> (Sum, Checksum) {
        let sum = Sum::pseudo(self.own.ip(), self.kernel.ip(), protocol, len as u32);
        match self.capabilities.checksums {
            true => (sum, Checksum::Partial),
            false => (sum, Checksum::Complete),
        }
    }

    fn receive(&mut self) -> io::Result<Batch> {
        let Bare {
            device,
            own,
            next,
            acknowledged,
            window,
            scale,
            ..
        } = self;
        let mut batch = Batch::default();
        batch.packets = device.receive(BATCH, &mut |bytes, _| {
            let Some((_, header, payload)) = read_segment(bytes, *own) else {
                return;
            };
            let ahead = header.acknowledgment.wrapping_sub(*acknowledged);
            if header.flags & flags::ACK != 0 && ahead < 1 << 31 {
                *acknowledged = header.acknowledgment;
                *window = u32::from(header.window) << *scale;
            }
            if header.sequence == *next {
                *next = next.wrapping_add(payload as u32);
                batch.bytes += payload as u64;
                batch.is_finished |= header.flags & flags::FIN != 0;
            }
        })?;
        Ok(batch)
    }

    fn acknowledge_once(&mut self) -> io::Result<()> {
        self.send_segment(flags::ACK, Options::default(), 0)?;
        self.device.flush()
    }

    /// Acknowledges what the kernel sends until it closes its side or `until`, and returns its bytes.
    ///
    /// # Errors
    /// What the device says.
    pub fn acknowledge(&mut self, until: Instant) -> io::Result<u64> {
        let mut total = 0;
        while Instant::now() < until {
            let batch = self.receive()?;
            total += batch.bytes;
            if batch.packets > 0 {
                self.acknowledge_once()?;
            }
            if batch.is_finished {
                break;
            }
        }
        Ok(total)
    }

    /// Sends back every segment while `goes_on`, until the kernel closes its side, and returns how many those were.
    ///
    /// # Errors
    /// What the device says.
    pub fn echo(&mut self, goes_on: impl Fn() -> bool) -> io::Result<u64> {
        let mut count = 0;
        while goes_on() {
            let batch = self.receive()?;
            if batch.bytes > 0 {
                let len = batch.bytes as usize;
                self.send_segment(flags::ACK | flags::PSH, Options::default(), len)?;
                self.sequence = self.sequence.wrapping_add(len as u32);
                self.device.flush()?;
                count += 1;
            }
            if batch.is_finished {
                break;
            }
        }
        Ok(count)
    }

    /// Sends super-segments of `size` bytes, or segments if the device takes no more, as fast as the kernel's window lets
    /// it, while `goes_on`. Returns the bytes that the kernel acknowledged.
    ///
    /// # Errors
    /// What the device says.
    pub fn send(&mut self, size: usize, goes_on: impl Fn() -> bool) -> io::Result<u64> {
        let most = self.capabilities.tcp_segments as usize - 60;
        let mss = usize::from(self.mss);
        let size = size.min(most) / mss * mss;
        let size = size.max(mss);
        let (mut total, mut progress) = (0u64, Instant::now());
        loop {
            let before = self.acknowledged;
            self.receive()?;
            let step = self.acknowledged.wrapping_sub(before);
            total += u64::from(step);
            let now = Instant::now();
            if step > 0 {
                progress = now;
            } else if now - progress > PATIENCE {
                self.sequence = self.acknowledged;
                progress = now;
            }
            if !goes_on() {
                return Ok(total);
            }
            for _ in 0..BATCH {
                let in_flight = self.sequence.wrapping_sub(self.acknowledged);
                // Some of what was taken to be lost was not.
                if in_flight > 1 << 31 {
                    self.sequence = self.acknowledged;
                    break;
                }
                let limit = u64::from(self.window).min(IN_FLIGHT);
                if u64::from(in_flight) + size as u64 > limit
                    || !self.send_segment(flags::ACK, Options::default(), size)?
                {
                    break;
                }
                self.sequence = self.sequence.wrapping_add(size as u32);
            }
            self.device.flush()?;
        }
    }
}

/// Writes the header of IP of a packet whose next header has `header_len` bytes, before `len` bytes that are elsewhere.
/// Returns where the next header ends and begins.
fn packet(
    source: SocketAddr,
    destination: SocketAddr,
    protocol: u8,
    header_len: usize,
    len: usize,
    bytes: &mut [u8],
) -> (usize, usize) {
    let header = ip::Header::new(source.ip(), destination.ip(), protocol);
    let at = ip::write(&header, header_len + len, bytes);
    (at + header_len, at)
}

/// The sender, header and bytes of payload of a segment to `own`.
fn read_segment(bytes: &[u8], own: SocketAddr) -> Option<(SocketAddr, Header, usize)> {
    let (ip, at, end) = ip::parse(bytes).ok()?;
    if ip.protocol != ip::protocol::TCP || ip.destination != own.ip() {
        return None;
    }
    let (header, len) = tcp::parse(&bytes[at..end]).ok()?;
    (header.destination_port == own.port()).then(|| {
        let source = SocketAddr::new(ip.source, header.source_port);
        (source, header, end - at - len)
    })
}

/// Counts datagrams that come to `own` until `until`: those in a super-segment one by one.
///
/// # Errors
/// What the device says.
pub fn count_datagrams(
    device: &mut dyn Device,
    own: SocketAddr,
    until: Instant,
) -> io::Result<u64> {
    let mut count = 0;
    while Instant::now() < until {
        device.receive(BATCH, &mut |bytes, offload| {
            let Ok((ip, at, end)) = ip::parse(bytes) else {
                return;
            };
            if ip.protocol == ip::protocol::UDP && ip.destination == own.ip() {
                let len = (end - at).saturating_sub(udp::LEN);
                let size = usize::from(offload.segment);
                count += if size == 0 {
                    1
                } else {
                    len.div_ceil(size) as u64
                };
            }
        })?;
    }
    Ok(count)
}

/// Sends datagrams of `len` bytes from `own` to the kernel, `together` of them in each packet, until `until`. Returns how
/// many those were, whether or not a socket had room for them.
///
/// # Errors
/// What the device says.
pub fn send_datagrams(
    device: &mut dyn Device,
    own: SocketAddr,
    kernel: SocketAddr,
    len: u16,
    together: usize,
    until: Instant,
) -> io::Result<u64> {
    let payload = vec![0x5a; usize::from(len) * together];
    let rest = udp::LEN + payload.len();
    let mut bytes = [0; HEADERS];
    let (end, at) = packet(
        own,
        kernel,
        ip::protocol::UDP,
        udp::LEN,
        payload.len(),
        &mut bytes,
    );
    let bytes = &mut bytes[..end];
    let mut header = udp::Header {
        source_port: own.port(),
        destination_port: kernel.port(),
        length: rest as u16,
        checksum: 0,
    };
    let sum = Sum::pseudo(own.ip(), kernel.ip(), ip::protocol::UDP, rest as u32);
    let checksum = match device.capabilities().checksums {
        true => Checksum::Partial,
        false => Checksum::Complete,
    };
    udp::write(&header, &mut bytes[at..]);
    header.checksum = match checksum {
        Checksum::Partial => sum.partial(),
        _ => udp::field(sum.add(&bytes[at..]).add(&payload).folded()),
    };
    udp::write(&header, &mut bytes[at..]);
    let packet = Outgoing {
        header: bytes,
        payload: [Shared::from(&payload[..]), Shared::EMPTY],
        offload: Offload {
            segment: if together > 1 { len } else { 0 },
            checksum,
        },
    };
    let mut count = 0;
    while Instant::now() < until {
        for _ in 0..BATCH {
            if device.send(packet)? {
                count += together as u64;
            }
        }
        device.flush()?;
    }
    Ok(count)
}
