//! What happens when nothing does: retransmission, probes, the end of waits.

use std::time::Duration;

use super::recovery::Phase;
use super::scoreboard::Fate;
use super::window::Acknowledge;
use super::{Connection, Reason, State};
use crate::time::Time;

/// Retransmissions on end after which a connection is given up (RFC 1122, 4.2.3.5), as Linux's `tcp_retries2`.
const RETRIES: u8 = 15;
/// The same for one that no application has any more.
const ORPHAN_RETRIES: u8 = 8;
/// No longer than this, even if the peer answers that it has no room: it would keep our memory for as long as it likes
/// (RFC 6429).
const ORPHAN_PATIENCE: Duration = Duration::from_secs(600);
/// Twice the longest life of a segment: as Linux has it, not as RFC 9293.
pub(super) const TIME_WAIT: Duration = Duration::from_secs(60);
/// How long the peer's FIN is waited for when the application is gone.
const FIN_WAIT: Duration = Duration::from_secs(60);
/// The peer may hold an acknowledgement back for this long.
const PEER_DELAY: Duration = Duration::from_millis(200);

/// When things are due; [`Time::NEVER`] for those that are not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// For what [`Retransmit`] says.
    pub retransmit: Time,
    /// What may be lost is, unless it comes until then.
    pub reordering: Time,
    pub acknowledge: Time,
    /// The next segment may go out.
    pub pace: Time,
    /// The next probe of an idle connection, or the end of a wait.
    pub life: Time,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines {
            retransmit: Time::NEVER,
            reordering: Time::NEVER,
            acknowledge: Time::NEVER,
            pace: Time::NEVER,
            life: Time::NEVER,
        }
    }
}

impl Deadlines {
    pub fn first(&self) -> Time {
        self.retransmit
            .min(self.reordering)
            .min(self.acknowledge)
            .min(self.pace)
            .min(self.life)
    }
}

/// What the retransmission timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Retransmit {
    #[default]
    Timeout,
    /// A probe that finds out whether the last segments are lost (RFC 8985, 7).
    TailProbe,
    /// The peer has no room: is that still so?
    Persist,
}

impl Connection {
    /// Does what is due.
    pub fn advance(&mut self, now: Time) {
        let due = |deadline: &mut Time| {
            let due = *deadline <= now;
            if due {
                *deadline = Time::NEVER;
            }
            due
        };
        if due(&mut self.deadlines.acknowledge) && self.acknowledge == Acknowledge::Later {
            self.acknowledge = Acknowledge::Now;
        }
        due(&mut self.deadlines.pace);
        if due(&mut self.deadlines.reordering) {
            let flight = self.in_flight();
            let lost = self.detect_loss(now);
            if lost > 0 {
                self.sending.lost_by_timer += lost as u32;
                self.begin_recovery(now, flight, true);
            }
        }
        if due(&mut self.deadlines.retransmit) {
            match self.retransmit {
                Retransmit::Timeout => self.time_out(now),
                Retransmit::TailProbe => self.probe_tail(now),
                Retransmit::Persist => self.persist(now),
            }
        }
        if due(&mut self.deadlines.life) {
            self.live(now);
        }
        self.check();
    }

    /// Something is on its way: when it is given up.
    pub(super) fn arm_retransmission(&mut self, now: Time) {
        self.retransmit = Retransmit::Timeout;
        self.deadlines.retransmit = self.timeout_at(now);
        let may_probe = self.agreed.sack
            && self.phase == Phase::Open
            && self.scoreboard.sacked() == 0
            && self.sending.probe.is_none()
            && !self.is_opening();
        let Some(smoothed) = self.rtt.smoothed().filter(|_| may_probe) else {
            return;
        };
        // RFC 8985, 7.2.
        let mut wait = 2 * smoothed;
        if self.scoreboard.in_flight() <= self.mss() {
            wait += PEER_DELAY;
        }
        self.retransmit = Retransmit::TailProbe;
        self.deadlines.retransmit = (now + wait).min(self.deadlines.retransmit);
    }

    /// When the timeout runs out, or the user's.
    fn timeout_at(&self, now: Time) -> Time {
        let at = now + self.rtt.timeout();
        match (self.settings.user_timeout(), self.sending.unanswered) {
            (Some(limit), since) if since != Time::NEVER && !self.is_opening() => {
                at.min((since + limit).max(now))
            }
            _ => at,
        }
    }

    fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// Whether there has been no answer for too long: since `since`, and to all of so many retransmissions.
    fn is_given_up(&self, now: Time, since: Time) -> bool {
        if self.orphan && now.since(since) > ORPHAN_PATIENCE {
            return true;
        }
        let retries = match (self.is_opening(), self.orphan) {
            (true, _) => self.settings.syn_retries,
            (false, true) => ORPHAN_RETRIES,
            (false, false) => RETRIES,
        };
        match self.settings.user_timeout() {
            Some(limit) if !self.is_opening() => now >= since + limit,
            _ => self.sending.retries >= retries,
        }
    }

    fn give_up(&mut self) {
        self.fail(if self.sending.unreachable {
            Reason::Unreachable
        } else {
            Reason::TimedOut
        });
    }

    /// RFC 6298, 5.4 to 5.7; RFC 8985, 6.3.
    fn time_out(&mut self, now: Time) {
        let Some(&first) = self.scoreboard.first() else {
            return;
        };
        self.counts.timeouts += 1;
        self.sending.unanswered = self.sending.unanswered.min(first.sent_at);
        let since = self.sending.unanswered;
        if self.is_given_up(now, since) {
            self.give_up();
            return;
        }
        let progress = self.sending.retries == 0;
        self.sending.retries += 1;
        self.rtt.back_off();
        if !self.is_opening() {
            let answered = match self.phase {
                Phase::Open => false,
                Phase::Recovery { .. } | Phase::Reduced { .. } => true,
                Phase::Loss { .. } => !progress,
            };
            if answered {
                // The window was reduced for this before: what is lost again goes out alone (RFC 5681, 3.1).
                self.control.restart();
            } else {
                self.may_be_undone(true);
                self.control.timed_out();
            }
            self.phase = Phase::Loss { ends: self.nxt };
        }
        self.sending.duplicates = 0;
        self.sending.probe = None;
        self.sending.probe_due = false;
        self.sending.overdue = true;
        // A peer that has thrown away what it sacked shows by the first of it (RFC 2018, 8).
        if !self.agreed.sack || first.fate == Fate::Sacked {
            self.scoreboard.lose_all();
        } else {
            self.lose_by_timeout(now);
        }
        self.deadlines.reordering = Time::NEVER;
        self.retransmit = Retransmit::Timeout;
        self.deadlines.retransmit = self.timeout_at(now);
    }

    /// RFC 8985, 7.3.
    fn probe_tail(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            return;
        }
        self.sending.probe_due = true;
        self.retransmit = Retransmit::Timeout;
        self.deadlines.retransmit = self.timeout_at(now);
    }

    /// The peer has no room, and nothing is on its way that would tell when it has.
    pub(super) fn await_window(&mut self, now: Time) {
        self.retransmit = Retransmit::Persist;
        self.deadlines.retransmit = self.timeout_at(now);
    }

    /// RFC 9293, 3.8.6.1, and the end of the wait for more than part of a segment (3.8.6.2.1).
    fn persist(&mut self, now: Time) {
        if !self.scoreboard.is_empty() {
            self.arm_retransmission(now);
            return;
        }
        if self.waiting() == 0 {
            return;
        }
        self.sending.unanswered = self.sending.unanswered.min(now);
        let since = self.sending.unanswered;
        if self.is_given_up(now, since) {
            self.give_up();
            return;
        }
        self.sending.retries += 1;
        if self.right > self.nxt {
            self.sending.forced = true;
        } else {
            self.sending.ask = true;
        }
        self.rtt.back_off();
        self.await_window(now);
    }

    /// The application ended a connection, or nothing was heard of the peer.
    fn live(&mut self, now: Time) {
        if matches!(self.state, State::TimeWait) || self.orphan && self.state == State::FinWait2 {
            self.become_closed();
            return;
        }
        let Some(keep) = self.settings.keep_alive() else {
            return;
        };
        if !self.scoreboard.is_empty() || self.waiting() > 0 {
            // Other timers find out.
            self.deadlines.life = now + keep.idle;
            return;
        }
        let quiet = now.since(self.receiving.heard_at);
        if quiet < keep.idle {
            self.sending.unheard = 0;
            self.deadlines.life = self.receiving.heard_at + keep.idle;
            return;
        }
        if self.sending.unheard >= keep.probes {
            self.sending.reset = true;
            self.reason = Some(Reason::TimedOut);
            return;
        }
        self.sending.unheard += 1;
        self.sending.ask = true;
        self.deadlines.life = now + keep.interval;
    }

    /// Probes of an idle connection begin, or end.
    pub(super) fn keep_alive(&mut self, now: Time) {
        if self.orphan || self.state == State::TimeWait || self.is_opening() {
            return;
        }
        self.deadlines.life = match self.settings.keep_alive() {
            Some(keep) => (self.receiving.heard_at + keep.idle).max(now),
            None => Time::NEVER,
        };
    }

    /// Both ends are closed: late segments are answered for a while.
    pub(super) fn begin_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.deadlines = Deadlines {
            life: now + TIME_WAIT,
            ..Deadlines::default()
        };
    }

    /// The peer's FIN is not waited for longer than this.
    pub(super) fn begin_fin_wait(&mut self, now: Time) {
        self.deadlines.life = now + FIN_WAIT;
    }
}
