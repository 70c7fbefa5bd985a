//! `loop`: a part of a stream again and again.

use super::{Arg, Entry, Filter, Role};
use crate::format::Video;
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};

pub const ENTRY: Entry = Entry {
    name: "loop",
    aliases: &[],
    about: "repeat some frames; they are kept in memory",
    args: &[
        Arg::optional("loop", "0", "how often they are repeated; -1 for ever"),
        Arg::optional("size", "0", "how many frames, at most 32767"),
        Arg::optional("start", "0", "the number of the first of them"),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let times = args.number_where("loop", |n| n.fract() == 0.0 && n >= -1.0, "-1 or more")?;
        Ok(Box::new(Repeat {
            times: (times >= 0.0).then_some(times as u64),
            size: args.integer("size", 0..=32767)? as usize,
            start: u64::from(args.integer("start", 0..=u32::MAX)?),
        }))
    },
};

#[derive(Clone, Copy)]
struct Repeat {
    /// `None` for ever.
    times: Option<u64>,
    size: usize,
    start: u64,
}

impl Filter for Repeat {
    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Repeat {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Repeated {
            repeat: *self,
            n: 0,
            kept: Vec::new(),
            next: None,
            rounds: 0,
            later: 0.0,
        })
    }

    fn frames(&self, inputs: &[u64], _: &[Video]) -> Option<u64> {
        let size = inputs[0].saturating_sub(self.start).min(self.size as u64);
        Some(inputs[0] + self.times? * size)
    }
}

struct Repeated {
    repeat: Repeat,
    n: u64,
    kept: Vec<Shot>,
    /// The next of the kept frames, while they are repeated.
    next: Option<usize>,
    rounds: u64,
    /// How much later frames are shown.
    later: f64,
}

impl Repeated {
    /// How long the kept frames take.
    fn length(&self) -> f64 {
        match (self.kept.first(), self.kept.last()) {
            (Some(first), Some(last)) => last.end() - first.time,
            _ => 0.0,
        }
    }

    fn repeats(&self) -> bool {
        !self.kept.is_empty() && self.repeat.times.is_none_or(|times| self.rounds < times)
    }
}

impl Passing for Repeated {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        if let Some(next) = self.next {
            let mut shot = self.kept[next].clone();
            shot.time += self.later;
            self.next = match next + 1 < self.kept.len() {
                true => Some(next + 1),
                false => {
                    self.rounds += 1;
                    let again = self.repeats();
                    if again {
                        self.later += self.length();
                    } else {
                        self.kept.clear();
                    }
                    again.then_some(0)
                }
            };
            return Ok(Some(shot));
        }
        let shot = upstream.next(0)?;
        let full = |kept: &[Shot], size: usize| size > 0 && kept.len() == size;
        if let Some(mut shot) = shot {
            let n = self.n;
            self.n += 1;
            if n >= self.repeat.start && self.rounds == 0 && self.kept.len() < self.repeat.size {
                self.kept.push(shot.clone());
            }
            shot.time += self.later;
            if full(&self.kept, self.repeat.size) && self.repeats() {
                self.later += self.length();
                self.next = Some(0);
            }
            return Ok(Some(shot));
        }
        if self.rounds == 0 && self.repeats() {
            self.later += self.length();
            self.next = Some(0);
            return self.next(upstream);
        }
        Ok(None)
    }
}
