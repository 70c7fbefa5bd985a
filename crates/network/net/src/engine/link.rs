//! What lies below IP: headers of Ethernet and who has which address, or nothing. Packets to an address of the stack's own
//! go no further: they come back in.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::{Config, Engine, Memory};
use crate::device::{Medium, Prefix};
use crate::neighbours::{Due, Heard, MAX_FRAME, Neighbours};
use crate::packet::{Offload, Outgoing};
use crate::time::Time;
use crate::wire::ethernet::{self, Address, ethertype};
use crate::wire::icmp;
use crate::wire::ip::{self, protocol};

/// Neighbours that are remembered.
const NEIGHBOURS: usize = 4096;
/// Bytes of packets to the stack's own addresses that wait: more are not taken, as by a device that is full.
const MAX_LOOPED: usize = 1 << 20;
/// Where a header of IPv6 says what follows (RFC 8200). Messages of neighbour discovery follow at once.
const NEXT_HEADER_AT: usize = 6;

/// The way from the device to its neighbours.
#[derive(Debug)]
pub(super) struct Link {
    /// None where packets begin with the header of IP.
    neighbours: Option<(Address, Neighbours)>,
    addresses: Vec<Prefix>,
    gateways: Vec<IpAddr>,
    looped: VecDeque<(Vec<u8>, Offload)>,
    looped_bytes: usize,
}

/// What became of the header of a packet.
pub(super) enum Headed {
    /// The header of Ethernet has so many bytes.
    Bytes(usize),
    /// The neighbour is being asked for its address.
    Asking(IpAddr),
}

impl Link {
    pub fn new(medium: Medium, config: &Config) -> Link {
        let addresses = || config.addresses.iter().map(|own| own.address);
        Link {
            neighbours: match medium {
                Medium::Ip => None,
                Medium::Ethernet(own) => {
                    let gateways = config.gateways.clone();
                    let neighbours =
                        Neighbours::new(own, addresses().collect(), gateways, NEIGHBOURS);
                    Some((own, neighbours))
                }
            },
            addresses: config.addresses.clone(),
            gateways: config.gateways.clone(),
            looped: VecDeque::new(),
            looped_bytes: 0,
        }
    }

    /// Whether an address is the stack's own.
    pub fn is_own(&self, address: IpAddr) -> bool {
        (self.addresses.iter()).any(|own| own.address == address)
    }

    /// A packet of IP to an address of the stack's own is to come back in. False if too many wait already.
    pub fn loop_back(&mut self, packet: &Outgoing<'_>) -> bool {
        if self.looped_bytes >= MAX_LOOPED {
            return false;
        }
        let mut whole = vec![0; packet.len()];
        packet.copy_to(&mut whole);
        self.looped_bytes += whole.len();
        self.looped.push_back((whole, packet.offload));
        true
    }

    /// The neighbour that a packet goes to.
    fn next_hop(&self, destination: IpAddr) -> IpAddr {
        let near = (self.addresses.iter()).any(|own| own.contains(destination));
        if near || destination.is_multicast() {
            return destination;
        }
        let mut gateways = self.gateways.iter();
        let gateway = gateways.find(|gateway| gateway.is_ipv4() == destination.is_ipv4());
        gateway.copied().unwrap_or(destination)
    }

    /// Writes the header for a packet to `destination`.
    pub fn head(&mut self, now: Time, destination: IpAddr, to: &mut [u8]) -> Headed {
        let hop = self.next_hop(destination);
        let Some((own, neighbours)) = &mut self.neighbours else {
            return Headed::Bytes(0);
        };
        let Some(link) = neighbours.resolve(now, hop) else {
            return Headed::Asking(hop);
        };
        let header = ethernet::Header {
            destination: link,
            source: *own,
            ethertype: match destination {
                IpAddr::V4(_) => ethertype::IPV4,
                IpAddr::V6(_) => ethertype::IPV6,
            },
        };
        Headed::Bytes(ethernet::write(&header, to))
    }

    /// Keeps a packet of IP until its neighbour has told its address.
    pub fn hold(&mut self, hop: IpAddr, packet: Vec<u8>) {
        if let Some((_, neighbours)) = &mut self.neighbours {
            neighbours.hold(hop, packet);
        }
    }

    /// The next frame that waited for an address.
    pub fn released(&mut self) -> Option<Vec<u8>> {
        let (own, neighbours) = self.neighbours.as_mut()?;
        let (link, packet) = neighbours.released()?;
        let header = ethernet::Header {
            destination: link,
            source: *own,
            ethertype: match packet.first()? >> 4 {
                4 => ethertype::IPV4,
                _ => ethertype::IPV6,
            },
        };
        let mut frame = vec![0; ethernet::LEN];
        ethernet::write(&header, &mut frame);
        frame.extend_from_slice(&packet);
        Some(frame)
    }

    /// The next question that is due.
    pub fn question(&mut self, now: Time) -> Option<Vec<u8>> {
        let (_, neighbours) = self.neighbours.as_mut()?;
        let mut frame = [0; MAX_FRAME];
        loop {
            match neighbours.due(now, &mut frame)? {
                (_, Due::Question(len)) => {
                    return Some(frame[..len].to_vec());
                }
                // The sender finds out by its timer.
                (_, Due::Unreachable(_)) => {}
            }
        }
    }

    /// When there is something to do: at once if a packet is to come back in.
    pub fn next_deadline(&self) -> Time {
        if !self.looped.is_empty() {
            return Time::ZERO;
        }
        let neighbours = self.neighbours.as_ref();
        neighbours.map_or(Time::NEVER, |(_, neighbours)| neighbours.next_deadline())
    }
}

impl<M: Memory> Engine<M> {
    /// Packets to the stack's own addresses come back in.
    pub(super) fn input_looped(&mut self, now: Time) {
        self.link.looped_bytes = 0;
        for (packet, offload) in std::mem::take(&mut self.link.looped) {
            self.counters.packets_in += 1;
            self.counters.bytes_in += packet.len() as u64;
            self.input_ip(now, &packet, offload);
        }
    }

    pub(super) fn input_frame(&mut self, now: Time, bytes: &[u8], offload: Offload) {
        let Ok(header) = ethernet::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let packet = &bytes[ethernet::LEN..];
        let Some((own, neighbours)) = &mut self.link.neighbours else {
            return;
        };
        if header.destination != *own && header.destination[0] & 1 == 0 {
            self.counters.not_for_us += 1;
            return;
        }
        let mut frame = [0; MAX_FRAME];
        let heard = match header.ethertype {
            ethertype::ARP => neighbours.hear_arp(now, packet, &mut frame),
            ethertype::IPV4 => return self.input_ip(now, packet, offload),
            ethertype::IPV6 => match discovery(packet) {
                Some((ip, message)) => neighbours.hear_message(now, &ip, &message, &mut frame),
                None => return self.input_ip(now, packet, offload),
            },
            _ => {
                self.counters.not_for_us += 1;
                return;
            }
        };
        if let Heard::Answer(len) = heard {
            self.replies.push_frame(frame[..len].to_vec());
        }
    }
}

/// A message that may be one of neighbour discovery.
fn discovery(packet: &[u8]) -> Option<(ip::Header, icmp::Message<'_>)> {
    if packet.get(NEXT_HEADER_AT) != Some(&protocol::ICMPV6) {
        return None;
    }
    let (header, at, end) = ip::parse(packet).ok()?;
    let message = icmp::parse(&packet[at..end], header.source, header.destination).ok()?;
    matches!(message, icmp::Message::Other { .. }).then_some((header, message))
}
