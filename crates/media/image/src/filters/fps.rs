//! `fps`: frames are repeated or left out for a constant rate.

use super::{Arg, Entry, Filter, Role};
use crate::format::{Ratio, Timing, Video};
use crate::sequence::rate::{AtRate, Rounded, frames_at};
use crate::sequence::{Passing, Sequence};
use crate::times;

pub const ENTRY: Entry = Entry {
    name: "fps",
    aliases: &[],
    about: "repeat or drop frames for a constant rate",
    args: &[
        Arg::optional(
            "fps",
            "25",
            "frames per second: 25, 29.97, 30000/1001, ntsc, pal or film",
        ),
        Arg::optional(
            "round",
            "near",
            "how times are rounded: near, zero, down, up or inf",
        ),
        Arg::optional(
            "eof_action",
            "round",
            "how the end is rounded: round, as other times, or pass, up",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let rate = args.parsed("fps", rate)?;
        let rounded = |choice: usize| match choice {
            0 => Rounded::Near,
            1 | 2 => Rounded::Down,
            _ => Rounded::Up,
        };
        let round = args.choice("round", &["near", "zero", "down", "up", "inf"])?;
        let end = args.choice("eof_action", &["round", "pass"])?;
        Ok(Box::new(Fps {
            rate,
            rounded: rounded(round),
            end: match end {
                0 => rounded(round),
                _ => Rounded::Up,
            },
        }))
    },
};

fn rate(text: &str) -> Result<Ratio, String> {
    match text {
        "ntsc" => times::rate("30000/1001"),
        "pal" => times::rate("25"),
        "film" => times::rate("24"),
        "ntsc_film" => times::rate("24000/1001"),
        text => times::rate(text),
    }
}

struct Fps {
    rate: Ratio,
    rounded: Rounded,
    end: Rounded,
}

impl Filter for Fps {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        Ok(Video {
            format,
            timing: Timing {
                rate: self.rate,
                ..timing
            },
        })
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Fps {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(AtRate::new(self.rate, false).rounded(self.rounded, self.end))
    }

    fn is_steady_after(&self, _: bool) -> bool {
        true
    }

    fn frames(&self, inputs: &[u64], videos: &[Video]) -> Option<u64> {
        Some(frames_at(inputs[0], videos[0].timing.rate, self.rate))
    }
}
