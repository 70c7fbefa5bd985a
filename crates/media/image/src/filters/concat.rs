//! `concat`: streams one after the other.

use super::{Arg, Entry, Filter, Role};
use crate::format::Video;
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};

pub const ENTRY: Entry = Entry {
    name: "concat",
    aliases: &[],
    about: "streams one after the other; all have one size and format",
    args: &[
        Arg::optional("n", "2", "how many streams"),
        Arg::optional("v", "1", "1: videos are joined"),
        Arg::optional("a", "0", "0: sound is not joined"),
    ],
    role: Role::EveryPlane,
    build: |args| {
        args.integer("v", 1..=1)?;
        args.integer("a", 0..=0)?;
        let streams = args.integer("n", 2..=64)? as usize;
        Ok(Box::new(Concat { streams }))
    },
};

struct Concat {
    streams: usize,
}

impl Filter for Concat {
    fn inputs(&self) -> usize {
        self.streams
    }

    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let first = inputs[0];
        if let Some(other) = inputs.iter().find(|video| video.format != first.format) {
            return Err(format!(
                "one stream is {} and another {}; scale or pad one of them first",
                first.format, other.format
            ));
        }
        Ok(first)
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Concat {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Joined {
            stream: 0,
            streams: self.streams,
            begins: 0.0,
            end: 0.0,
        })
    }

    fn is_steady_after(&self, _: bool) -> bool {
        false
    }

    fn frames(&self, inputs: &[u64], _: &[Video]) -> Option<u64> {
        Some(inputs.iter().sum())
    }
}

struct Joined {
    stream: usize,
    streams: usize,
    /// When the stream begins, and when it ends as far as that is known.
    begins: f64,
    end: f64,
}

impl Passing for Joined {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        while self.stream < self.streams {
            if let Some(mut shot) = upstream.next(self.stream)? {
                shot.time += self.begins;
                self.end = self.end.max(shot.end());
                return Ok(Some(shot));
            }
            self.stream += 1;
            self.begins = self.end;
        }
        Ok(None)
    }
}
