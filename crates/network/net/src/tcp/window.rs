//! What the peer may send, and when it is told.

use std::time::Duration;

use super::{Connection, FIRST, State};
use crate::memory::Corrupt;
use crate::time::Time;

/// Segments at the beginning, and after something was out of order, that are acknowledged at once.
const QUICK: u8 = 16;
/// How long an acknowledgement waits for another segment.
const DELAY: Duration = Duration::from_millis(40);

/// Whether an acknowledgement is to go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Acknowledge {
    #[default]
    No,
    /// With the next segment, or when its deadline comes.
    Later,
    Now,
}

/// What is known of the peer's segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Receiving {
    /// The largest payload of a segment.
    pub mss: u16,
    /// Segments that are yet to be acknowledged at once.
    pub quick: u8,
    /// The position that was acknowledged last.
    pub acknowledged: u64,
    /// A mark of congestion came, and the peer has not said that it knows (RFC 3168).
    pub marked: bool,
    /// When something was last answered that should not have come; [`Time::NEVER`] if nothing was.
    pub challenged_at: Time,
    /// When something last came.
    pub heard_at: Time,
}

impl Receiving {
    pub fn new(now: Time) -> Receiving {
        Receiving {
            mss: 536,
            quick: QUICK,
            challenged_at: Time::NEVER,
            heard_at: now,
            ..Receiving::default()
        }
    }
}

impl Connection {
    /// The end of what there is room for.
    fn room_ends(&mut self) -> Result<u64, Corrupt> {
        match &mut self.rings {
            None => Ok(self.told),
            Some(rings) => Ok(FIRST + rings.receive.consumed()? + rings.receive.size()),
        }
    }

    /// The window for the next header. The end of it never moves back by more than its scale cannot express. That of a SYN
    /// is not scaled.
    pub(super) fn next_window(&mut self, syn: bool) -> Result<u16, Corrupt> {
        let ends = self.room_ends()?;
        let room = ends.saturating_sub(self.expected.max(FIRST));
        let scale = if syn { 0 } else { self.agreed.receive_scale };
        let most = room >> scale;
        // The end stays where it is until it can move by a segment (RFC 9293, 3.8.6.2.2).
        let step = u64::from(self.receiving.mss).min(self.receive_size() / 2);
        let promised = self.told.saturating_sub(self.expected).div_ceil(1 << scale);
        let window = if ends < self.told + step {
            promised.min(most)
        } else {
            most
        };
        Ok(window.min(0xFFFF) as u16)
    }

    fn receive_size(&self) -> u64 {
        self.rings.as_ref().map_or(0, |rings| rings.receive.size())
    }

    /// A header with this window goes out. What was promised is kept (RFC 7323, 2.4).
    pub(super) fn window_told(&mut self, window: u16, syn: bool) {
        let scale = if syn { 0 } else { self.agreed.receive_scale };
        let end = self.expected + (u64::from(window) << scale);
        self.told = self.told.max(end);
    }

    /// The application has read: the peer is told if it could send much more than it knows.
    pub(super) fn update_window(&mut self) -> Result<(), Corrupt> {
        if !matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        ) {
            return Ok(());
        }
        // A header can say no more than that.
        let largest = 0xFFFF << self.agreed.receive_scale;
        let ends = self.room_ends()?.min(self.expected + largest);
        let known = self.told.saturating_sub(self.expected);
        let more = ends.saturating_sub(self.told);
        let size = self.receive_size();
        let segment = u64::from(self.receiving.mss);
        let enough = if known < segment {
            // It waits for this.
            (size / 16).max(segment)
        } else {
            (size / 4).max(2 * segment).max(known)
        };
        if more >= enough.min(size / 2) {
            self.acknowledge = Acknowledge::Now;
        }
        Ok(())
    }

    /// Data has come in order, and how much in segments of which size.
    pub(super) fn schedule_acknowledgement(&mut self, now: Time) {
        if self.acknowledge == Acknowledge::Now {
            return;
        }
        let waiting = self.expected - self.receiving.acknowledged;
        if self.receiving.quick > 0 || waiting >= 2 * u64::from(self.receiving.mss) {
            self.acknowledge = Acknowledge::Now;
        } else if self.acknowledge == Acknowledge::No {
            self.acknowledge = Acknowledge::Later;
            self.deadlines.acknowledge = now + DELAY;
        }
    }

    /// Something was out of order: the peer should know of each segment.
    pub(super) fn acknowledge_quickly(&mut self) {
        self.receiving.quick = QUICK;
        self.acknowledge = Acknowledge::Now;
    }

    /// An acknowledgement has gone out.
    pub(super) fn acknowledged(&mut self) {
        self.acknowledge = Acknowledge::No;
        self.deadlines.acknowledge = Time::NEVER;
        if self.expected > self.receiving.acknowledged.max(FIRST) {
            self.receiving.quick = self.receiving.quick.saturating_sub(1);
        }
        self.receiving.acknowledged = self.expected;
    }

    /// Data goes out. If it answers what came, acknowledgements can go with such.
    pub(super) fn answers_data(&mut self, now: Time) {
        if self.expected > FIRST && now.since(self.receiving.heard_at) < DELAY {
            self.receiving.quick = 0;
        }
    }
}
