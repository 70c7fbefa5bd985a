//! The next segment.

use std::time::Duration;

use super::open::Origin;
use super::scoreboard::{Fate, Range};
use super::timers::Retransmit;
use super::window::Acknowledge;
use super::{Connection, FIRST, NOWHERE, ORIGIN, State};
use crate::memory::{Corrupt, Shared};
use crate::time::Time;
use crate::wire::tcp::{Header, Options, flags};

/// What goes out at a time when it is spread over time.
const PACE: Duration = Duration::from_millis(1);
/// Blocks of a SACK option: beside timestamps there is room for three.
const BLOCKS: usize = 4;

/// What is remembered of what went out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Payload of the largest segment that the peer is told of; of the path; of peers that say nothing.
    pub own_mss: u16,
    pub path_mss: u16,
    pub default_mss: u16,
    /// The window in the SYN.
    pub syn_window: u16,
    pub peer_scales: bool,
    /// What was free again of the ring when the application was last told of room.
    pub told_freed: u64,
    /// Repeated acknowledgements of a peer without SACK.
    pub duplicates: u32,
    /// Whether the window kept something from going out, and the most bytes that were on their way while it did not, in the
    /// round that ends here.
    pub window_limited: bool,
    pub largest_flight: u32,
    /// The low half of the position where it ends.
    pub window_round_ends: u32,
    /// The FIN went out.
    pub end_sent: bool,
    /// A reset goes out next; a probe of whether the peer is there.
    pub reset: bool,
    pub ask: bool,
    /// The first lost segment goes out whatever the window says.
    pub overdue: bool,
    /// Since when nothing is answered ([`Time::NEVER`] if it is), and how many retransmissions or probes were not.
    pub unanswered: Time,
    pub retries: u8,
    /// A message said that there is no way to the peer.
    pub unreachable: bool,
    /// Less than a segment goes out next: the peer has had no room for more for long.
    pub forced: bool,
    /// Probes of an idle peer without an answer.
    pub unheard: u8,
    /// Position of the first retransmission of a recovery ([`NOWHERE`] before it), its timestamp, and whether what acknowledges
    /// it is still to come.
    pub retransmitted: u64,
    pub retransmitted_at: u32,
    pub doubtful: bool,
    /// What a recovery began at, if it may be undone, or else [`NOWHERE`]; whether something went out again since, and how
    /// much of that the peer has not told to have come twice.
    pub undo_from: u64,
    pub repeated: bool,
    pub untold: u32,
    /// A tail loss probe: the end of what was sent, and whether it was a retransmission.
    pub probe: Option<(u64, bool)>,
    pub probe_due: bool,
    pub probe_duplicated: bool,
    pub probe_repaired: bool,
    pub lost_by_timer: u32,
    /// Congestion is answered once for what was sent before this; the peer is told that it was.
    pub reduced_until: u64,
    pub reduced: bool,
    pub sent_at: Time,
    /// What went out takes until then at the rate that it may go out at.
    pub paced_until: Time,
}

impl Sending {
    pub fn new(origin: &Origin) -> Sending {
        Sending {
            own_mss: origin.mss,
            path_mss: origin.mss,
            default_mss: origin.default_mss,
            syn_window: 0,
            peer_scales: false,
            told_freed: 0,
            duplicates: 0,
            window_limited: false,
            largest_flight: 0,
            window_round_ends: 0,
            end_sent: false,
            reset: false,
            ask: false,
            overdue: false,
            unanswered: Time::NEVER,
            retries: 0,
            unreachable: false,
            forced: false,
            unheard: 0,
            retransmitted: NOWHERE,
            retransmitted_at: 0,
            doubtful: false,
            undo_from: NOWHERE,
            repeated: false,
            untold: 0,
            probe: None,
            probe_due: false,
            probe_duplicated: false,
            probe_repaired: false,
            lost_by_timer: 0,
            reduced_until: 0,
            reduced: false,
            sent_at: Time::ZERO,
            paced_until: Time::ZERO,
        }
    }
}

/// A segment that may go out, or a super-segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// All but the ports.
    pub header: Header,
    start: u64,
    /// Positions: bytes, and one for a SYN or FIN.
    end: u64,
    /// Bytes of payload.
    pub payload: usize,
    /// Bytes of payload in each segment.
    pub size: u16,
    /// Routers may mark it (RFC 3168).
    pub may_be_marked: bool,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    New,
    Again,
    Acknowledgement,
    Question,
    Reset,
}

impl Connection {
    /// The next segment, of at most `limit` bytes of payload. It counts as sent once [`sent`](Connection::sent) is called.
    ///
    /// # Errors
    /// [`Corrupt`] when a ring of the application is.
    pub fn next(&mut self, now: Time, limit: usize) -> Result<Option<Segment>, Corrupt> {
        if self.state == State::Closed {
            return Ok(None);
        }
        if self.sending.reset {
            return Ok(Some(self.reset_segment(now)));
        }
        if self.acknowledge == Acknowledge::Now && self.agreed.sack && self.reassembly.has_news() {
            // Data has no room for blocks.
            return self.acknowledgement(now).map(Some);
        }
        if let Some(segment) = self.next_data(now, limit)? {
            return Ok(Some(segment));
        }
        if self.acknowledge == Acknowledge::Now {
            return self.acknowledgement(now).map(Some);
        }
        if self.sending.ask {
            return self.question(now).map(Some);
        }
        Ok(None)
    }

    fn next_data(&mut self, now: Time, limit: usize) -> Result<Option<Segment>, Corrupt> {
        if self.nxt == ORIGIN {
            return self.segment(now, ORIGIN, FIRST, What::New).map(Some);
        }
        let mss = self.mss();
        let waiting = self.waiting();
        if waiting > 0 && self.scoreboard.is_empty() {
            self.restart_after_idle(now);
        }
        let limit = (limit as u64 / mss * mss).min(self.quantum(mss)).max(mss);
        let room = self.control.window().saturating_sub(self.in_flight());
        if let Some(lost) = self.scoreboard.first_lost().copied() {
            return self.next_lost(now, &lost, room, limit);
        }
        if self.sending.probe_due {
            return self.tail_probe(now, mss);
        }
        if waiting == 0 {
            if room > 0 {
                self.delivery
                    .application_limited(self.scoreboard.in_flight());
            }
            self.note_flight(false);
            return Ok(None);
        }
        if self.is_paced(now) {
            return Ok(None);
        }
        self.next_new(now, room, limit)
    }

    /// Nothing more goes out now; whether that is because of the window. It holds for a round: what is acknowledged later
    /// was sent while the window was used as far as that.
    fn note_flight(&mut self, limited: bool) {
        let flight = self.in_flight();
        let sending = &mut self.sending;
        let is_more = !sending.window_limited && flight > sending.largest_flight.into();
        // A round is a window, which is less than half of 32 bits.
        let is_over = (self.una as u32).wrapping_sub(sending.window_round_ends) < 1 << 31;
        if limited || is_more || is_over {
            sending.window_limited = limited;
            sending.largest_flight = flight.try_into().unwrap_or(u32::MAX);
            sending.window_round_ends = self.nxt as u32;
        }
    }

    /// Positions that have not been sent yet, and may be.
    pub(super) fn waiting(&self) -> u64 {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return 0;
        }
        (self.end + u64::from(self.finished)).saturating_sub(self.nxt)
    }

    /// It is not time for the next segment.
    fn is_paced(&self, now: Time) -> bool {
        self.deadlines.pace != Time::NEVER && now < self.deadlines.pace
    }

    /// What is lost goes out again.
    fn next_lost(
        &mut self,
        now: Time,
        lost: &Range,
        room: u64,
        limit: u64,
    ) -> Result<Option<Segment>, Corrupt> {
        let mss = self.mss();
        if !self.sending.overdue {
            if room < mss.min(lost.len()) {
                self.note_flight(true);
                return Ok(None);
            }
            if self.is_paced(now) {
                return Ok(None);
            }
        }
        let most = limit.min((room / mss * mss).max(mss));
        let end = lost.end.min(lost.start + most);
        self.segment(now, lost.start, end, What::Again).map(Some)
    }

    /// New data, or the FIN.
    fn next_new(&mut self, now: Time, room: u64, limit: u64) -> Result<Option<Segment>, Corrupt> {
        if self.scoreboard.is_full() {
            self.note_flight(false);
            return Ok(None);
        }
        let mss = self.mss();
        let open = self.right.saturating_sub(self.nxt);
        let data = self.end.saturating_sub(self.nxt);
        let mut len = data.min(open).min(room).min(limit);
        if self.sending.reduced {
            // One segment says so.
            len = len.min(mss);
        }
        if len > mss && len / mss * mss < data {
            // Whole segments; what is left over goes out with what follows, or at the end.
            len = len / mss * mss;
        }
        if len < mss && len < data || data == 0 && open == 0 {
            // A window allows for less than a segment.
            let limited = room < mss.min(data.max(1));
            self.note_flight(limited);
            if limited || !self.may_send_less(now, open) {
                return Ok(None);
            }
        }
        let ends = len == data;
        if ends && 0 < len && len < mss && self.holds_back() {
            return Ok(None);
        }
        let fin = u64::from(ends && self.finished && open > len);
        self.segment(now, self.nxt, self.nxt + len + fin, What::New)
            .map(Some)
    }

    /// Whether less than a segment may go out because the peer has no room for more (RFC 9293, 3.8.6.2.1): if it is half of
    /// the largest window that it ever had, or if it has been so for long.
    fn may_send_less(&mut self, now: Time, open: u64) -> bool {
        let alone = self.scoreboard.is_empty();
        if open > 0 && alone && (self.sending.forced || open >= self.largest_window / 2) {
            return true;
        }
        if alone && self.deadlines.retransmit == Time::NEVER {
            self.await_window(now);
        }
        false
    }

    /// Nothing was sent for longer than the timeout: the window may not be what the path bears any more.
    fn restart_after_idle(&mut self, now: Time) {
        let idle = now.since(self.sending.sent_at);
        let timeout = self.rtt.timeout();
        if self.nxt > FIRST && idle > timeout {
            self.control.idle(now, idle, timeout);
            self.sending.sent_at = now;
        }
    }

    /// Nagle's algorithm (RFC 9293, 3.7.4): a small segment waits while another is not acknowledged.
    fn holds_back(&self) -> bool {
        if self.finished || self.sending.forced {
            return false;
        }
        self.settings.cork || !self.settings.no_delay && !self.scoreboard.is_empty()
    }

    /// Bytes that go out at a time.
    fn quantum(&self, mss: u64) -> u64 {
        match self.control.pacing_rate() {
            None => u64::MAX,
            Some(rate) => {
                let bytes = (u128::from(rate) * PACE.as_nanos() / 1_000_000_000) as u64;
                (bytes / mss * mss).max(2 * mss)
            }
        }
    }

    /// RFC 8985, 7.3: something new, or the last segment again.
    fn tail_probe(&mut self, now: Time, mss: u64) -> Result<Option<Segment>, Corrupt> {
        let data = self.end.saturating_sub(self.nxt).min(mss);
        if data > 0 && self.right >= self.nxt + data && !self.scoreboard.is_full() {
            let fin = u64::from(self.nxt + data == self.end && self.finished);
            return self
                .segment(now, self.nxt, self.nxt + data + fin, What::New)
                .map(Some);
        }
        let Some(last) = self.scoreboard.last().copied() else {
            self.sending.probe_due = false;
            return Ok(None);
        };
        if last.fate != Fate::Flying {
            self.sending.probe_due = false;
            return Ok(None);
        }
        // The last byte of data: a FIN goes with its segment.
        let byte = last.end.min(self.end).saturating_sub(1).max(last.start);
        let start = last.border_until(byte).max((byte + 1).saturating_sub(mss));
        self.segment(now, start, last.end, What::Again).map(Some)
    }

    fn segment(&mut self, now: Time, start: u64, end: u64, what: What) -> Result<Segment, Corrupt> {
        let syn = start == ORIGIN;
        let fin = end > self.end && !syn;
        let data_end = end.min(self.end);
        let payload = if syn {
            0
        } else {
            data_end.saturating_sub(start) as usize
        };
        let end = if syn { FIRST } else { end };
        let mut header = self.header(now, syn)?;
        header.sequence = self.sequence(start);
        if syn {
            let answers = self.state != State::SynSent;
            header.flags = flags::SYN | if answers { flags::ACK } else { 0 };
            if !answers {
                header.acknowledgment = 0;
            }
            if self.settings.ecn && !answers && what == What::New {
                header.flags |= flags::ECE | flags::CWR;
            }
            header.options = self.syn_options(now, answers);
        } else {
            if fin {
                header.flags |= flags::FIN;
            }
            if payload > 0 && data_end == self.end {
                header.flags |= flags::PSH;
            }
            if self.sending.reduced && what == What::New && payload > 0 {
                header.flags |= flags::CWR;
            }
        }
        Ok(Segment {
            header,
            start,
            end,
            payload,
            size: if payload > self.agreed.mss as usize {
                self.agreed.mss
            } else {
                0
            },
            may_be_marked: self.agreed.ecn && what == What::New && payload > 0,
            what,
        })
    }

    fn header(&mut self, now: Time, syn: bool) -> Result<Header, Corrupt> {
        let window = self.next_window(syn)?;
        let mut options = Options::default();
        if self.agreed.timestamps {
            options.timestamps = Some((self.timestamp(now), self.recent));
        }
        let marked = if self.receiving.marked { flags::ECE } else { 0 };
        Ok(Header {
            sequence: self.sequence(self.nxt),
            acknowledgment: self.peer_sequence(self.expected),
            flags: flags::ACK | marked,
            window,
            options,
            ..Header::default()
        })
    }

    fn acknowledgement(&mut self, now: Time) -> Result<Segment, Corrupt> {
        let mut header = self.header(now, false)?;
        if self.agreed.sack && self.reassembly.has_news() {
            let max = BLOCKS - usize::from(self.agreed.timestamps);
            header.options.sack = self
                .reassembly
                .blocks(max, |position| self.peer_sequence(position));
        }
        Ok(self.without_data(header, What::Acknowledgement))
    }

    /// Before what is acknowledged, so that the peer has to answer (RFC 1122, 4.2.3.6).
    fn question(&mut self, now: Time) -> Result<Segment, Corrupt> {
        let mut header = self.header(now, false)?;
        header.sequence = self.sequence(self.una).wrapping_sub(1);
        Ok(self.without_data(header, What::Question))
    }

    fn reset_segment(&self, now: Time) -> Segment {
        let mut header = Header {
            sequence: self.sequence(self.nxt),
            acknowledgment: self.peer_sequence(self.expected),
            flags: flags::RST | flags::ACK,
            ..Header::default()
        };
        // RFC 7323, 3.2.
        if self.agreed.timestamps {
            header.options.timestamps = Some((self.timestamp(now), self.recent));
        }
        self.without_data(header, What::Reset)
    }

    fn without_data(&self, header: Header, what: What) -> Segment {
        Segment {
            header,
            start: self.nxt,
            end: self.nxt,
            payload: 0,
            size: 0,
            may_be_marked: false,
            what,
        }
    }

    /// The payload of a segment.
    ///
    /// # Errors
    /// [`Corrupt`] when it is not in the ring.
    pub fn payload(&self, segment: &Segment) -> Result<[Shared<'_>; 2], Corrupt> {
        match &self.rings {
            Some(rings) if segment.payload > 0 => rings
                .send
                .slices(Self::offset(segment.start), segment.payload),
            _ => Ok([Shared::EMPTY; 2]),
        }
    }

    /// A segment that [`next`](Connection::next) returned went out.
    pub fn sent(&mut self, now: Time, segment: &Segment) {
        self.count_as_sent(now, segment);
        self.check();
    }

    fn count_as_sent(&mut self, now: Time, segment: &Segment) {
        let syn = segment.header.flags & flags::SYN != 0;
        self.window_told(segment.header.window, syn);
        if syn {
            self.sending.syn_window = segment.header.window;
        }
        self.counts.sent_segments += match segment.size {
            0 => 1,
            size => segment.payload.div_ceil(usize::from(size)) as u64,
        };
        if segment.what != What::Question {
            self.acknowledged();
        }
        let len = segment.end - segment.start;
        match segment.what {
            What::Reset => {
                self.become_closed();
                return;
            }
            What::Acknowledgement => {
                self.reassembly.told();
                return;
            }
            What::Question => {
                self.sending.ask = false;
                return;
            }
            What::New => self.sent_new(now, segment),
            What::Again => self.sent_again(now, segment),
        }
        self.count_in_recovery(len);
        self.sending.sent_at = now;
        self.pace(now, len);
    }

    /// So many bytes went out: when the next may. What is due later than it should goes out the faster, and little is not
    /// worth a timer.
    fn pace(&mut self, now: Time, bytes: u64) {
        let Some(rate) = self.control.pacing_rate().filter(|&rate| rate > 0) else {
            return;
        };
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let from = self.sending.paced_until.max(now - PACE);
        self.sending.paced_until = from + Duration::from_nanos(nanos as u64);
        if self.sending.paced_until >= now + PACE / 2 {
            self.deadlines.pace = self.sending.paced_until;
        }
    }

    fn sent_new(&mut self, now: Time, segment: &Segment) {
        let stamp = self.delivery.stamp(now, self.scoreboard.in_flight());
        self.scoreboard.push(Range {
            start: segment.start,
            end: segment.end,
            sent_at: now,
            stamp,
            fate: Fate::Flying,
            retransmitted: false,
            size: self.agreed.mss,
            first: self.agreed.mss,
        });
        self.nxt = segment.end;
        self.sending.forced = false;
        if segment.payload > 0 {
            self.answers_data(now);
        }
        if segment.header.flags & flags::CWR != 0 && segment.start != ORIGIN {
            self.sending.reduced = false;
        }
        if segment.header.flags & flags::FIN != 0 {
            self.sending.end_sent = true;
        }
        if std::mem::take(&mut self.sending.probe_due) {
            self.sending.probe = Some((self.nxt, false));
            self.sending.probe_duplicated = false;
            return;
        }
        if self.retransmit != Retransmit::Timeout || self.deadlines.retransmit == Time::NEVER {
            if self.retransmit == Retransmit::Persist {
                self.rtt.reset_backoff();
            }
            self.arm_retransmission(now);
        }
    }

    fn sent_again(&mut self, now: Time, segment: &Segment) {
        let stamp = self.delivery.stamp(now, self.scoreboard.in_flight());
        let size = self.agreed.mss;
        self.scoreboard
            .resent(segment.start, segment.end, size, now, stamp);
        self.sending.overdue = false;
        self.counts.retransmitted += segment.payload as u64;
        if self.sending.retransmitted == NOWHERE && self.phase.has_lost() {
            self.sending.retransmitted = segment.start;
            self.sending.retransmitted_at = self.timestamp(now);
        }
        if self.phase.has_lost() {
            self.sending.repeated = true;
            let len = (segment.end - segment.start) as u32;
            self.sending.untold = self.sending.untold.saturating_add(len);
        }
        if std::mem::take(&mut self.sending.probe_due) {
            self.sending.probe = Some((self.nxt, true));
            self.sending.probe_duplicated = false;
        }
        if self.deadlines.retransmit == Time::NEVER {
            self.arm_retransmission(now);
        }
    }
}
