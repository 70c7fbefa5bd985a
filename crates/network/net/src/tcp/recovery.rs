//! Recovery from loss, and how much goes out meanwhile: proportional rate reduction (RFC 9937).

use super::congestion::Ack;
use super::timers::Retransmit;
use super::{Connection, NOWHERE};
use crate::time::Time;

/// Where a connection stands between losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Open,
    /// Something is lost. It ends when what had been sent when that was found is acknowledged.
    Recovery { ends: u64, reduction: Reduction },
    /// The peer told of congestion (ECN); nothing is lost.
    Reduced { ends: u64, reduction: Reduction },
    /// The timeout ran out, and all is taken to be lost.
    Loss { ends: u64 },
}

/// Proportional rate reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reduction {
    /// Bytes on their way when it began.
    flight: u64,
    /// The window that it ends with.
    target: u64,
    /// Bytes delivered and sent since.
    delivered: u64,
    sent: u64,
}

impl Reduction {
    fn new(flight: u64, target: u64) -> Reduction {
        Reduction {
            flight: flight.max(1),
            target,
            delivered: 0,
            sent: 0,
        }
    }

    /// The window after an acknowledgement.
    fn acknowledged(&mut self, delivered: u64, in_flight: u64, mss: u64, safe: bool) -> u64 {
        self.delivered += delivered;
        // As much as is delivered goes out, whatever went out before it: a flight below its target does not dwindle.
        let mut room = if in_flight > self.target {
            let share = u128::from(self.delivered) * u128::from(self.target);
            (share.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.sent)
        } else {
            let held = self.delivered.saturating_sub(self.sent);
            let more = if safe { mss } else { 0 };
            (held.max(delivered) + more).min(self.target - in_flight)
        };
        if self.sent == 0 {
            room = room.max(mss);
        }
        in_flight + room
    }
}

impl Phase {
    /// The window follows a [`Reduction`].
    pub fn is_reducing(&self) -> bool {
        matches!(self, Phase::Recovery { .. } | Phase::Reduced { .. })
    }

    /// Something was taken for lost.
    pub fn has_lost(&self) -> bool {
        matches!(self, Phase::Recovery { .. } | Phase::Loss { .. })
    }
}

impl Connection {
    /// Something of `flight` bytes was taken for lost, or marked. The window is reduced, once for what is on its way.
    pub(super) fn begin_recovery(&mut self, now: Time, flight: u64, lost: bool) {
        if self.phase.has_lost() {
            return;
        }
        let mut reduction = match self.phase {
            Phase::Reduced { reduction, .. } => reduction,
            _ => {
                self.control.congestion(self.in_flight());
                let target = self.control.threshold().unwrap_or(self.control.window());
                Reduction::new(flight, target)
            }
        };
        if self.control.reduces_proportionally() {
            let window = reduction.acknowledged(0, self.in_flight(), self.mss(), false);
            self.control.set_window(window);
        }
        let ends = self.nxt;
        if lost {
            self.counts.recoveries += 1;
            // A mark of congestion is true though the loss is not.
            self.may_be_undone(self.phase == Phase::Open);
            self.phase = Phase::Recovery { ends, reduction };
        } else if self.phase == Phase::Open {
            self.phase = Phase::Reduced { ends, reduction };
        }
        if self.retransmit == Retransmit::TailProbe {
            // It has been found out.
            self.arm_retransmission(now);
        }
    }

    /// The window of a phase after an acknowledgement.
    pub(super) fn continue_recovery(&mut self, ack: &Ack, advanced: bool) {
        let mss = self.mss();
        let (ends, reduction) = match &mut self.phase {
            Phase::Open => return,
            Phase::Loss { ends } => {
                if self.una >= *ends {
                    self.phase = Phase::Open;
                    self.control.recovered_from_timeout();
                }
                return;
            }
            Phase::Recovery { ends, reduction } | Phase::Reduced { ends, reduction } => {
                (*ends, reduction)
            }
        };
        if self.una >= ends {
            self.phase = Phase::Open;
            self.sending.duplicates = 0;
            self.control.recovered();
            self.rack.recovered();
            return;
        }
        if self.control.reduces_proportionally() {
            let safe = advanced && ack.lost == 0;
            let window = reduction.acknowledged(ack.delivered, ack.in_flight, mss, safe);
            self.control.set_window(window);
        }
    }

    /// Bytes went out.
    pub(super) fn count_in_recovery(&mut self, bytes: u64) {
        if let Phase::Recovery { reduction, .. } | Phase::Reduced { reduction, .. } =
            &mut self.phase
        {
            reduction.sent += bytes;
        }
    }

    /// The window is reduced because something was taken for lost. If that turns out to be wrong, and `may` is true, it
    /// becomes what it was.
    pub(super) fn may_be_undone(&mut self, may: bool) {
        let sending = &mut self.sending;
        sending.retransmitted = NOWHERE;
        sending.doubtful = may;
        sending.undo_from = if may { self.una } else { NOWHERE };
        sending.repeated = false;
        sending.untold = 0;
    }

    /// The peer got `start..end` twice. Whether all that went out again in a recovery came twice: nothing was lost (RFC
    /// 3708). The last of that may be told after the recovery has ended.
    pub(super) fn came_twice(&mut self, start: u64, end: u64) -> bool {
        let sending = &mut self.sending;
        if start < sending.undo_from {
            return false;
        }
        sending.untold = sending.untold.saturating_sub((end - start) as u32);
        sending.repeated && sending.untold == 0 && self.scoreboard.lost() == 0
    }

    /// Nothing was lost: the acknowledgement answers what was sent first (RFC 3522, RFC 4015), or all came twice.
    pub(super) fn undo_recovery(&mut self) {
        self.counts.undone += 1;
        self.sending.doubtful = false;
        self.sending.undo_from = NOWHERE;
        self.scoreboard.find_lost();
        self.control.undo();
        self.phase = Phase::Open;
        self.rtt.reset_backoff();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The setting of the example of RFC 6937, 3.1, with the target of CUBIC: of twenty segments on their way the first is
    /// lost. What goes out is in proportion to what comes back, and ends at the target.
    #[test]
    fn what_goes_out_is_in_proportion() {
        let mss = 1000;
        let mut reduction = Reduction::new(20 * mss, 14 * mss);
        let mut in_flight = 19 * mss;
        let mut out = 0;
        for _ in 0..19 {
            in_flight -= mss;
            let window = reduction.acknowledged(mss, in_flight, mss, false);
            while in_flight + mss <= window {
                in_flight += mss;
                reduction.sent += mss;
                out += 1;
            }
        }
        assert_eq!(in_flight, 14 * mss);
        assert_eq!(out, 14);
    }
}
