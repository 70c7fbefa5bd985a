//! `framestep`: every n-th frame.

use super::{Arg, Entry, Filter, Role};
use crate::format::{Ratio, Timing, Video};
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};

pub const ENTRY: Entry = Entry {
    name: "framestep",
    aliases: &[],
    about: "keep the first of every few frames",
    args: &[Arg::optional("step", "1", "of how many frames one is kept")],
    role: Role::EveryPlane,
    build: |args| {
        let step = args.integer("step", 1..=1_000_000)?;
        Ok(Box::new(FrameStep { step }))
    },
};

#[derive(Clone, Copy)]
struct FrameStep {
    step: u32,
}

impl Filter for FrameStep {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        let Ratio { num, den } = timing.rate;
        let den = den
            .checked_mul(self.step)
            .ok_or("the rate would be too low")?;
        let rate = Ratio { num, den };
        Ok(Video {
            format,
            timing: Timing { rate, ..timing },
        })
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for FrameStep {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Stepped { step: self.step })
    }

    fn frames(&self, inputs: &[u64], _: &[Video]) -> Option<u64> {
        Some(inputs[0].div_ceil(u64::from(self.step)))
    }
}

struct Stepped {
    step: u32,
}

impl Passing for Stepped {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        let Some(mut kept) = upstream.next(0)? else {
            return Ok(None);
        };
        for _ in 1..self.step {
            match upstream.next(0)? {
                Some(left_out) => kept.duration += left_out.duration,
                None => break,
            }
        }
        Ok(Some(kept))
    }
}
