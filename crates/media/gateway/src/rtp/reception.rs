//! What a receiver reports of the packets of a sender (RFC 3550, sections 6.4.1, A.3 and A.8).

use std::time::{Duration, Instant};

use super::{Packet, distance};

/// A block of a receiver report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Whose packets.
    pub ssrc: u32,
    /// Lost since the last report, in 256ths of what was expected.
    pub fraction_lost: u8,
    /// Lost since the first packet; negative if packets came twice.
    pub lost: i32,
    /// The highest number, and above 16 bits how often the numbers wrapped around.
    pub highest: u32,
    /// In units of the payload's clock.
    pub jitter: u32,
    /// The middle of the NTP time of the last sender report, 0 if there was none.
    pub last_report: u32,
    /// Since that report came, in 65536ths of a second.
    pub delay: u32,
}

/// Counts the packets of one sender, in whatever order they come.
#[derive(Debug)]
pub struct Reception {
    clock_rate: u32,
    ssrc: u32,
    first: u32,
    highest: u32,
    received: u32,
    /// What `expected` and `received` were at the last report.
    reported: (u32, u32),
    /// When a packet came, and its timestamp.
    last: Option<(Instant, u32)>,
    /// 16 times the jitter.
    jitter: u64,
    sender: Option<(u32, Instant)>,
}

impl Reception {
    /// Of packets whose timestamps count `clock_rate` units a second.
    pub fn new(clock_rate: u32) -> Reception {
        Reception {
            clock_rate,
            ssrc: 0,
            first: 0,
            highest: 0,
            received: 0,
            reported: (0, 0),
            last: None,
            jitter: 0,
            sender: None,
        }
    }

    /// The first packet of a sender, or after a jump.
    pub(super) fn restart(&mut self, packet: &Packet, now: Instant) {
        *self = Reception::new(self.clock_rate);
        self.ssrc = packet.ssrc;
        self.first = packet.sequence.into();
        self.highest = self.first;
        self.received = 1;
        self.last = Some((now, packet.timestamp));
    }

    /// A packet that is no duplicate.
    pub(super) fn came(&mut self, packet: &Packet, now: Instant) {
        self.received = self.received.wrapping_add(1);
        let ahead = distance(self.highest as u16, packet.sequence);
        if ahead > 0 {
            self.highest = self.highest.wrapping_add(ahead as u32);
        }
        if let Some((came, timestamp)) = self.last.replace((now, packet.timestamp)) {
            let between = units(now.saturating_duration_since(came), self.clock_rate);
            let sent_between = i64::from(packet.timestamp.wrapping_sub(timestamp) as i32);
            let difference = (between - sent_between).unsigned_abs();
            // A jump of the timestamps is no jitter.
            if difference < 10 * u64::from(self.clock_rate) {
                self.jitter = self.jitter + difference - ((self.jitter + 8) >> 4);
            }
        }
    }

    /// A sender report with this NTP time has come.
    pub fn sender_reported(&mut self, ntp: u64, now: Instant) {
        self.sender = Some(((ntp >> 16) as u32, now));
    }

    /// In units of the payload's clock.
    pub fn jitter(&self) -> u32 {
        (self.jitter >> 4) as u32
    }

    /// What to report now. The next report says what was lost after this one.
    pub fn report(&mut self, now: Instant) -> Block {
        let expected = match self.last {
            Some(_) => self.highest.wrapping_sub(self.first).wrapping_add(1),
            None => 0,
        };
        let lost = expected.wrapping_sub(self.received) as i32;
        let lately = expected.wrapping_sub(self.reported.0);
        let lost_lately = lately.wrapping_sub(self.received.wrapping_sub(self.reported.1)) as i32;
        self.reported = (expected, self.received);
        let fraction = match lost_lately {
            1.. => ((u64::from(lost_lately as u32) << 8) / u64::from(lately.max(1))).min(255),
            _ => 0,
        };
        let (last_report, delay) = self.sender.map_or((0, 0), |(report, came)| {
            (
                report,
                units(now.saturating_duration_since(came), 1 << 16) as u32,
            )
        });
        Block {
            ssrc: self.ssrc,
            fraction_lost: fraction as u8,
            lost: lost.clamp(-0x80_0000, 0x7f_ffff),
            highest: self.highest,
            jitter: self.jitter(),
            last_report,
            delay,
        }
    }
}

/// In units of a clock. Saturates after 70 years of the fastest.
fn units(duration: Duration, rate: u32) -> i64 {
    let whole = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    let part = u64::from(duration.subsec_nanos()) * u64::from(rate) / 1_000_000_000;
    whole
        .saturating_mul(rate.into())
        .saturating_add(part as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u16, timestamp: u32) -> Packet {
        Packet {
            sequence,
            timestamp,
            ssrc: 5,
            payload_type: 33,
            marker: false,
            payload: bytes::Bytes::new(),
        }
    }

    #[test]
    fn loss_is_counted_between_reports_and_in_all() {
        let mut reception = Reception::new(90_000);
        let now = Instant::now();
        reception.restart(&packet(65_530, 0), now);
        for sequence in [65_531, 65_534, 65_535, 1, 0] {
            reception.came(&packet(sequence, 0), now);
        }
        let block = reception.report(now);
        // 8 were expected, 6 came.
        assert_eq!(
            (block.highest, block.lost, block.fraction_lost),
            (65_537, 2, 64)
        );
        reception.came(&packet(2, 0), now);
        let block = reception.report(now);
        assert_eq!(
            (block.highest, block.lost, block.fraction_lost),
            (65_538, 2, 0)
        );
        assert_eq!((block.last_report, block.delay, block.ssrc), (0, 0, 5));
    }

    #[test]
    fn jitter_is_the_mean_of_the_standard() {
        let mut reception = Reception::new(8000);
        let begun = Instant::now();
        reception.restart(&packet(0, 0), begun);
        // Packets of 20 ms; each second one comes 5 ms (40 units) late.
        let mut expected = 0f64;
        for at in 1..200u16 {
            let late = Duration::from_millis(5 * u64::from(at % 2));
            let came = begun + Duration::from_millis(20 * u64::from(at)) + late;
            reception.came(&packet(at, 160 * u32::from(at)), came);
            expected += (40.0 - expected) / 16.0;
        }
        assert!((f64::from(reception.jitter()) - expected).abs() <= 1.0);
    }

    #[test]
    fn the_delay_since_a_report_is_in_65536ths() {
        let mut reception = Reception::new(8000);
        let begun = Instant::now();
        reception.sender_reported(0x0001_0002_0003_0004, begun);
        let block = reception.report(begun + Duration::from_millis(1500));
        assert_eq!((block.last_report, block.delay), (0x0002_0003, 0x1_8000));
    }
}
