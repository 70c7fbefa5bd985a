//! Opening a connection, and what both ends agree on.

use super::congestion::Delivery;
use super::rack::Rack;
use super::reassembly::Reassembly;
use super::receive::{Arrival, Verdict};
use super::recovery::Phase;
use super::request::Request;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::settings::Settings;
use super::timers::{Deadlines, Retransmit};
use super::transmit::Sending;
use super::window::{Acknowledge, Receiving};
use super::{Agreed, Connection, FIRST, Happened, NOWHERE, ORIGIN, Options, Reason, Rings, State};
use crate::memory::Corrupt;
use crate::time::Time;
use crate::wire::tcp::{self, Header, flags};

/// Bytes of timestamps in a header, with what aligns them.
const TIMESTAMPS: u16 = 12;
/// The largest exponent of a window (RFC 7323, 2.3).
pub(super) const MAX_SCALE: u8 = 14;
/// A segment has at least so many bytes of payload, whatever the peer says.
const MIN_MSS: u16 = 48;

/// What a connection is made from beside its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub iss: u32,
    pub timestamp_offset: u32,
    /// Payload of the largest segment of the device, without options.
    pub mss: u16,
    /// What a peer takes that names no size (RFC 9293, 3.7.1).
    pub default_mss: u16,
}

/// Bytes of options in each segment that has data.
pub(super) fn options_len(timestamps: bool) -> u16 {
    if timestamps { TIMESTAMPS } else { 0 }
}

/// The exponent for windows of a ring of this size.
pub(super) fn scale_for(size: u64) -> u8 {
    (0..MAX_SCALE)
        .find(|scale| size >> scale <= 0xFFFF)
        .unwrap_or(MAX_SCALE)
}

/// The size of segments that go out.
pub(super) fn agreed_mss(origin: &Origin, peer: Option<u16>, timestamps: bool) -> u16 {
    let peer = peer.unwrap_or(origin.default_mss).max(MIN_MSS);
    peer.min(origin.mss).max(MIN_MSS) - options_len(timestamps)
}

impl Connection {
    fn new(now: Time, options: Options, origin: &Origin, rings: Rings) -> Connection {
        let mss = agreed_mss(origin, None, options.timestamps);
        let agreed = Agreed {
            mss,
            receive_scale: scale_for(rings.receive.size()),
            ..Agreed::default()
        };
        Connection {
            state: State::SynSent,
            phase: Phase::Open,
            agreed,
            happened: Happened::default(),
            acknowledge: Acknowledge::No,
            iss: origin.iss,
            irs: 0,
            una: ORIGIN,
            nxt: ORIGIN,
            end: FIRST,
            right: FIRST,
            expected: ORIGIN,
            told: ORIGIN,
            recent: 0,
            recent_at: now,
            deadlines: Deadlines::default(),
            scoreboard: Scoreboard::default(),
            rings: Some(rings),
            control: options.congestion.control(u64::from(mss)),
            rtt: Rtt::default(),
            rack: Rack::default(),
            delivery: Delivery::default(),
            reassembly: Reassembly::default(),
            retransmit: Retransmit::Timeout,
            settings: Settings::new(&options),
            receiving: Receiving::new(now),
            sending: Sending::new(origin),
            timestamp_offset: origin.timestamp_offset,
            window_from: (0, 0),
            largest_window: 0,
            peer_end: NOWHERE,
            finished: false,
            orphan: false,
            reason: None,
            counts: Default::default(),
        }
    }

    /// Begins to open one: a SYN goes out next.
    pub fn connect(now: Time, options: Options, origin: &Origin, rings: Rings) -> Connection {
        Connection::new(now, options, origin, rings)
    }

    /// One that a listener was asked for, and of which the handshake's last segment has come: that is to be received next.
    pub fn accept(
        now: Time,
        options: Options,
        origin: &Origin,
        request: &Request,
        rings: Rings,
    ) -> Connection {
        let mut connection = Connection::new(now, options, origin, rings);
        connection.state = State::SynReceived;
        connection.irs = request.irs;
        connection.expected = FIRST;
        connection.receiving.acknowledged = FIRST;
        connection.agreed = request.agreed;
        connection.control.set_mss(connection.mss());
        connection.sending.peer_scales = request.scales;
        connection.recent = request.recent;
        connection.nxt = FIRST;
        connection.told = FIRST + u64::from(request.window);
        connection.scoreboard.push(super::scoreboard::Range {
            start: ORIGIN,
            end: FIRST,
            sent_at: request.sent_at,
            stamp: Default::default(),
            fate: super::scoreboard::Fate::Flying,
            retransmitted: request.retries > 0 || request.repeated,
            size: 1,
            first: 1,
        });
        connection.sending.retries = request.retries;
        // What comes next completes the handshake, unless it is not acceptable.
        connection.arm_retransmission(now);
        connection
    }

    /// The options of a SYN, or of one that answers.
    pub(super) fn syn_options(&self, now: Time, answers: bool) -> tcp::Options {
        let offered = |mine: bool, agreed: bool| if answers { agreed } else { mine };
        let timestamps = offered(self.settings.timestamps, self.agreed.timestamps);
        tcp::Options {
            mss: Some(self.sending.own_mss),
            window_scale: offered(true, self.sending.peer_scales).then_some(self.scale_offered()),
            sack_permitted: offered(self.settings.sack, self.agreed.sack),
            timestamps: timestamps.then(|| (self.timestamp(now), self.recent)),
            ..tcp::Options::default()
        }
    }

    fn scale_offered(&self) -> u8 {
        scale_for(self.rings.as_ref().map_or(0, |rings| rings.receive.size()))
    }

    /// RFC 9293, 3.10.7.3.
    pub(super) fn receive_in_syn_sent(
        &mut self,
        now: Time,
        arrival: &Arrival<'_>,
    ) -> Result<Verdict, Corrupt> {
        let header = arrival.header;
        let has = |flag| header.flags & flag != 0;
        let ack = self.position(header.acknowledgment);
        if has(flags::ACK) && (ack <= ORIGIN || ack > self.nxt) {
            return Ok(if has(flags::RST) {
                Verdict::Done
            } else {
                Verdict::Refuse
            });
        }
        if has(flags::RST) {
            if has(flags::ACK) {
                self.fail(Reason::Refused);
            }
            return Ok(Verdict::Done);
        }
        // A SYN with a FIN is nonsense, unless it shows by its acknowledgement that it is the peer's.
        if !has(flags::SYN) || has(flags::FIN) && !has(flags::ACK) {
            return Ok(Verdict::Done);
        }
        self.irs = header.sequence;
        self.receiving.heard_at = now;
        self.expected = FIRST;
        self.told = FIRST + u64::from(self.sending.syn_window);
        self.receiving.acknowledged = ORIGIN;
        self.agree(now, header);
        if has(flags::ACK) {
            // A SYN without the offer went out too if it went out again (RFC 3168, 6.1.1).
            let again = (self.scoreboard.first()).is_some_and(|range| range.retransmitted);
            self.agreed.ecn = self.settings.ecn
                && !again
                && header.flags & (flags::ECE | flags::CWR) == flags::ECE;
            self.complete_handshake(now, ack, header)?;
            return self.take_data(now, FIRST, arrival);
        } else {
            // Both open at the same time (RFC 9293, 3.5, figure 7): the SYN goes out again, with an acknowledgement.
            self.state = State::SynReceived;
            self.right = FIRST + u64::from(header.window);
            self.scoreboard.lose_all();
            self.sending.overdue = true;
        }
        Ok(Verdict::Done)
    }

    /// The SYN of the peer acknowledges ours. Its window is not scaled (RFC 7323, 2.2).
    pub(super) fn complete_handshake(
        &mut self,
        now: Time,
        ack: u64,
        header: &Header,
    ) -> Result<(), Corrupt> {
        self.right = ack + u64::from(header.window);
        self.largest_window = u64::from(header.window);
        self.window_from = (ORIGIN, ack);
        self.become_established(now);
        self.acknowledge = Acknowledge::Now;
        self.take_acknowledgement(now, ack, header, true, true)
    }

    fn agree(&mut self, now: Time, header: &Header) {
        let peer = &header.options;
        self.agreed.timestamps = self.settings.timestamps && peer.timestamps.is_some();
        self.agreed.sack = self.settings.sack && peer.sack_permitted;
        self.sending.peer_scales = peer.window_scale.is_some();
        match peer.window_scale {
            Some(scale) => self.agreed.send_scale = scale.min(MAX_SCALE),
            None => self.agreed.receive_scale = 0,
        }
        if let Some((value, _)) = peer.timestamps {
            self.recent = value;
            self.recent_at = now;
        }
        let origin = Origin {
            iss: self.iss,
            timestamp_offset: self.timestamp_offset,
            mss: self.sending.path_mss,
            default_mss: self.sending.default_mss,
        };
        self.agreed.mss = agreed_mss(&origin, peer.mss, self.agreed.timestamps);
        self.control.set_mss(self.mss());
    }

    pub(super) fn become_established(&mut self, now: Time) {
        self.state = if self.finished {
            State::FinWait1
        } else {
            State::Established
        };
        self.happened.add(Happened::CONNECTED);
        self.happened.add(Happened::WRITABLE);
        if self.sending.retries > 0 {
            self.rtt.syn_was_lost();
        }
        if self.sending.retries > 1 {
            // One may have been delayed; more are loss (RFC 6928, 2).
            self.control.restart();
        }
        self.keep_alive(now);
    }
}
