//! Shots at a constant rate: each is shown until the next one begins, as in FFmpeg's `fps`.

use super::{Passing, Shot, Upstream};
use crate::format::Ratio;
use crate::io::Error;

/// Rounding of times in containers.
const NEAR: f64 = 1e-6;

/// How a time becomes the number of a frame.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rounded {
    Near,
    Down,
    Up,
}

/// Passes on shots at a constant rate.
pub(crate) struct AtRate {
    rate: Ratio,
    /// Whether the first shot begins at 0, whenever it comes.
    from_zero: bool,
    rounded: Rounded,
    /// The same for the end of the last shot.
    end: Rounded,
    /// The number of the next shot, and what is taken off times.
    at: Option<(i64, f64)>,
    /// The shot that is shown, and the one after it.
    shown: Option<Shot>,
    after: Option<Shot>,
}

impl AtRate {
    pub fn new(rate: Ratio, from_zero: bool) -> AtRate {
        AtRate {
            rate,
            from_zero,
            rounded: Rounded::Near,
            end: Rounded::Near,
            at: None,
            shown: None,
            after: None,
        }
    }

    /// With times rounded in another way.
    pub fn rounded(self, rounded: Rounded, end: Rounded) -> AtRate {
        AtRate {
            rounded,
            end,
            ..self
        }
    }

    /// The number of the shot at a time.
    fn number(&self, time: f64) -> i64 {
        self.round(time, self.rounded)
    }

    fn round(&self, time: f64, rounded: Rounded) -> i64 {
        let at = time * f64::from(self.rate.num) / f64::from(self.rate.den);
        let number = match rounded {
            Rounded::Near => (at + 0.5 + NEAR).floor(),
            Rounded::Down => (at + NEAR).floor(),
            Rounded::Up => (at - NEAR).ceil(),
        };
        number as i64
    }
}

impl Passing for AtRate {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        let (mut n, zero) = match self.at {
            Some(at) => at,
            None => {
                let Some(first) = upstream.next(0)? else {
                    return Ok(None);
                };
                let zero = if self.from_zero { first.time } else { 0.0 };
                let n = self.number(first.time - zero);
                self.shown = Some(first);
                self.after = upstream.next(0)?;
                (n, zero)
            }
        };
        let duration = f64::from(self.rate.den) / f64::from(self.rate.num);
        while let Some(shown) = &self.shown {
            let end = match &self.after {
                Some(after) => after.time,
                None => shown.end(),
            };
            // What is written has at least the frame that comes last.
            let last = self.from_zero && self.after.is_none();
            let end = match last {
                true => self
                    .number(end - zero)
                    .max(self.round(shown.time - zero, Rounded::Down) + 1),
                false if self.after.is_none() => self.round(end - zero, self.end),
                false => self.number(end - zero),
            };
            if n < end {
                let shot = Shot {
                    picture: shown.picture.clone(),
                    time: n as f64 * duration,
                    duration,
                };
                n += 1;
                self.at = Some((n, zero));
                return Ok(Some(shot));
            }
            self.shown = self.after.take();
            if self.shown.is_some() {
                self.after = upstream.next(0)?;
            }
        }
        self.at = Some((n, zero));
        Ok(None)
    }
}

/// How many of `frames` frames of one rate there are at another.
pub(crate) fn frames_at(frames: u64, from: Ratio, to: Ratio) -> u64 {
    let product = |a: u32, b: u32| u128::from(a) * u128::from(b);
    let (times, by) = (product(to.num, from.den), product(from.num, to.den));
    let all = (2 * u128::from(frames) * times + by) / (2 * by);
    u64::try_from(all).unwrap_or(u64::MAX)
}
