//! A packet came.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::listeners::Listener;
use super::{Engine, Memory};
use crate::device::Medium;
use crate::packet::{Checksum, Offload};
use crate::tcp::{Arrival, COOKIE_LIFE, Connection, Ends, Request, Verdict};
use crate::time::Time;
use crate::wire::checksum::Sum;
use crate::wire::icmp::Unreachable;
use crate::wire::ip::{self, protocol};
use crate::wire::tcp::{self, Header, flags};

impl<M: Memory> Engine<M> {
    pub(super) fn input(&mut self, now: Time, bytes: &[u8], offload: Offload) {
        match self.capabilities.medium {
            Medium::Ip => self.input_ip(now, bytes, offload),
            Medium::Ethernet(_) => self.input_frame(now, bytes, offload),
        }
    }

    pub(super) fn input_ip(&mut self, now: Time, bytes: &[u8], offload: Offload) {
        let Ok((header, header_len, packet_len)) = ip::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        // Nothing is answered to such a source (RFC 1122, 3.2.1.3).
        let source = header.source;
        if source.is_multicast()
            || source.is_unspecified()
            || source == IpAddr::V4(Ipv4Addr::BROADCAST)
        {
            self.counters.not_for_us += 1;
            return;
        }
        if !self.is_local(header.destination) {
            self.counters.not_for_us += 1;
            return;
        }
        let rest = &bytes[header_len..packet_len];
        if header.fragment.is_some() {
            let whole = self.reassembly.insert(now, &header, rest);
            // What was put together is no fragment again, however often a sender says so.
            let is_packet =
                |whole: &Vec<u8>| ip::parse(whole).is_ok_and(|(ip, ..)| ip.fragment.is_none());
            if let Some(whole) = whole.filter(is_packet) {
                self.input_ip(now, &whole, Offload::default());
            }
            return;
        }
        match header.protocol {
            protocol::TCP => self.input_tcp(now, &header, rest, offload),
            protocol::UDP => self.input_udp(now, &bytes[..packet_len], &header, rest, offload),
            protocol::ICMP | protocol::ICMPV6 => self.input_message(&header, rest),
            _ => {
                self.counters.not_for_us += 1;
                self.tell_unreachable(now, &bytes[..packet_len], &header, Unreachable::Protocol);
            }
        }
    }

    fn input_tcp(&mut self, now: Time, ip: &ip::Header, bytes: &[u8], offload: Offload) {
        if offload.checksum == Checksum::Complete {
            let len = bytes.len() as u32;
            let pseudo = Sum::pseudo(ip.source, ip.destination, protocol::TCP, len);
            if pseudo.add(bytes).folded() != 0 {
                self.counters.bad_checksum += 1;
                return;
            }
        }
        let Ok((header, header_len)) = tcp::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let ends = (
            SocketAddr::new(ip.destination, header.destination_port),
            SocketAddr::new(ip.source, header.source_port),
        );
        let arrival = Arrival {
            header: &header,
            payload: &bytes[header_len..],
            segment: offload.segment,
            marked: ip.ecn() == ip::Ecn::Congestion,
        };
        match self.flows.find(&ends) {
            Some(index) => self.input_flow(now, index, &ends, &arrival),
            None => self.input_unknown(now, &ends, &arrival, None),
        }
    }

    fn input_flow(&mut self, now: Time, index: u32, ends: &Ends, arrival: &Arrival<'_>) {
        let flow = self.flows.get_mut(index).expect("it was found");
        match flow.connection.receive(now, arrival) {
            Ok(Verdict::Done) => {}
            Ok(Verdict::Refuse) => self.refuse(ends, arrival),
            // The application has not given up the earlier one yet: the SYN will come again.
            Ok(Verdict::Reopen(_)) if !flow.closed => {}
            Ok(Verdict::Reopen(after)) => {
                if let Some(flow) = self.flows.remove(index)
                    && let Some(slot) = flow.slot.get()
                {
                    self.memory.release(flow.owner, slot);
                }
                self.input_unknown(now, ends, arrival, Some(after));
                return;
            }
            Err(_) => flow.connection.fail_corrupt(),
        }
        self.touched(index);
    }

    /// Of no connection that is known. Sequence numbers of a new one begin `after` those of the one before.
    fn input_unknown(&mut self, now: Time, ends: &Ends, arrival: &Arrival<'_>, after: Option<u32>) {
        let header = arrival.header;
        let has = |flag| header.flags & flag != 0;
        if has(flags::RST) {
            let next = |request: &Request| request.irs.wrapping_add(1);
            if (self.requests.get(ends)).is_some_and(|request| next(request) == header.sequence) {
                self.requests.remove(ends);
            }
            return;
        }
        let hash = self.cookies.flow(ends);
        let Some(listener) = self.listeners.find(&ends.0, hash).copied() else {
            self.refuse(ends, arrival);
            return;
        };
        if !listener.accepts {
            // The peer tries again.
            self.counters.requests_dropped += 1;
            return;
        }
        match (has(flags::SYN), has(flags::ACK)) {
            // No one means both. As Linux, it is not answered.
            (true, false) if has(flags::FIN) => {}
            (true, false) => self.input_syn(now, ends, header, &listener, after),
            (false, true) => self.input_answer(now, ends, arrival, &listener),
            (true, true) => self.refuse(ends, arrival),
            (false, false) => {}
        }
    }

    fn input_syn(
        &mut self,
        now: Time,
        ends: &Ends,
        header: &Header,
        listener: &Listener,
        after: Option<u32>,
    ) {
        if let Some(request) = self.requests.get_mut(ends) {
            if request.irs == header.sequence {
                request.repeated = true;
                let answer = request.answer(now);
                self.replies.push(*ends, answer);
                return;
            }
            self.requests.remove(ends);
        }
        let mut origin = self.origin(now, ends, &listener.options);
        if let Some(after) = after {
            // RFC 1122, 4.2.2.13: beyond what may still be on its way of the old one.
            let ahead = origin.iss.wrapping_sub(after) as i32;
            origin.iss = after.wrapping_add(ahead.max(1 << 16) as u32);
        }
        let ring = self.memory.receive_size(listener.owner);
        let mut request = Request::new(now, header, &listener.options, &origin, ring);
        if !self
            .requests
            .has_room(listener.id, listener.backlog as usize)
        {
            self.cookies.bake(ends, now, &mut request);
            self.counters.cookies_sent += 1;
            self.cookies_until = now + COOKIE_LIFE;
        } else {
            self.requests.insert(*ends, listener.id, request);
        }
        self.replies.push(*ends, request.answer(now));
    }

    /// The last segment of a handshake, perhaps.
    fn input_answer(&mut self, now: Time, ends: &Ends, arrival: &Arrival<'_>, listener: &Listener) {
        let Some(request) = self.request_of(now, ends, arrival.header, listener) else {
            // What follows a lost answer to a cookie brings nothing back. It must not end the connection: the peer will send
            // the first data again, and that does.
            if now >= self.cookies_until || self.requests.get(ends).is_some() {
                self.refuse(ends, arrival);
            }
            return;
        };
        let room = self.flows.len() < self.config.flows;
        let Some(buffers) = room.then(|| self.memory.allocate(listener.owner)).flatten() else {
            // The peer tries again.
            self.counters.requests_dropped += 1;
            return;
        };
        self.requests.remove(ends);
        let mut origin = self.origin(now, ends, &listener.options);
        origin.iss = request.iss;
        origin.timestamp_offset = request.timestamp_offset;
        let index = self.add(listener.owner, *ends, buffers, Some(listener.id), |rings| {
            Connection::accept(now, listener.options, &origin, &request, rings)
        });
        self.counters.accepted += 1;
        self.input_flow(now, index, ends, arrival);
    }

    /// What an acknowledgement answers: a request that was kept, or one that it brings back itself.
    fn request_of(
        &mut self,
        now: Time,
        ends: &Ends,
        header: &Header,
        listener: &Listener,
    ) -> Option<Request> {
        if let Some(request) = self.requests.get(ends) {
            // The last segment of the handshake may be lost, and what follows come first.
            let ahead = header.sequence.wrapping_sub(request.irs.wrapping_add(1));
            let answers = request.iss.wrapping_add(1) == header.acknowledgment
                && ahead <= u32::from(request.window);
            if answers {
                return Some(*request);
            }
            // It may answer a cookie that an earlier SYN got.
        }
        let ring = self.memory.receive_size(listener.owner);
        let origin = self.origin(now, ends, &listener.options);
        let request = (self.cookies).open(ends, now, header, &listener.options, &origin, ring)?;
        self.counters.cookies_taken += 1;
        Some(request)
    }

    /// RFC 9293, 3.10.7.1.
    fn refuse(&mut self, ends: &Ends, arrival: &Arrival<'_>) {
        let header = arrival.header;
        if header.flags & flags::RST != 0 {
            return;
        }
        self.counters.refused += 1;
        let answer = if header.flags & flags::ACK != 0 {
            Header {
                sequence: header.acknowledgment,
                flags: flags::RST,
                ..Header::default()
            }
        } else {
            Header {
                acknowledgment: header.sequence.wrapping_add(arrival.positions() as u32),
                flags: flags::RST | flags::ACK,
                ..Header::default()
            }
        };
        self.replies.push(*ends, answer);
    }
}
