//! `setpts`: frames at other times.

use super::{Arg, Entry, Filter, Role};
use crate::format::Video;
use crate::graph::expression::{Expression, Names};
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};

/// Units of `PTS` in a second. Expressions divide by `TB`, or scale `PTS`, so that it does not matter which they are.
const UNITS: f64 = 1e6;

const NAMES: Names = &[
    ("PTS", 0),
    ("N", 1),
    ("T", 2),
    ("TB", 3),
    ("STARTPTS", 4),
    ("STARTT", 5),
    ("FRAME_RATE", 6),
    ("FR", 6),
    ("PREV_INPTS", 7),
    ("PREV_INT", 8),
    ("PREV_OUTPTS", 9),
    ("PREV_OUTT", 10),
];

pub const ENTRY: Entry = Entry {
    name: "setpts",
    aliases: &[],
    about: "show frames at other times: PTS/2 is twice as fast; the rate stays",
    args: &[Arg::length(
        "expr",
        Some("PTS"),
        "the time: an expression of PTS, N, T, TB, STARTPTS, STARTT, FRAME_RATE, PREV_INPTS, PREV_OUTPTS",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let time = args.expression("expr", NAMES, &[])?;
        Ok(Box::new(SetPts { time }))
    },
};

struct SetPts {
    time: Expression,
}

impl Filter for SetPts {
    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for SetPts {
    fn start(&self, inputs: &[Video]) -> Box<dyn Passing> {
        let rate = inputs[0].timing.rate;
        Box::new(Retimed {
            time: self.time.clone(),
            rate: f64::from(rate.num) / f64::from(rate.den),
            n: 0,
            first: None,
            before: None,
        })
    }

    fn is_steady_after(&self, _: bool) -> bool {
        false
    }
}

struct Retimed {
    time: Expression,
    rate: f64,
    n: u64,
    first: Option<f64>,
    /// The times of the frame before, as it came and as it went.
    before: Option<(f64, f64)>,
}

impl Passing for Retimed {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        let Some(mut shot) = upstream.next(0)? else {
            return Ok(None);
        };
        let start = *self.first.get_or_insert(shot.time);
        let (came, went) = self.before.unwrap_or((f64::NAN, f64::NAN));
        let time = self.time.value(&[
            shot.time * UNITS,
            self.n as f64,
            shot.time,
            1.0 / UNITS,
            start * UNITS,
            start,
            self.rate,
            came * UNITS,
            came,
            went * UNITS,
            went,
        ]) / UNITS;
        let time = if time.is_finite() { time } else { shot.time };
        // As long as the one before it.
        if time - went > 0.0 {
            shot.duration = time - went;
        }
        self.before = Some((shot.time, time));
        self.n += 1;
        shot.time = time;
        Ok(Some(shot))
    }
}
