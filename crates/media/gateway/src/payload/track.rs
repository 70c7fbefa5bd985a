//! A track of a session: packets in order go in, access units with times come out.

use std::time::Instant;

use super::clock::{Clock, Decoding};
use super::{AccessUnit, Codec, Depacketise, Format, TimestampedUnit, Unsupported};
use crate::rtp::Ordered;

/// A track of pictures or sound.
#[derive(Debug)]
pub struct Track {
    number: usize,
    format: Box<dyn Depacketise>,
    is_video: bool,
    clock: Clock,
    decoding: Decoding,
    units: Vec<TimestampedUnit>,
    /// NTP time and timestamp of the last sender report.
    report: Option<(u64, u32)>,
}

impl Track {
    /// The track of this number. `epoch` is time 0 of all tracks of the session.
    ///
    /// # Errors
    /// [`Unsupported`] if there is no reader for the format.
    pub fn new(number: usize, format: &Format, epoch: Instant) -> Result<Track, Unsupported> {
        let clock = Clock::new(format.clock_rate, epoch);
        let format = format.open()?;
        Ok(Track {
            number,
            is_video: format.codec().is_video(),
            format,
            clock,
            decoding: Decoding::default(),
            units: Vec::new(),
            report: None,
        })
    }

    /// How its units are coded: for pictures with the last parameter sets.
    pub fn codec(&self) -> Codec {
        self.format.codec()
    }

    /// Takes the next packet, and gives `out` the access units that are complete with it.
    pub fn push(&mut self, next: Ordered, now: Instant, mut out: impl FnMut(AccessUnit)) {
        if next.restarts {
            self.clock.restart(next.packet.timestamp, now);
            self.decoding.restart();
            self.report = None;
        }
        let missing = next.missing > 0 || next.restarts;
        self.format.push(next.packet, missing, &mut self.units);
        for unit in self.units.drain(..) {
            let mut pts = self.clock.time(unit.timestamp, now);
            // Servers that seek send the pictures before the place with its time.
            while self.is_video && self.decoding.has(pts) {
                pts += 1;
            }
            // Times of sound rise as well, where a report has moved them back.
            let depth = if self.is_video {
                self.format.reorder()
            } else {
                Some(0)
            };
            let dts = self.decoding.time(pts, depth);
            let pts = if self.is_video { pts } else { dts };
            out(AccessUnit {
                track: self.number,
                pts,
                dts,
                class: unit.class,
                damaged: unit.damaged,
                units: unit.units,
            });
        }
    }

    /// The origin says that `timestamp` is at `time`, in units of 90 kHz (RFC 2326, section 12.33: `rtptime`).
    pub fn begins(&mut self, timestamp: u32, time: i64, now: Instant) {
        self.clock.set(timestamp, time, now);
    }

    /// A sender report has come: at `ntp`, the track's clock was at `timestamp`.
    pub fn reported(&mut self, ntp: u64, timestamp: u32) {
        self.report = Some((ntp, timestamp));
    }

    /// What time it is for the track when it is 0 for the sender's wall clock, in units of 90 kHz.
    fn zero(&self) -> Option<i64> {
        let (ntp, timestamp) = self.report?;
        let wall = (u128::from(ntp) * 90_000) >> 32;
        Some(self.clock.look(timestamp)? - wall as i64)
    }
}

/// Shifts the times of all tracks after the first so that sound is heard when its pictures are seen, by what sender
/// reports say. Differences of less than 20 ms stay.
pub fn synchronise(tracks: &mut [Track]) {
    let Some((first, others)) = tracks.split_first_mut() else {
        return;
    };
    let Some(zero) = first.zero() else {
        return;
    };
    for track in others {
        if let Some(own) = track.zero()
            && (own - zero).abs() >= 1800
        {
            track.clock.shift(zero - own);
        }
    }
}
