//! The time of a track.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// From timestamps that wrap around to units of 90 kHz that do not.
#[derive(Debug)]
pub struct Clock {
    rate: u32,
    /// Time 0 of all tracks of a session.
    epoch: Instant,
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    timestamp: u32,
    /// Of `timestamp`, in units of the payload's clock.
    at: i64,
    came: Instant,
}

impl Clock {
    /// Of a payload whose clock has `rate` units a second, at least 1.
    pub fn new(rate: u32, epoch: Instant) -> Clock {
        Clock {
            rate,
            epoch,
            last: None,
        }
    }

    /// The time of `timestamp`, of a packet that came `now`: the first has the time at which it came.
    pub fn time(&mut self, timestamp: u32, now: Instant) -> i64 {
        let at = match self.last {
            Some(last) => last.at + self.difference(last.timestamp, timestamp),
            None => self.units(now.saturating_duration_since(self.epoch)),
        };
        self.last = Some(Last {
            timestamp,
            at,
            came: now,
        });
        self.to_90k(at)
    }

    /// Timestamps begin anew with this one: time goes on by as much as has passed.
    pub fn restart(&mut self, timestamp: u32, now: Instant) {
        if let Some(last) = self.last {
            let at = last.at + self.units(now.saturating_duration_since(last.came)).max(1);
            self.last = Some(Last {
                timestamp,
                at,
                came: now,
            });
        }
    }

    /// What time a timestamp near the last is; `None` before the first.
    pub fn look(&self, timestamp: u32) -> Option<i64> {
        let last = self.last?;
        Some(self.to_90k(last.at + self.difference(last.timestamp, timestamp)))
    }

    /// All later times are later by this, in units of 90 kHz.
    pub fn shift(&mut self, by: i64) {
        if let Some(last) = &mut self.last {
            last.at += (i128::from(by) * i128::from(self.rate) / 90_000) as i64;
        }
    }

    /// The time of `timestamp` is to be `time`, in units of 90 kHz.
    pub fn set(&mut self, timestamp: u32, time: i64, now: Instant) {
        self.last = Some(Last {
            timestamp,
            at: (i128::from(time) * i128::from(self.rate) / 90_000) as i64,
            came: now,
        });
    }

    fn difference(&self, from: u32, to: u32) -> i64 {
        i64::from(to.wrapping_sub(from) as i32)
    }

    fn units(&self, duration: Duration) -> i64 {
        (duration.as_nanos() * u128::from(self.rate) / 1_000_000_000) as i64
    }

    fn to_90k(&self, at: i64) -> i64 {
        (i128::from(at) * 90_000).div_euclid(self.rate.into()) as i64
    }
}

/// Times of decoding from times of showing, which are all that RTP has.
#[derive(Debug, Default)]
pub struct Decoding {
    /// How many pictures may come before one that is shown earlier.
    depth: usize,
    /// Times of showing that have not yet been taken, in order.
    times: Vec<i64>,
    /// Times of showing of the last pictures.
    recent: VecDeque<i64>,
    last: Option<i64>,
}

/// No standard has deeper reordering.
const MAX_DEPTH: usize = 16;

impl Decoding {
    /// The time of decoding of a picture that is shown at `pts`. `depth` is what the stream says of itself; if it says
    /// nothing, the depth is that of the pictures so far, and the first that are reordered get times that are too late.
    pub fn time(&mut self, pts: i64, depth: Option<u32>) -> i64 {
        let later = self.recent.iter().filter(|&&other| other > pts).count();
        self.depth = match depth {
            Some(depth) => (depth as usize).min(MAX_DEPTH),
            None => self.depth.max(later),
        };
        self.recent.push_back(pts);
        if self.recent.len() > MAX_DEPTH {
            self.recent.pop_front();
        }
        let at = self.times.partition_point(|&time| time <= pts);
        self.times.insert(at, pts);
        let next = self.last.map(|last| last + 1);
        let time = if self.times.len() > self.depth {
            let surplus = self.times.len() - self.depth;
            self.times.drain(..surplus).next_back().unwrap_or(pts)
        } else {
            // The first pictures: before all that are shown, a millisecond apart.
            let before = (self.depth - self.times.len() + 1) as i64;
            next.unwrap_or(self.times[0] - 90 * before)
        };
        let time = next.map_or(time, |next| time.max(next));
        self.last = Some(time);
        time
    }

    /// Whether one of the last pictures is shown at that time.
    pub fn has(&self, pts: i64) -> bool {
        self.recent.contains(&pts)
    }

    /// What follows has nothing to do with what was before.
    pub fn restart(&mut self) {
        self.times.clear();
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_timestamps_wrap_around() {
        let epoch = Instant::now();
        let mut clock = Clock::new(48_000, epoch);
        let now = epoch + Duration::from_secs(1);
        assert_eq!(clock.time(u32::MAX - 479, now), 90_000);
        assert_eq!(clock.time(480, now), 90_000 + 1800);
        assert_eq!(clock.time(0, now), 90_000 + 900);
        clock.restart(5_000_000, now + Duration::from_millis(100));
        assert_eq!(clock.time(5_000_000, now), 90_000 + 900 + 9000);
        clock.shift(-45);
        assert_eq!(clock.look(5_000_480), Some(90_000 + 900 + 9000 + 900 - 45));
    }

    #[test]
    fn times_of_decoding_rise_and_are_not_late() {
        // As x264 orders pictures with three B pictures of which one is referred to.
        let order = [0, 4, 2, 1, 3, 8, 6, 5, 7, 9];
        let mut decoding = Decoding::default();
        let times: Vec<_> = order
            .iter()
            .map(|at| decoding.time(at * 3600, Some(2)))
            .collect();
        assert!(times.is_sorted_by(|one, other| one < other));
        assert!(times.iter().zip(order).all(|(&time, at)| time <= at * 3600));
        assert_eq!(
            times[2..],
            [0, 3600, 7200, 10_800, 14_400, 18_000, 21_600, 25_200]
        );
        let mut unknown = Decoding::default();
        let times: Vec<_> = order
            .iter()
            .map(|at| unknown.time(at * 3600, None))
            .collect();
        assert!(times.is_sorted_by(|one, other| one < other));
        assert!(
            times[5..]
                .iter()
                .zip(&order[5..])
                .all(|(&time, at)| time <= at * 3600)
        );
    }
}
