//! `reverse`: the last frame first.

use super::{Entry, Filter, Role};
use crate::format::Video;
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};

pub const ENTRY: Entry = Entry {
    name: "reverse",
    aliases: &[],
    about: "play backwards; all frames are kept in memory",
    args: &[],
    role: Role::EveryPlane,
    build: |_| Ok(Box::new(Reverse)),
};

struct Reverse;

impl Filter for Reverse {
    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Reverse {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Reversed::default())
    }

    fn frames(&self, inputs: &[u64], _: &[Video]) -> Option<u64> {
        Some(inputs[0])
    }
}

#[derive(Default)]
struct Reversed {
    read: bool,
    shots: Vec<Shot>,
    given: usize,
    /// Times, in the order of the frames that were read.
    times: Vec<(f64, f64)>,
}

impl Passing for Reversed {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        if !self.read {
            while let Some(shot) = upstream.next(0)? {
                self.times.push((shot.time, shot.duration));
                self.shots.push(shot);
            }
            self.read = true;
        }
        let Some(mut shot) = self.shots.pop() else {
            return Ok(None);
        };
        (shot.time, shot.duration) = self.times[self.given];
        self.given += 1;
        Ok(Some(shot))
    }
}
