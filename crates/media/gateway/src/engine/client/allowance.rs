//! The rate that a client's connection may have, by TFRC.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use evener_sockets::TcpInfo;
use socket2::SockRef;

use crate::rate::{Bucket, Feedback, Losses, Sender};

/// How much time of its rate a client may be ahead.
const DEPTH: Duration = Duration::from_secs(1);
/// How often a connection is looked at that loses nothing, and that loses something; never more often than a round-trip
/// time.
const CALM: Duration = Duration::from_millis(100);
const LOSING: Duration = Duration::from_millis(10);
/// How long after a loss a connection is looked at more often.
const LATELY: Duration = Duration::from_secs(1);

/// Congestion controls that take no more than TCP's share, which is what TFRC would leave them.
const FAIR: [&[u8]; 2] = [b"reno", b"cubic"];

/// Of one client. Before its first loss it may send what its connection takes.
#[derive(Debug)]
pub struct Allowance {
    /// Losses bound the rate.
    bounds: bool,
    sender: Sender,
    losses: Losses,
    bucket: Option<Bucket>,
    /// What the kernel said last, and when.
    last: TcpInfo,
    at: Instant,
    /// When to ask it next.
    due: Instant,
    lost: Option<Instant>,
    /// The highest rate that arrived so far.
    highest: f64,
    /// Since the kernel was asked last, its socket had no room.
    blocked: bool,
    /// Bytes that went out since.
    sent: usize,
}

impl Allowance {
    /// For a connection that begins: without a bound where the kernel gives it no more than its share.
    pub fn of(stream: &TcpStream, now: Instant) -> Allowance {
        let name = SockRef::from(stream).tcp_congestion().unwrap_or_default();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        Allowance {
            bounds: !FAIR.contains(&name),
            ..Allowance::new(now)
        }
    }

    /// With a bound.
    pub fn new(now: Instant) -> Allowance {
        Allowance {
            bounds: true,
            sender: Sender::new(1460.0, now),
            losses: Losses::new(),
            bucket: None,
            last: TcpInfo::default(),
            at: now,
            due: now,
            lost: None,
            highest: 0.0,
            blocked: false,
            sent: 0,
        }
    }

    /// When [`sample`](Allowance::sample) is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// The socket has no room for what there is to send.
    pub fn block(&mut self) {
        self.blocked = true;
    }

    /// Sets the rate by what the kernel says.
    pub fn sample(&mut self, info: TcpInfo, now: Instant) {
        let last = std::mem::replace(&mut self.last, info);
        let time = now.saturating_duration_since(self.at).as_secs_f64();
        if last == TcpInfo::default() || time == 0.0 {
            (self.at, self.due) = (now, now + CALM);
            return;
        }
        let sent = info.segments.wrapping_sub(last.segments);
        let lost = info.retransmitted.wrapping_sub(last.retransmitted);
        let arrived = info.acknowledged.saturating_sub(last.acknowledged) as f64 / time;
        self.at = now;
        self.highest = self.highest.max(arrived);
        let (rtt, segment) = (info.rtt, f64::from(info.segment.max(1)));
        self.losses
            .count(now, sent.into(), lost.into(), rtt, self.highest, segment);
        if lost > 0 {
            self.lost = Some(now);
        }
        if arrived > 0.0 {
            let feedback = Feedback {
                rtt,
                received: arrived,
                loss: self.losses.loss_event_rate(),
                // What goes out while pictures are left out says nothing of the path.
                data_limited: !self.blocked && (self.sent as f64) < self.sender.allowed() * time,
            };
            self.sender.set_segment(segment);
            self.sender.feedback(now, feedback);
        } else if now >= self.sender.expires() {
            self.sender.expire(now, sent == 0);
        }
        (self.blocked, self.sent) = (false, 0);
        if self.bounds && self.sender.loss() > 0.0 {
            let rate = self.sender.allowed();
            match &mut self.bucket {
                Some(bucket) => bucket.set_rate(rate, now),
                None => self.bucket = Some(Bucket::new(rate, DEPTH, now)),
            }
        }
        let lately = (self.lost).is_some_and(|lost| now.saturating_duration_since(lost) < LATELY);
        self.due = now + rtt.max(if lately { LOSING } else { CALM });
    }

    /// Bytes go out.
    pub fn take(&mut self, bytes: usize, now: Instant) {
        self.sent += bytes;
        if let Some(bucket) = &mut self.bucket {
            bucket.take(bytes, now);
        }
    }

    /// 1 if all may go out that there is, 0 if the rate is used up, less if it was exceeded.
    pub fn level(&mut self, now: Instant) -> f64 {
        self.bucket.as_mut().map_or(1.0, |bucket| bucket.level(now))
    }

    /// Bytes a second, if it is limited.
    pub fn rate(&self) -> Option<f64> {
        self.bucket.as_ref().map(|_| self.sender.allowed())
    }

    /// Loss events a packet.
    pub fn loss(&self) -> f64 {
        self.losses.loss_event_rate()
    }

    /// As the kernel said last.
    pub fn rtt(&self) -> Duration {
        self.last.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_congestion_controls_that_take_more_than_their_share_have_a_bound() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut had = 0;
        for (name, bounds) in [("reno", false), ("cubic", false), ("bbr", true)] {
            // Not each system has each, and not for each user.
            if SockRef::from(&stream)
                .set_tcp_congestion(name.as_bytes())
                .is_ok()
            {
                assert_eq!(
                    Allowance::of(&stream, Instant::now()).bounds,
                    bounds,
                    "{name}"
                );
                had += 1;
            }
        }
        // Reno is for all users.
        assert!(had > 0);
    }

    /// A client that gets only sound for a while, as its rate was exceeded, may then have its rate again.
    #[test]
    fn what_is_left_out_does_not_lower_the_rate_further() {
        let begun = Instant::now();
        let mut allowance = Allowance::new(begun);
        let mut info = TcpInfo {
            rtt: Duration::from_micros(60),
            segment: 1448,
            ..TcpInfo::default()
        };
        let mut rates = Vec::new();
        for step in 0..400u32 {
            let now = begun + Duration::from_millis(10) * step;
            // 5 Mbit/s with a loss in the first second, and then 100 kbit/s.
            let bytes = if step < 100 { 6250 } else { 125 };
            info.acknowledged += bytes;
            info.segments += 5;
            info.retransmitted += u32::from(step == 50);
            allowance.take(bytes as usize, now);
            if step < 100 {
                allowance.block();
            }
            if now >= allowance.due() {
                allowance.sample(info, now);
            }
            rates.extend(allowance.rate());
        }
        assert!(rates.len() > 300);
        let (first, last) = (rates[0], rates[rates.len() - 1]);
        assert!(last >= 0.9 * first && first > 400_000.0, "{first} {last}");
    }
}
