//! Packets that go out.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use super::link::{Headed, Link};
use super::{Engine, Memory};
use crate::device::Device;
use crate::memory::Shared;
use crate::packet::{Checksum, Offload, Outgoing};
use crate::segments;
use crate::tcp::Ends;
use crate::time::Time;
use crate::wire::checksum::Sum;
use crate::wire::ethernet;
use crate::wire::ip::{self, Ecn, protocol};
use crate::wire::tcp::{self, Header};
use crate::wire::udp;

/// Answers that belong to no connection are dropped beyond so many.
const MAX_REPLIES: usize = 1024;
/// Errors that are told in a second.
const MAX_COMPLAINTS: u32 = 1000;
/// Bytes of the largest super-segment that goes out, headers included: larger ones stall a TUN. A socket's turn lasts for
/// as many.
pub(super) const SUPER_SEGMENT: u32 = 32 << 10;

/// What goes out without a socket.
#[derive(Debug, Default)]
pub(super) struct Replies {
    segments: VecDeque<(Ends, Header)>,
    /// Messages of ICMP: from, to, the message.
    messages: VecDeque<(IpAddr, IpAddr, Vec<u8>)>,
    /// Frames of Ethernet that are complete.
    frames: VecDeque<Vec<u8>>,
    /// Errors that were told in the second that began then.
    complaints: (Time, u32),
}

impl Replies {
    /// A segment: it answers a SYN, or what should not have come.
    pub fn push(&mut self, ends: Ends, header: Header) {
        if self.segments.len() < MAX_REPLIES {
            self.segments.push_back((ends, header));
        }
    }

    /// A message of ICMP.
    pub fn push_message(&mut self, from: IpAddr, to: IpAddr, message: Vec<u8>) {
        if self.messages.len() < MAX_REPLIES {
            self.messages.push_back((from, to, message));
        }
    }

    /// Whether another error may be told: so many a second may (RFC 4443, 2.4(f)).
    pub fn may_complain(&mut self, now: Time) -> bool {
        let (begun, count) = &mut self.complaints;
        if now.since(*begun) >= Duration::from_secs(1) {
            (*begun, *count) = (now, 0);
        }
        *count += 1;
        *count <= MAX_COMPLAINTS
    }

    /// A frame of Ethernet.
    pub fn push_frame(&mut self, frame: Vec<u8>) {
        if self.frames.len() < MAX_REPLIES {
            self.frames.push_back(frame);
        }
    }
}

/// A packet without its header of IP.
pub(super) struct Packet<'a> {
    pub ip: ip::Header,
    /// The header of the transport. Its checksum, if it has one, is 0 as yet.
    pub header: &'a mut [u8],
    /// Where that is.
    pub checksum_at: Option<usize>,
    pub payload: [Shared<'a>; 2],
    /// Bytes of payload in each segment; 0 for one.
    pub segment: u16,
}

/// Where packets go.
pub(super) struct Exit<'a> {
    pub device: &'a mut dyn Device,
    /// The device completes checksums.
    pub offloads: bool,
    /// Room for a payload whose checksum is computed here.
    pub scratch: &'a mut [u8],
    pub link: &'a mut Link,
    pub now: Time,
}

impl<M: Memory> Engine<M> {
    /// Sends what there is to send. True if the device was full before all was sent.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn transmit(&mut self, now: Time, device: &mut dyn Device) -> io::Result<bool> {
        // Those that come second find the device full if the first are many.
        self.datagrams_first = !self.datagrams_first;
        let done = self.transmit_replies(now, device)?
            && match self.datagrams_first {
                true => {
                    self.transmit_datagrams(now, device)? && self.transmit_flows(now, device)?
                }
                false => {
                    self.transmit_flows(now, device)? && self.transmit_datagrams(now, device)?
                }
            };
        device.flush()?;
        Ok(!done)
    }

    fn transmit_replies(&mut self, now: Time, device: &mut dyn Device) -> io::Result<bool> {
        while let Some(frame) = self.link.released() {
            self.replies.push_frame(frame);
        }
        while let Some(frame) = self.replies.frames.front() {
            let frame = Outgoing {
                header: frame,
                payload: [Shared::EMPTY; 2],
                offload: Offload::default(),
            };
            if !device.send(frame)? {
                return Ok(false);
            }
            self.counters.packets_out += 1;
            self.replies.frames.pop_front();
        }
        let mut exit = Exit {
            device,
            offloads: self.capabilities.checksums,
            scratch: &mut self.scratch,
            link: &mut self.link,
            now,
        };
        while let Some(&(ends, header)) = self.replies.segments.front() {
            if !exit.send_segment(&ends, header, [Shared::EMPTY; 2], 0, false)? {
                return Ok(false);
            }
            self.counters.packets_out += 1;
            self.replies.segments.pop_front();
        }
        while let Some((from, to, message)) = self.replies.messages.front_mut() {
            let protocol = if from.is_ipv4() {
                protocol::ICMP
            } else {
                protocol::ICMPV6
            };
            let packet = Packet {
                ip: ip::Header::new(*from, *to, protocol),
                header: &mut [],
                checksum_at: None,
                payload: [Shared::from(&message[..]), Shared::EMPTY],
                segment: 0,
            };
            if !exit.send(packet)? {
                return Ok(false);
            }
            self.counters.packets_out += 1;
            self.replies.messages.pop_front();
        }
        Ok(true)
    }

    fn transmit_flows(&mut self, now: Time, device: &mut dyn Device) -> io::Result<bool> {
        while let Some(&index) = self.ready.front() {
            if !self.transmit_flow(now, index, device)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One segment of the first flow in the queue, whose turn lasts for a super-segment's bytes: a flow that goes on is in
    /// the cache, and its peer acknowledges all of a turn at once. False if the device is full.
    fn transmit_flow(
        &mut self,
        now: Time,
        index: u32,
        device: &mut dyn Device,
    ) -> io::Result<bool> {
        let limit = self.payload_limit();
        let Some(flow) = self.flows.get_mut(index) else {
            self.flows.dequeued(index);
            self.ready.pop_front();
            self.turn = 0;
            return Ok(true);
        };
        let segment = match flow.connection.next(now, limit) {
            Ok(Some(segment)) => segment,
            Ok(None) => {
                flow.queued = false;
                self.ready.pop_front();
                self.turn = 0;
                self.settle(index);
                return Ok(true);
            }
            Err(_) => {
                flow.connection.fail_corrupt();
                return Ok(true);
            }
        };
        let Ok(payload) = flow.connection.payload(&segment) else {
            flow.connection.fail_corrupt();
            return Ok(true);
        };
        let marks = segment.may_be_marked;
        let mut exit = Exit {
            device,
            offloads: self.capabilities.checksums,
            scratch: &mut self.scratch,
            link: &mut self.link,
            now,
        };
        if !exit.send_segment(&flow.ends, segment.header, payload, segment.size, marks)? {
            return Ok(false);
        }
        flow.connection.sent(now, &segment);
        self.counters.packets_out += 1;
        self.counters.bytes_out += segment.payload as u64;
        self.turn += segment.payload as u32;
        if self.turn >= SUPER_SEGMENT {
            self.turn = 0;
            self.ready.rotate_left(1);
        }
        Ok(true)
    }

    /// Bytes of payload that go out at a time; 0 for one segment.
    fn payload_limit(&self) -> usize {
        let most = self.capabilities.tcp_segments.min(SUPER_SEGMENT);
        if self.capabilities.checksums && most > u32::from(self.capabilities.mtu) {
            most as usize - ip::V6_LEN - tcp::MAX_LEN
        } else {
            0
        }
    }
}

impl Exit<'_> {
    /// False if the device is full.
    fn send_segment(
        &mut self,
        (local, remote): &Ends,
        mut header: Header,
        payload: [Shared<'_>; 2],
        segment: u16,
        may_be_marked: bool,
    ) -> io::Result<bool> {
        header.source_port = local.port();
        header.destination_port = remote.port();
        let mut bytes = [0; tcp::MAX_LEN];
        let len = tcp::write(&header, &mut bytes);
        let mut ip = ip::Header::new(local.ip(), remote.ip(), protocol::TCP);
        if may_be_marked {
            ip = ip.with_ecn(Ecn::Capable0);
        }
        self.send(Packet {
            ip,
            header: &mut bytes[..len],
            checksum_at: Some(tcp::CHECKSUM_AT),
            payload,
            segment,
        })
    }

    /// False if the device is full.
    pub fn send(&mut self, packet: Packet<'_>) -> io::Result<bool> {
        let Packet { ip, header, .. } = packet;
        let [first, second] = packet.payload;
        let len = header.len() + first.len() + second.len();
        let mut bytes = [0; ethernet::LEN + ip::MAX_LEN + tcp::MAX_LEN];
        let is_own = self.link.is_own(ip.destination);
        let (start, asking) = match is_own {
            true => (0, None),
            false => match self.link.head(self.now, ip.destination, &mut bytes) {
                Headed::Bytes(len) => (len, None),
                Headed::Asking(hop) => (0, Some(hop)),
            },
        };
        let at = start + ip::write(&ip, len, &mut bytes[start..]);
        let all = at + header.len();
        let mut outgoing = Outgoing {
            header: &[],
            payload: packet.payload,
            offload: Offload {
                segment: packet.segment,
                checksum: Checksum::Complete,
            },
        };
        if let Some(field) = packet.checksum_at {
            let pseudo = Sum::pseudo(ip.source, ip.destination, ip.protocol, len as u32);
            // What does not leave the stack needs none.
            let checksum = if self.offloads || is_own {
                outgoing.offload.checksum = Checksum::Partial;
                pseudo.partial()
            } else {
                let (to_first, rest) = self.scratch.split_at_mut(first.len());
                let sum = pseudo
                    .add(header)
                    .add_copied(first, to_first)
                    .add_copied(second, &mut rest[..second.len()]);
                let copied = &self.scratch[..first.len() + second.len()];
                outgoing.payload = [Shared::from(copied), Shared::EMPTY];
                match ip.protocol {
                    protocol::UDP => udp::field(sum.folded()),
                    _ => sum.folded(),
                }
            };
            header[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        bytes[at..all].copy_from_slice(header);
        outgoing.header = &bytes[..all];
        if is_own {
            return Ok(self.link.loop_back(&outgoing));
        }
        let Some(hop) = asking else {
            return self.device.send(outgoing);
        };
        // A super-segment is lost meanwhile; its sender finds out by its timer.
        if packet.segment == 0 {
            let mut whole = vec![0; outgoing.len()];
            outgoing.copy_to(&mut whole);
            if outgoing.offload.checksum == Checksum::Partial {
                segments::complete(&mut whole, 0);
            }
            self.link.hold(hop, whole);
        }
        Ok(true)
    }
}
