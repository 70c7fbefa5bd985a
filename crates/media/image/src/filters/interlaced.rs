//! `bwdif`, `yadif` and `deinterlace`: whole frames of interlaced ones, by what the frames before and after them show.

use std::sync::Arc;

use super::bwdif::{Bwdif, Field, Intra};
use super::deinterlace::Deinterlace;
use super::{Arg, Entry, Filter, Role};
use crate::format::{Ratio, Size, Timing, Video};
use crate::graph::args::{ArgError, Args};
use crate::graph::bind::Inputs;
use crate::graph::plane::Port;
use crate::io::Error;
use crate::sequence::{Passing, Picture, Sequence, Shot, Upstream};
use crate::stage::Plane;

const MODE: Arg = Arg::optional(
    "mode",
    "send_frame",
    "send_frame: as many frames; send_field: a frame for each field",
);
const PARITY: Arg = Arg::optional(
    "parity",
    "auto",
    "which field comes first: tff, bff, or auto, as the input says",
);
const DEINT: Arg = Arg::optional(
    "deint",
    "all",
    "all: every frame; interlaced: if the input says that it is",
);

pub const DEINTERLACE: Entry = Entry {
    name: "deinterlace",
    aliases: &[],
    about: "make whole frames of interlaced ones, following motion",
    args: &[
        MODE,
        PARITY,
        DEINT,
        Arg::optional(
            "keep",
            "none",
            "top or bottom: keep that field and interpolate the other rows from it alone",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let kept = args.maybe("keep", |text| match text {
            "top" => Ok(0),
            "bottom" => Ok(1),
            _ => Err("it must be top or bottom".to_owned()),
        })?;
        Ok(match kept {
            Some(kept) => Box::new(Deinterlace { kept }),
            None => Box::new(Whole::of(args)?),
        })
    },
};

pub const BWDIF: Entry = Entry {
    name: "bwdif",
    about: "make whole frames of interlaced ones, as FFmpeg's bwdif does",
    args: &[
        Arg::optional(
            "mode",
            "send_field",
            "send_frame: as many frames; send_field: a frame for each field",
        ),
        PARITY,
        DEINT,
    ],
    build: |args| Ok(Box::new(Whole::of(args)?)),
    ..DEINTERLACE
};

pub const YADIF: Entry = Entry {
    name: "yadif",
    about: "bwdif with the defaults of FFmpeg's yadif",
    args: &[MODE, PARITY, DEINT],
    ..BWDIF
};

#[derive(Clone, Copy)]
struct Whole {
    /// A frame for each field.
    fields: bool,
    /// Whether the top field comes first; `None` as the input says.
    top: Option<bool>,
    /// Only if the input is interlaced.
    if_interlaced: bool,
}

impl Whole {
    fn of(args: &Args<'_>) -> Result<Whole, ArgError> {
        let mode = args.choice_of("mode", &[&["send_frame", "0"], &["send_field", "1"]])?;
        let parity = args.choice_of("parity", &[&["tff", "0"], &["bff", "1"], &["auto", "-1"]])?;
        let deint = args.choice_of("deint", &[&["all", "0"], &["interlaced", "1"]])?;
        Ok(Whole {
            fields: mode == 1,
            top: [Some(true), Some(false), None][parity],
            if_interlaced: deint == 1,
        })
    }

    /// Whether frames pass as they are.
    fn passes(&self, video: &Video) -> bool {
        self.if_interlaced && !['t', 'b', 'm'].contains(&video.timing.interlace)
    }

    /// The field of a frame that comes first.
    fn first(&self, video: &Video) -> Field {
        Field {
            top: self.top.unwrap_or(video.timing.interlace != 'b'),
            second: false,
        }
    }
}

impl Filter for Whole {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let video = inputs[0];
        if self.passes(&video) {
            return Ok(video);
        }
        let Ratio { num, den } = video.timing.rate;
        let rate = match self.fields {
            true => Ratio {
                num: num.checked_mul(2).ok_or("the rate would be too high")?,
                den,
            },
            false => video.timing.rate,
        };
        Ok(Video {
            timing: Timing {
                rate,
                interlace: 'p',
                ..video.timing
            },
            ..video
        })
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Whole {
    fn start(&self, inputs: &[Video]) -> Box<dyn Passing> {
        let first = self.first(&inputs[0]);
        let second = Field {
            top: !first.top,
            second: true,
        };
        let makes = |field| -> Arc<dyn Filter> {
            Arc::new(Made {
                field,
                alone: false,
            })
        };
        let alone = |field| -> Arc<dyn Filter> { Arc::new(Made { field, alone: true }) };
        Box::new(Deinterlacing {
            passes: self.passes(&inputs[0]),
            fields: self.fields,
            makes: [makes(first), makes(second)],
            alone: [alone(first), alone(second)],
            before: None,
            frame: None,
            after: None,
            second: false,
        })
    }

    fn makes(&self) -> Option<(Arc<dyn Filter>, usize)> {
        let field = Field {
            top: self.top.unwrap_or(true),
            second: false,
        };
        Some((
            Arc::new(Made {
                field,
                alone: false,
            }),
            3,
        ))
    }

    fn frames(&self, inputs: &[u64], videos: &[Video]) -> Option<u64> {
        let twice = self.fields && !self.passes(&videos[0]);
        Some(inputs[0] * if twice { 2 } else { 1 })
    }
}

/// A field of a frame made whole, by the frames around it or `alone`.
struct Made {
    field: Field,
    alone: bool,
}

impl Filter for Made {
    fn inputs(&self) -> usize {
        if self.alone { 1 } else { 3 }
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        let index = inputs.plane();
        let ports: Vec<Port> = (0..inputs.count()).map(|n| inputs.port(n, index)).collect();
        let stage = match self.alone {
            true => Intra::shared(plane, self.field),
            false => Bwdif::shared(plane, self.field),
        };
        inputs.graph().push(stage, &ports, size)
    }
}

struct Deinterlacing {
    passes: bool,
    fields: bool,
    makes: [Arc<dyn Filter>; 2],
    alone: [Arc<dyn Filter>; 2],
    before: Option<Picture>,
    frame: Option<Shot>,
    after: Option<Shot>,
    /// Whether the second field of the frame comes next.
    second: bool,
}

impl Deinterlacing {
    /// Goes on to the next frame.
    fn advance(&mut self, upstream: &mut dyn Upstream) -> Result<(), Error> {
        if self.frame.is_none() {
            self.frame = upstream.next(0)?;
        } else {
            self.before = self.frame.take().map(|shot| shot.picture);
            self.frame = self.after.take();
        }
        if self.frame.is_some() {
            self.after = upstream.next(0)?;
        }
        Ok(())
    }
}

impl Passing for Deinterlacing {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        if self.passes {
            return upstream.next(0);
        }
        if !self.second {
            self.advance(upstream)?;
        }
        let Some(shot) = &self.frame else {
            return Ok(None);
        };
        let at = usize::from(self.second);
        let frame = &shot.picture;
        // FFmpeg has no frame before the first, nor one after the last field.
        let alone = match self.second {
            false => self.before.is_none(),
            true => self.after.is_none(),
        };
        let picture = match alone {
            true => upstream.make(&self.alone[at], &[at as u64, 1], vec![frame.clone()]),
            false => {
                let before = self.before.as_ref().unwrap_or(frame).clone();
                let after = self
                    .after
                    .as_ref()
                    .map_or(frame, |shot| &shot.picture)
                    .clone();
                let all = vec![before, frame.clone(), after];
                upstream.make(&self.makes[at], &[at as u64, 0], all)
            }
        };
        let (time, duration) = match self.fields {
            false => (shot.time, shot.duration),
            true => {
                let half = shot.duration / 2.0;
                (shot.time + at as f64 * half, half)
            }
        };
        self.second = self.fields && !self.second;
        Ok(Some(Shot {
            picture,
            time,
            duration,
        }))
    }
}
