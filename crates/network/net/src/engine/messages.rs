//! Messages of ICMP.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Engine, Memory};
use crate::tcp::{Connection, Ends};
use crate::time::Time;
use crate::wire::icmp::{self, Message, Unreachable};
use crate::wire::ip::{self, protocol};
use crate::wire::tcp;

impl<M: Memory> Engine<M> {
    pub(super) fn input_message(&mut self, ip: &ip::Header, bytes: &[u8]) {
        let Ok(message) = icmp::parse(bytes, ip.source, ip.destination) else {
            self.counters.malformed += 1;
            return;
        };
        match message {
            Message::EchoRequest {
                identifier,
                sequence,
                data,
            } => {
                let answer = Message::EchoReply {
                    identifier,
                    sequence,
                    data,
                };
                let mut bytes = vec![0; icmp::LEN + data.len()];
                icmp::write(&answer, ip.destination, ip.source, &mut bytes);
                self.replies.push_message(ip.destination, ip.source, bytes);
            }
            Message::TooBig { mtu, quoted } => {
                // Without a number, as of old: the smallest that is believed.
                let mtu = mtu.min(u32::from(u16::MAX)) as u16;
                self.told_of_segment(quoted, |connection, sequence, headers| {
                    connection.path_mtu_changed(sequence, mtu.saturating_sub(headers));
                });
            }
            Message::Unreachable { why, quoted } => {
                let hard = matches!(why, Unreachable::Port | Unreachable::Protocol);
                self.told_of_segment(quoted, |connection, sequence, _| {
                    connection.unreachable(sequence, hard);
                });
            }
            _ => {}
        }
    }

    /// A message is about a segment: calls `tell` on its connection, with its sequence number and the bytes of headers.
    fn told_of_segment(&mut self, quoted: &[u8], tell: impl FnOnce(&mut Connection, u32, u16)) {
        let Some((ends, sequence, headers)) = quoted_segment(quoted) else {
            return;
        };
        let Some(index) = self.flows.find(&ends) else {
            return;
        };
        if let Some(flow) = self.flows.get_mut(index) {
            tell(&mut flow.connection, sequence, headers);
        }
        self.touched(index);
    }

    /// Tells the sender of a packet that it has not arrived (RFC 1122, 3.2.2).
    pub(super) fn tell_unreachable(
        &mut self,
        now: Time,
        packet: &[u8],
        ip: &ip::Header,
        why: Unreachable,
    ) {
        if !self.replies.may_complain(now) {
            return;
        }
        let mut message = vec![0; 1280];
        let about = Message::Unreachable {
            why,
            quoted: packet,
        };
        let len = icmp::write(&about, ip.destination, ip.source, &mut message);
        message.truncate(len);
        self.replies
            .push_message(ip.destination, ip.source, message);
    }
}

/// The ends of a segment of ours that came back, its sequence number, and the bytes of its headers without options. Eight
/// bytes of the segment are there, perhaps no more (RFC 792).
fn quoted_segment(quoted: &[u8]) -> Option<(Ends, u32, u16)> {
    let version = quoted.first()? >> 4;
    let (header_len, kind, source, destination) = match version {
        4 => {
            let source: [u8; 4] = *quoted.get(12..)?.first_chunk()?;
            let destination: [u8; 4] = *quoted.get(16..)?.first_chunk()?;
            let header_len = usize::from(quoted[0] & 15) * 4;
            let (source, destination) = (Ipv4Addr::from(source), Ipv4Addr::from(destination));
            (header_len, quoted[9], source.into(), destination.into())
        }
        6 => {
            let source: [u8; 16] = *quoted.get(8..)?.first_chunk()?;
            let destination: [u8; 16] = *quoted.get(24..)?.first_chunk()?;
            let (source, destination) = (Ipv6Addr::from(source), Ipv6Addr::from(destination));
            (ip::V6_LEN, quoted[6], source.into(), destination.into())
        }
        _ => return None,
    };
    if kind != protocol::TCP {
        return None;
    }
    let segment: [u8; 8] = *quoted.get(header_len..)?.first_chunk()?;
    let [a, b, c, d, sequence @ ..] = segment;
    let local = SocketAddr::new(source, u16::from_be_bytes([a, b]));
    let remote = SocketAddr::new(destination, u16::from_be_bytes([c, d]));
    let headers = (header_len + tcp::MIN_LEN) as u16;
    Some(((local, remote), u32::from_be_bytes(sequence), headers))
}
