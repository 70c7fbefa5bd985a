//! What frames are declared to be; no sample changes: `setfield`, `settb`, `fifo`.

use super::{Arg, Entry, Filter, Role};
use crate::format::{Timing, Video};

pub const SETFIELD: Entry = Entry {
    name: "setfield",
    aliases: &[],
    about: "declare which field of interlaced frames comes first",
    args: &[Arg::optional(
        "mode",
        "auto",
        "tff: the top field, bff: the bottom field, prog: frames are whole, auto: as it is",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let interlace = match args.choice("mode", &["auto", "bff", "tff", "prog"])? {
            0 => None,
            1 => Some('b'),
            2 => Some('t'),
            _ => Some('p'),
        };
        Ok(Box::new(SetField { interlace }))
    },
};

struct SetField {
    interlace: Option<char>,
}

impl Filter for SetField {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        let interlace = self.interlace.unwrap_or(timing.interlace);
        Ok(Video {
            format,
            timing: Timing {
                interlace,
                ..timing
            },
        })
    }
}

/// Changes nothing.
struct Nothing;

impl Filter for Nothing {}

pub const SETTB: Entry = Entry {
    name: "settb",
    aliases: &[],
    about: "accepted, without effect: times have no unit here",
    args: &[Arg::optional("expr", "intb", "the unit").also(&["tb"])],
    role: Role::EveryPlane,
    build: |_| Ok(Box::new(Nothing)),
};

pub const FIFO: Entry = Entry {
    name: "fifo",
    about: "accepted, without effect",
    args: &[],
    build: |_| Ok(Box::new(Nothing)),
    ..SETTB
};
