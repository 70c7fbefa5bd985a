//! `tpad`: frames before the first and after the last.

use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::format::{Size, Video};
use crate::graph::args::{ArgError, Args};
use crate::graph::bind::Inputs;
use crate::graph::colour::Colour;
use crate::graph::plane::Port;
use crate::io::Error;
use crate::sequence::{Passing, Picture, Sequence, Shot, Upstream};
use crate::stage::Plane;
use crate::times;

pub const ENTRY: Entry = Entry {
    name: "tpad",
    aliases: &[],
    about: "add frames at the beginning or the end",
    args: &[
        Arg::optional("start", "0", "how many frames at the beginning"),
        Arg::optional("stop", "0", "how many at the end; -1 for ever"),
        Arg::optional(
            "start_mode",
            "add",
            "add: frames of a colour; clone: the first frame",
        ),
        Arg::optional(
            "stop_mode",
            "add",
            "add: frames of a colour; clone: the last frame",
        ),
        Arg::optional(
            "start_duration",
            "none",
            "how long at the beginning, in place of `start`",
        ),
        Arg::optional(
            "stop_duration",
            "none",
            "how long at the end, in place of `stop`",
        ),
        Arg::optional("color", "black", "the colour of frames that are added"),
    ],
    role: Role::EveryPlane,
    build: |args| Ok(Box::new(TPad::new(args)?)),
};

#[derive(Clone)]
struct TPad {
    start: Added,
    stop: Added,
    solid: Arc<dyn Filter>,
}

/// What is added on one side.
#[derive(Clone, Copy)]
struct Added {
    /// `None` for ever.
    frames: Option<u64>,
    seconds: Option<f64>,
    clone: bool,
}

impl Added {
    /// How many frames, at a rate of so many a second.
    fn frames(&self, rate: f64) -> Option<u64> {
        match self.seconds {
            Some(seconds) => Some((seconds * rate).round() as u64),
            None => self.frames,
        }
    }
}

impl TPad {
    fn new(args: &Args<'_>) -> Result<TPad, ArgError> {
        let added = |frames: &str, mode: &str, duration: &str| {
            let whole = |n: f64| n.fract() == 0.0 && n >= -1.0;
            let frames = args.number_where(frames, whole, "a whole number from -1 on")?;
            Ok(Added {
                frames: (frames >= 0.0).then_some(frames as u64),
                seconds: args.maybe(duration, times::duration)?,
                clone: args.choice(mode, &["add", "clone"])? == 1,
            })
        };
        Ok(TPad {
            start: added("start", "start_mode", "start_duration")?,
            stop: added("stop", "stop_mode", "stop_duration")?,
            solid: Arc::new(Solid(args.colour("color")?)),
        })
    }
}

impl Filter for TPad {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        self.solid.video(inputs)?;
        Ok(inputs[0])
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

fn rate(video: &Video) -> f64 {
    f64::from(video.timing.rate.num) / f64::from(video.timing.rate.den)
}

impl Sequence for TPad {
    fn start(&self, inputs: &[Video]) -> Box<dyn Passing> {
        let rate = rate(&inputs[0]);
        Box::new(Padded {
            pad: self.clone(),
            rate,
            before: None,
            after: None,
            later: 0.0,
            last: None,
        })
    }

    fn only_passes(&self) -> bool {
        false
    }

    fn frames(&self, inputs: &[u64], videos: &[Video]) -> Option<u64> {
        let rate = rate(&videos[0]);
        Some(inputs[0] + self.start.frames(rate)? + self.stop.frames(rate)?)
    }
}

/// A frame of one colour.
struct Solid(Colour);

impl Filter for Solid {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        self.0.on(&Plane::of(&inputs[0].format, 0))?;
        Ok(inputs[0])
    }

    fn join(&self, plane: &Plane, _: Size, _: &mut Inputs<'_, '_>) -> Port {
        Port::Constant(self.0.on(plane).unwrap_or(plane.fill))
    }
}

struct Padded {
    pad: TPad,
    rate: f64,
    /// The first shot while frames come before it, and how many still do.
    before: Option<(Shot, u64)>,
    /// How many frames still come after the last one; `None` for ever.
    after: Option<Option<u64>>,
    later: f64,
    last: Option<Shot>,
}

impl Padded {
    fn added(&self, like: &Picture, clone: bool, upstream: &dyn Upstream) -> Picture {
        match clone {
            true => like.clone(),
            false => upstream.make(&self.pad.solid, &[], vec![like.clone()]),
        }
    }
}

impl Passing for Padded {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        let duration = 1.0 / self.rate;
        if self.last.is_none() && self.before.is_none() {
            let Some(first) = upstream.next(0)? else {
                return Ok(None);
            };
            let frames = self.pad.start.frames(self.rate).unwrap_or(0);
            self.later = frames as f64 * duration;
            self.before = Some((first, frames));
        }
        if let Some((mut first, left)) = self.before.take() {
            if left > 0 {
                let picture = self.added(&first.picture, self.pad.start.clone, upstream);
                let time = first.time + self.later - left as f64 * duration;
                self.before = Some((first, left - 1));
                return Ok(Some(Shot {
                    picture,
                    time,
                    duration,
                }));
            }
            first.time += self.later;
            self.last = Some(first.clone());
            return Ok(Some(first));
        }
        if self.after.is_none() {
            if let Some(mut shot) = upstream.next(0)? {
                shot.time += self.later;
                self.last = Some(shot.clone());
                return Ok(Some(shot));
            }
            self.after = Some(self.pad.stop.frames(self.rate));
        }
        let (Some(last), Some(after)) = (&self.last, &mut self.after) else {
            return Ok(None);
        };
        if *after == Some(0) {
            return Ok(None);
        }
        *after = after.map(|left| left - 1);
        let picture = match self.pad.stop.clone {
            true => last.picture.clone(),
            false => upstream.make(&self.pad.solid, &[], vec![last.picture.clone()]),
        };
        let shot = Shot {
            picture,
            time: last.end(),
            duration,
        };
        // Frames of a colour are made of the last one, which stays the same.
        let like = last.picture.clone();
        self.last = Some(Shot {
            picture: like,
            ..shot.clone()
        });
        Ok(Some(shot))
    }
}
