//! `tile`: several frames on one, as for an index of a film.

use std::sync::Arc;

use super::mosaic::{Piece, place};
use super::{Arg, Entry, Filter, Role};
use crate::format::{Format, Ratio, Size, Timing, Video};
use crate::graph::bind::Inputs;
use crate::graph::colour::Colour;
use crate::graph::plane::Port;
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "tile",
    aliases: &[],
    about: "several frames on one, in columns and rows",
    args: &[
        Arg::optional("layout", "6x5", "columns and rows"),
        Arg::optional(
            "nb_frames",
            "0",
            "how many frames, if not all places are used",
        ),
        Arg::optional("margin", "0", "samples around them all"),
        Arg::optional("padding", "0", "samples between them"),
        Arg::optional("color", "black", "what is around and between them"),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let (columns, rows) = args.parsed("layout", layout)?;
        let most = columns * rows;
        let frames = match args.integer("nb_frames", 0..=most)? {
            0 => most,
            frames => frames,
        };
        Ok(Box::new(Tile {
            columns,
            rows,
            frames,
            margin: args.integer("margin", 0..=1024)?,
            padding: args.integer("padding", 0..=1024)?,
            colour: args.colour("color")?,
        }))
    },
};

fn layout(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once(['x', 'X']).and_then(|(w, h)| {
        let side = |text: &str| text.parse::<u32>().ok().filter(|n| (1..=64).contains(n));
        Some((side(w)?, side(h)?))
    });
    sides.ok_or_else(|| "it must be columns and rows, each from 1 to 64, as 6x5".to_owned())
}

#[derive(Clone, Copy, Debug)]
struct Tile {
    columns: u32,
    rows: u32,
    frames: u32,
    margin: u32,
    padding: u32,
    colour: Colour,
}

impl Tile {
    /// The place of a frame of `size`.
    fn place(&self, n: u32, size: Size) -> (u32, u32) {
        let (column, row) = (n % self.columns, n / self.columns);
        (
            self.margin + column * (size.w + self.padding),
            self.margin + row * (size.h + self.padding),
        )
    }
}

impl Filter for Tile {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        self.colour.on(&Plane::of(&format, 0))?;
        let (sx, sy) = format.chroma.subsampling();
        let (step_x, step_y) = (format.width + self.padding, format.height + self.padding);
        let between = |n: u32, by: u32| !n.is_multiple_of(by);
        if between(self.margin, sx.max(sy))
            || self.columns > 1 && between(step_x, sx)
            || self.rows > 1 && between(step_y, sy)
        {
            return Err(
                "a frame would begin between two chroma samples; give frames and gaps even sides"
                    .to_owned(),
            );
        }
        let Ratio { num, den } = timing.rate;
        let den = den
            .checked_mul(self.frames)
            .ok_or("the rate would be too low")?;
        Ok(Video {
            format: Format {
                width: 2 * self.margin + self.columns * step_x - self.padding,
                height: 2 * self.margin + self.rows * step_y - self.padding,
                ..format
            },
            timing: Timing {
                rate: Ratio { num, den },
                ..timing
            },
        })
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        let (index, (sx, sy)) = (inputs.plane(), plane.subsampling);
        let fill = self.colour.on(plane).unwrap_or(plane.fill);
        let pieces: Vec<Piece> = (0..inputs.count())
            .map(|n| {
                let (x, y) = self.place(n as u32, plane.luma);
                Piece {
                    port: inputs.port(n, index),
                    size: plane.size,
                    at: ((x / sx) as i32, (y / sy) as i32),
                }
            })
            .collect();
        place(inputs.graph(), &pieces, size, fill)
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Tile {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Tiling {
            tile: *self,
            filter: Arc::new(*self),
        })
    }

    fn makes(&self) -> Option<(Arc<dyn Filter>, usize)> {
        Some((Arc::new(*self), self.frames as usize))
    }

    fn frames(&self, inputs: &[u64], _: &[Video]) -> Option<u64> {
        Some(inputs[0].div_ceil(u64::from(self.frames)))
    }
}

struct Tiling {
    tile: Tile,
    filter: Arc<dyn Filter>,
}

impl Passing for Tiling {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        let Some(mut first) = upstream.next(0)? else {
            return Ok(None);
        };
        let mut pictures = vec![first.picture.clone()];
        while pictures.len() < self.tile.frames as usize {
            let Some(shot) = upstream.next(0)? else { break };
            first.duration += shot.duration;
            pictures.push(shot.picture);
        }
        first.picture = upstream.make(&self.filter, &[], pictures);
        Ok(Some(first))
    }
}
