//! Which frames of an input are filtered: from a time on, so many, at another rate.

use evener_runtime::stream::Source;

use super::units::Shots;
use crate::exec::service::FilterService;
use crate::format::{Ratio, Timing};
use crate::frame::Frame;
use crate::io::{Error, Input};
use crate::sequence::flow::Feed;

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

/// An input from which frames are left out at the beginning.
pub(super) struct Chosen {
    pub(super) input: Input,
    selection: Selection,
    skip: u64,
    read: bool,
    /// Planes that are read of frames that are not left out.
    planes: usize,
    /// Seconds of the whole input, if known.
    seconds: Option<f64>,
}

impl Chosen {
    /// # Errors
    /// Those of the input.
    pub(super) fn new(mut input: Input, selection: Selection) -> Result<Chosen, Error> {
        let rate = input.timing().rate;
        let frames = input.frames().map(|frames| frames as f64);
        let seconds = frames.map(|frames| frames * f64::from(rate.den) / f64::from(rate.num));
        let skip = input.skip(selection.skipped(rate))?;
        Ok(Chosen {
            skip,
            planes: input.format().planes(),
            input,
            selection,
            read: false,
            seconds,
        })
    }

    /// Frames that are left, if known.
    pub(super) fn frames(&self) -> Option<u64> {
        self.input.frames().map(|all| all.saturating_sub(self.skip))
    }

    /// Declares that only the first `planes` planes are used.
    pub(super) fn want_planes(&mut self, planes: usize) {
        self.planes = planes;
        self.input.want_planes(planes);
    }

    /// The end of the stream; an error if it comes before the start that was asked for.
    fn ended(&self) -> Result<bool, Error> {
        if self.read || self.selection.skipped(self.input.timing().rate) == 0 {
            return Ok(false);
        }
        Err(Error::StartsLate {
            name: self.input.name().to_owned(),
            start: self.selection.start,
            seconds: self.seconds,
        })
    }
}

impl Feed for Chosen {
    fn read(&mut self, frame: &mut Frame) -> Result<bool, Error> {
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
        if !self.input.read(frame)? {
            return self.ended();
        }
        self.read = true;
        Ok(true)
    }
}

impl Source<FilterService> for Shots {
    type Error = Error;

    fn start(&mut self, service: &FilterService) {
        let planes = service.planes_read();
        let feeds = self.flow.feeds_mut();
        feeds.for_each(|feed| feed.want_planes(planes));
    }

    fn read(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        self.read_frame(unit)
    }

    fn units(&self) -> Option<u64> {
        self.frames
    }

    fn may_wait(&self) -> bool {
        Shots::may_wait(self)
    }
}
