//! Which frames of an input are filtered: from a time on, so many, at another rate.

use evener_runtime::stream::Source;

use crate::exec::service::FilterService;
use crate::format::{Ratio, Timing};
use crate::frame::Frame;
use crate::io::{Error, Input};

/// What is asked for; all frames by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// Seconds before the first frame.
    pub start: f64,
    /// The most frames that are written.
    pub frames: Option<u64>,
    /// Frames a second; frames are repeated or left out for it.
    pub rate: Option<Ratio>,
}

impl Selection {
    /// Frames of a stream of `rate` that are left out at its beginning: those whose time is before the start.
    pub(super) fn skipped(&self, rate: Ratio) -> u64 {
        // The time of a frame is rounded in its container.
        let frames = self.start * f64::from(rate.num) / f64::from(rate.den) - 1e-3;
        frames.ceil().max(0.0) as u64
    }

    /// The timing of what is selected.
    pub(super) fn timing(&self, timing: &Timing) -> Timing {
        Timing {
            rate: self.rate.unwrap_or(timing.rate),
            ..*timing
        }
    }
}

/// Reads seconds, as `90`, `90.5`, `1:30` or `0:01:30.5`.
///
/// # Errors
/// It is no time.
pub fn seconds(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is not a time; give seconds, or as 1:30 or 0:01:30.5");
    let parts: Vec<&str> = text.split(':').collect();
    let plain = |part: &&str| part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if parts.len() > 3 || !parts.iter().all(plain) {
        return Err(wrong());
    }
    parts.iter().enumerate().try_fold(0.0, |sum, (at, part)| {
        let value: f64 = part.parse().map_err(|_| wrong())?;
        let minutes = at > 0 && value >= 60.0;
        let fraction = at + 1 < parts.len() && value.fract() != 0.0;
        match minutes || fraction {
            true => Err(wrong()),
            false => Ok(sum * 60.0 + value),
        }
    })
}

/// Reads frames a second, as `25`, `29.97` or `30000/1001`.
///
/// # Errors
/// It is no rate.
pub fn rate(text: &str) -> Result<Ratio, String> {
    let wrong =
        || format!("'{text}' is not a rate; give frames a second, as 25, 29.97 or 30000/1001");
    let whole = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0);
    if let Some((num, den)) = text.split_once('/') {
        let (num, den) = (whole(num).ok_or_else(wrong)?, whole(den).ok_or_else(wrong)?);
        return Ok(Ratio { num, den });
    }
    if let Some(num) = whole(text) {
        return Ok(Ratio { num, den: 1 });
    }
    // Rates of television are a whole number · 1000/1001.
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.001..=100_000.0).contains(&value) {
        return Err(wrong());
    }
    let near = (value * 1.001).round();
    let ntsc = near >= 1.0 && (near / 1.001 - value).abs() < 0.005;
    let num = |v: f64| v.round() as u32;
    Ok(match ntsc && value.fract() != 0.0 {
        true => Ratio {
            num: num(near * 1000.0),
            den: 1001,
        },
        false => Ratio {
            num: num(value * 1000.0),
            den: 1000,
        },
    })
}

/// An input of which frames are selected.
pub(super) struct Selected {
    pub(super) input: Input,
    selection: Selection,
    /// Frames of the input that were read, and of those that are not skipped.
    skip: u64,
    read: u64,
    /// Planes that are read of those.
    planes: usize,
    written: u64,
    /// Seconds of the whole input, if known.
    seconds: Option<f64>,
    /// The last frame, if it is repeated.
    last: Option<Box<Frame>>,
}

impl Selected {
    /// # Errors
    /// Those of the input.
    pub(super) fn new(mut input: Input, selection: Selection) -> Result<Selected, Error> {
        let rate = input.timing().rate;
        let frames = input.frames().map(|frames| frames as f64);
        let seconds = frames.map(|frames| frames * f64::from(rate.den) / f64::from(rate.num));
        let skip = input.skip(selection.skipped(rate))?;
        Ok(Selected {
            skip,
            planes: input.format().planes(),
            input,
            selection,
            read: 0,
            written: 0,
            seconds,
            last: None,
        })
    }

    /// Frames that are selected, if known.
    pub(super) fn frames(&self) -> Option<u64> {
        let all = self.input.frames().map(|all| all.saturating_sub(self.skip));
        let all = match (all, self.selection.rate) {
            (Some(all), Some(to)) => {
                let from = self.input.timing().rate;
                let (times, by) = (product(to.num, from.den), product(from.num, to.den));
                let frames = (2 * u128::from(all) * times + by) / (2 * by);
                Some(u64::try_from(frames).unwrap_or(u64::MAX))
            }
            (all, _) => all,
        };
        match (all, self.selection.frames) {
            (Some(all), Some(most)) => Some(all.min(most)),
            (None, _) => None,
            (all, None) => all,
        }
    }

    /// The frame of the input, from the first that is selected on, that is output `n`: the last one whose time, rounded to
    /// a time of the new rate, is not later, as in FFmpeg's `fps`.
    fn source(&self, n: u64) -> u64 {
        let Some(to) = self.selection.rate else {
            return n;
        };
        let from = self.input.timing().rate;
        let above = (2 * u128::from(n) + 1) * product(from.num, to.den) - 1;
        let at = above / (2 * product(to.num, from.den));
        u64::try_from(at).unwrap_or(u64::MAX)
    }

    fn next(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        if self
            .selection
            .frames
            .is_some_and(|most| self.written >= most)
        {
            return Ok(false);
        }
        if self.skip > 0 {
            self.input.want_planes(0);
            while self.skip > 0 {
                if !self.input.read(frame)? {
                    return self.ended();
                }
                self.skip -= 1;
            }
            self.input.want_planes(self.planes);
        }
        let (wanted, next) = (self.source(self.written), self.source(self.written + 1));
        if wanted < self.read {
            let Some(last) = &self.last else {
                return Ok(false);
            };
            copy(last, frame);
        }
        while self.read <= wanted {
            if !self.input.read(frame)? {
                return self.ended();
            }
            self.read += 1;
        }
        if next == wanted && self.last_is_not(wanted) {
            let format = *frame.format();
            let last = self
                .last
                .get_or_insert_with(|| Box::new(Frame::new(&format)));
            copy(frame, last);
        }
        self.written += 1;
        Ok(true)
    }

    /// The end of the stream; an error if it comes before the start that was asked for.
    fn ended(&self) -> Result<bool, Error> {
        if self.read > 0 || self.selection.skipped(self.input.timing().rate) == 0 {
            return Ok(false);
        }
        Err(Error::StartsLate {
            name: self.input.name().to_owned(),
            start: self.selection.start,
            seconds: self.seconds,
        })
    }

    /// Whether this is the first output of a frame.
    fn last_is_not(&self, wanted: u64) -> bool {
        self.written == 0 || self.source(self.written - 1) != wanted
    }
}

fn product(a: u32, b: u32) -> u128 {
    u128::from(a) * u128::from(b)
}

fn copy(from: &Frame, to: &mut Frame) {
    for p in 0..from.format().planes() {
        to.plane_bytes_mut(p).copy_from_slice(&from.plane_bytes(p));
    }
}

impl Source<FilterService> for Selected {
    type Error = Error;

    fn start(&mut self, service: &FilterService) {
        self.planes = service.planes_read();
        self.input.want_planes(self.planes);
    }

    fn read(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        self.next(unit)
    }

    fn units(&self) -> Option<u64> {
        self.frames()
    }

    fn may_wait(&self) -> bool {
        self.input.may_wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_read() {
        for (text, value) in [
            ("90", 90.0),
            ("1:30", 90.0),
            ("0:01:30.5", 90.5),
            ("0.25", 0.25),
        ] {
            assert_eq!(seconds(text), Ok(value));
        }
        for text in [
            "", "x", "-1", "1:60", "1.5:3", "1:2:3:4", "1e3", ":3", "inf",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
        for (text, num, den) in [
            ("25", 25, 1),
            ("29.97", 30000, 1001),
            ("23.976", 24000, 1001),
            ("30000/1001", 30000, 1001),
            ("12.5", 12500, 1000),
        ] {
            assert_eq!(rate(text), Ok(Ratio { num, den }), "{text}");
        }
        for text in ["", "0", "-3", "x", "1/0", "nan", "1e9"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
