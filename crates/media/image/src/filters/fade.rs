//! `fade`: from a colour or to it, by a factor that changes with time. As in FFmpeg, a fade has a start and a length in
//! frames or in seconds.

use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role, null};
use crate::format::{Size, Video};
use crate::graph::args::{ArgError, Args};
use crate::graph::colour::Colour;
use crate::graph::plane::{PlaneGraph, Port};
use crate::sequence::{Moment, Still};
use crate::stage::{Plane, Stage};

/// What a fade lasts if nothing says so.
const FRAMES: &str = "25";
/// Times this near are one, in seconds.
const NEAR: f64 = 1e-6;

/// Its entry, for when factors follow time.
pub const ENTRY: Entry = Entry {
    name: "fade",
    aliases: &[],
    about: "fade in from a colour or out to it",
    args: &[
        Arg::optional("type", "in", "in or out").also(&["t"]),
        Arg::optional("start_frame", "0", "the first frame, from 0").also(&["s"]),
        Arg::optional("nb_frames", FRAMES, "how many frames").also(&["n"]),
        Arg::optional("alpha", "0", "only 0: there is no alpha"),
        Arg::optional("start_time", "0", "the start in seconds").also(&["st"]),
        Arg::optional(
            "duration",
            "0",
            "the length in seconds; 0 is that of nb_frames",
        )
        .also(&["d"]),
        Arg::optional(
            "color",
            "black",
            "a name, #RRGGBB, or a grey level from 0 to 1",
        )
        .also(&["c"]),
    ],
    role: Role::EveryPlane,
    build: |args| Ok(Box::new(Fade::of(args)?)),
};

/// A fade.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fade {
    /// Whether it ends in the colour; otherwise it begins with it.
    pub out: bool,
    /// The first frame, from 0.
    pub start_frame: u64,
    /// Its length, unless there is a duration.
    pub frames: u64,
    /// The start in seconds.
    pub start: f64,
    /// Its length in seconds; 0 if it is given in frames.
    pub duration: f64,
    /// From or to which.
    pub colour: Colour,
}

impl Fade {
    /// That of arguments.
    ///
    /// # Errors
    /// An argument is none that there is, or asks for a fade of alpha.
    pub fn of(args: &Args<'_>) -> Result<Fade, ArgError> {
        let seconds = |name| {
            let usable = |v: f64| (0.0..=1e9).contains(&v);
            args.number_where(name, usable, "a number of seconds")
        };
        args.number_where("alpha", |v| v == 0.0, "0: there is no alpha")?;
        Ok(Fade {
            out: args.choice_of("type", &[&["in", "0"], &["out", "1"]])? == 1,
            start_frame: args.integer("start_frame", 0..=u32::MAX)?.into(),
            frames: args.integer("nb_frames", 1..=u32::MAX)?.into(),
            start: seconds("start_time")?,
            duration: seconds("duration")?,
            colour: args.colour("color")?,
        })
    }

    /// The share of the picture in frame `n`, counted from 0, at `t` seconds. A start in frames of a fade in seconds, or the
    /// other way round, takes frames to be as long as those so far.
    pub fn factor(&self, n: u64, t: f64) -> f32 {
        let Fade {
            start_frame,
            frames,
            start,
            duration,
            ..
        } = *self;
        let rate = if t > 0.0 { n as f64 / t } else { 0.0 };
        let progress = if t < start - NEAR || n < start_frame {
            0.0
        } else if duration > 0.0 {
            let start = match start_frame > 0 && start == 0.0 && rate > 0.0 {
                true => start_frame as f64 / rate,
                false => start,
            };
            (t - start) / duration
        } else {
            let first = match start_frame == 0 && start > 0.0 {
                true => (start * rate - NEAR * rate).ceil(),
                false => start_frame as f64,
            };
            (n as f64 - first) / frames as f64
        };
        let progress = progress.clamp(0.0, 1.0) as f32;
        if self.out { 1.0 - progress } else { progress }
    }

    /// The stage that leaves a share of `factor` of the picture on a plane.
    ///
    /// # Errors
    /// The colour is none on that plane.
    pub fn stage(&self, plane: &Plane, factor: f32) -> Result<Arc<dyn Stage>, String> {
        Ok(Arc::new(FadeStage {
            factor,
            added: self.colour.on(plane)? * (1.0 - factor),
        }))
    }
}

impl Filter for Fade {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        self.colour.on(&Plane::of(&inputs[0].format, 0))?;
        Ok(inputs[0])
    }

    fn at(&self, moment: &Moment) -> Option<Still> {
        let factor = self.factor(moment.n, moment.t);
        Some(Still {
            key: vec![factor.to_bits().into()],
            filter: match factor == 1.0 {
                true => null::passing(1),
                false => Arc::new(Faded {
                    fade: *self,
                    factor,
                }),
            },
        })
    }
}

/// A fade at a moment.
struct Faded {
    fade: Fade,
    factor: f32,
}

impl Filter for Faded {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        match self.fade.stage(plane, self.factor) {
            Ok(stage) => graph.push(stage, &[input], size),
            // `video` has refused what has no colour.
            Err(_) => input,
        }
    }
}

#[derive(Debug)]
struct FadeStage {
    factor: f32,
    /// The share of the colour.
    added: f32,
}

point_stage!(FadeStage, "fade", 1.0, |this, v| v
    .mul_add(this.factor, this.added));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::args::parsed;

    fn fade(text: &str) -> Fade {
        parsed(ENTRY.args, text, Fade::of).unwrap()
    }

    /// The factors of frames of ten a second.
    fn factors<const N: usize>(text: &str) -> [f32; N] {
        let fade = fade(text);
        std::array::from_fn(|n| fade.factor(n as u64, n as f64 / 10.0))
    }

    #[track_caller]
    fn near<const N: usize>(text: &str, expected: [f32; N]) {
        let got = factors::<N>(text);
        let same = got.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-5);
        assert!(same, "{text}: {got:?}");
    }

    /// The values are those that FFmpeg 5.1 shows.
    #[test]
    fn factors_are_those_of_ffmpeg() {
        near("in:0:5", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0]);
        near(
            "out:3:5",
            [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0],
        );
        near(
            "t=in:st=0.3:d=0.5",
            [0.0, 0.0, 0.0, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
        );
        near(
            "out:st=0.3:d=0.5",
            [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0],
        );
        near("in:st=0.3", [0.0, 0.0, 0.0, 0.0, 0.04, 0.08, 0.12]);
        near("in:2:4:st=0.5", [0.0, 0.0, 0.0, 0.0, 0.0, 0.75, 1.0, 1.0]);
        near("in:n=4:d=1:s=2", [0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4]);
    }

    #[test]
    fn arguments_are_those_of_ffmpeg() {
        let all = fade("out:3:10:0:1.5:2:white");
        assert_eq!(all, fade("t=out:s=3:n=10:st=1.5:d=2:c=white"));
        assert_eq!(
            all,
            fade("type=1:start_frame=3:nb_frames=10:start_time=1.5:duration=2:color=1")
        );
        assert_eq!((all.out, all.frames, all.duration), (true, 10, 2.0));
        assert_eq!(fade("in").frames, 25);
        for text in [
            "up",
            "in:-1",
            "in:0:0",
            "in:alpha=1",
            "in:st=-1",
            "in:color=rde",
        ] {
            assert!(parsed(ENTRY.args, text, Fade::of).is_err(), "{text}");
        }
    }
}
