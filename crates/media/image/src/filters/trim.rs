//! `trim`: a part of a stream.

use super::{Arg, Entry, Filter, Role};
use crate::format::Video;
use crate::graph::args::{ArgError, Args};
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};
use crate::times;

pub const ENTRY: Entry = Entry {
    name: "trim",
    aliases: &[],
    about: "keep a part of the stream, by times or by frames",
    args: &[
        Arg::optional("start", "0", "the time of the first frame that is kept").also(&["starti"]),
        Arg::optional("end", "none", "the time of the first frame after it").also(&["endi"]),
        Arg::optional("duration", "none", "how long it is at most").also(&["durationi"]),
        Arg::optional(
            "start_frame",
            "none",
            "the number of the first frame that is kept",
        ),
        Arg::optional(
            "end_frame",
            "none",
            "the number of the first frame after it",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| Ok(Box::new(Trim::new(args)?)),
};

#[derive(Clone)]
struct Trim {
    start: f64,
    end: Option<f64>,
    duration: Option<f64>,
    start_frame: Option<u64>,
    end_frame: Option<u64>,
}

impl Trim {
    fn new(args: &Args<'_>) -> Result<Trim, ArgError> {
        let whole = |text: &str| {
            let number = text.parse();
            number.map_err(|_| "it must be a whole number from 0 on".to_owned())
        };
        Ok(Trim {
            start: args.parsed("start", times::duration)?,
            end: args.maybe("end", times::duration)?,
            duration: args.maybe("duration", times::duration)?,
            start_frame: args.maybe("start_frame", whole)?,
            end_frame: args.maybe("end_frame", whole)?,
        })
    }
}

impl Filter for Trim {
    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Trim {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Trimmed {
            trim: self.clone(),
            n: 0,
            first: None,
        })
    }

    fn is_steady_after(&self, _: bool) -> bool {
        false
    }

    fn frames(&self, inputs: &[u64], videos: &[Video]) -> Option<u64> {
        let rate = videos[0].timing.rate;
        let at =
            |time: f64| (time * f64::from(rate.num) / f64::from(rate.den) - 1e-6).ceil() as u64;
        let first = at(self.start).max(self.start_frame.unwrap_or(0));
        let ends = [
            Some(inputs[0]),
            self.end.map(at),
            self.end_frame,
            self.duration.map(|duration| first + at(duration)),
        ];
        let end = ends.into_iter().flatten().min().unwrap_or(0);
        Some(end.saturating_sub(first))
    }
}

struct Trimmed {
    trim: Trim,
    n: u64,
    /// The time of the first frame that is kept.
    first: Option<f64>,
}

/// Times that are nearer are equal.
const NEAR: f64 = 1e-6;

impl Passing for Trimmed {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        let Trim {
            start,
            end,
            duration,
            start_frame,
            end_frame,
        } = self.trim;
        loop {
            if end_frame.is_some_and(|end| self.n >= end) {
                return Ok(None);
            }
            let Some(shot) = upstream.next(0)? else {
                return Ok(None);
            };
            let n = self.n;
            self.n += 1;
            if shot.time < start - NEAR || start_frame.is_some_and(|start| n < start) {
                continue;
            }
            let first = *self.first.get_or_insert(shot.time);
            let ends = [end, duration.map(|duration| first + duration)];
            let over = |end: f64| shot.time >= end - NEAR;
            if ends.into_iter().flatten().any(over) {
                return Ok(None);
            }
            return Ok(Some(shot));
        }
    }
}
