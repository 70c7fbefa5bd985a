//! `hstack`, `vstack` and `xstack`: streams side by side.

use super::mosaic::{Piece, place};
use super::{Arg, Entry, Filter, Joined, Role};
use crate::format::{Format, Size, Video};
use crate::graph::bind::Inputs;
use crate::graph::plane::Port;
use crate::stage::Plane;

const INPUTS: Arg = Arg::optional("inputs", "2", "how many streams");
const SHORTEST: Arg = Arg::optional("shortest", "0", "1: it ends with the shortest stream");

pub const HSTACK: Entry = Entry {
    name: "hstack",
    aliases: &[],
    about: "streams side by side; all have one height",
    args: &[INPUTS, SHORTEST],
    role: Role::EveryPlane,
    build: |args| {
        let shortest = args.integer("shortest", 0..=1)? == 1;
        let streams = args.integer("inputs", 2..=64)? as usize;
        Ok(Box::new(Stack {
            streams,
            shortest,
            layout: Layout::Row,
        }))
    },
};

pub const VSTACK: Entry = Entry {
    name: "vstack",
    about: "streams one below the other; all have one width",
    build: |args| {
        let shortest = args.integer("shortest", 0..=1)? == 1;
        let streams = args.integer("inputs", 2..=64)? as usize;
        Ok(Box::new(Stack {
            streams,
            shortest,
            layout: Layout::Column,
        }))
    },
    ..HSTACK
};

pub const XSTACK: Entry = Entry {
    name: "xstack",
    about: "streams wherever a layout says",
    args: &[
        INPUTS,
        Arg::optional(
            "layout",
            "0_0|w0_0",
            "the column and row of each stream, as 0_0|w0_0|0_h0|w0_h0; or `grid=2x2`",
        ),
        Arg::optional("grid", "none", "columns and rows, as 2x2"),
        SHORTEST,
    ],
    build: |args| {
        let shortest = args.integer("shortest", 0..=1)? == 1;
        let streams = args.integer("inputs", 2..=64)? as usize;
        let grid = args.maybe("grid", grid)?;
        let places = args.parsed("layout", |text| places(text, streams, grid.is_some()))?;
        if let Some((columns, rows)) = grid
            && columns * rows != streams
        {
            let wrong = format!("{columns}x{rows} is not the number of streams, {streams}");
            return args.parsed("grid", |_| Err(wrong));
        }
        let layout = match grid {
            Some((columns, _)) => Layout::Grid(columns),
            None => Layout::Places(places),
        };
        Ok(Box::new(Stack {
            streams,
            shortest,
            layout,
        }))
    },
    ..HSTACK
};

fn grid(text: &str) -> Result<(usize, usize), String> {
    let sides = text.split_once('x').and_then(|(w, h)| {
        let side = |text: &str| text.parse::<usize>().ok().filter(|n| (1..=64).contains(n));
        Some((side(w)?, side(h)?))
    });
    sides.ok_or_else(|| "it must be columns and rows, as 2x2".to_owned())
}

/// A sum of widths or heights of streams, and of numbers.
#[derive(Clone, Debug)]
struct Offset(Vec<Term>);

#[derive(Clone, Copy, Debug)]
enum Term {
    Width(usize),
    Height(usize),
    Samples(u32),
}

impl Offset {
    fn parse(text: &str, streams: usize) -> Result<Offset, String> {
        let term = |text: &str| {
            let stream = |text: &str| text.parse().ok().filter(|&n: &usize| n < streams);
            let term = match (text.strip_prefix('w'), text.strip_prefix('h')) {
                (Some(n), _) => stream(n).map(Term::Width),
                (_, Some(n)) => stream(n).map(Term::Height),
                _ => text.parse().ok().filter(|&n| n <= 65536).map(Term::Samples),
            };
            term.ok_or_else(|| format!("`{text}` is no width, height or number of samples"))
        };
        text.split('+')
            .map(term)
            .collect::<Result<_, _>>()
            .map(Offset)
    }

    fn samples(&self, sizes: &[Size]) -> u32 {
        let term = |term: &Term| match *term {
            Term::Width(stream) => sizes[stream].w,
            Term::Height(stream) => sizes[stream].h,
            Term::Samples(samples) => samples,
        };
        self.0.iter().map(term).fold(0, u32::saturating_add)
    }
}

fn places(
    text: &str,
    streams: usize,
    given_otherwise: bool,
) -> Result<Vec<(Offset, Offset)>, String> {
    if given_otherwise {
        return Ok(Vec::new());
    }
    let place = |text: &str| {
        let (x, y) = text
            .split_once('_')
            .ok_or_else(|| format!("`{text}` is not a place, such as w0_0"))?;
        Ok((Offset::parse(x, streams)?, Offset::parse(y, streams)?))
    };
    let places: Vec<_> = text.split('|').map(place).collect::<Result<_, String>>()?;
    match places.len() == streams {
        true => Ok(places),
        false => Err(format!(
            "it has {} places for {streams} streams",
            places.len()
        )),
    }
}

enum Layout {
    Row,
    Column,
    Grid(usize),
    Places(Vec<(Offset, Offset)>),
}

struct Stack {
    streams: usize,
    shortest: bool,
    layout: Layout,
}

impl Stack {
    /// The places of frames of `sizes`.
    fn places(&self, sizes: &[Size]) -> Vec<(u32, u32)> {
        let before = |n: usize, side: fn(&Size) -> u32| {
            sizes[..n].iter().map(side).fold(0, u32::saturating_add)
        };
        let place = |n: usize| match &self.layout {
            Layout::Row => (before(n, |size| size.w), 0),
            Layout::Column => (0, before(n, |size| size.h)),
            Layout::Grid(columns) => {
                let (column, row) = ((n % columns) as u32, (n / columns) as u32);
                (column * sizes[0].w, row * sizes[0].h)
            }
            Layout::Places(places) => {
                let (x, y) = &places[n];
                (x.samples(sizes), y.samples(sizes))
            }
        };
        (0..sizes.len()).map(place).collect()
    }

    fn size(&self, sizes: &[Size]) -> Size {
        let places = self.places(sizes);
        let ends = places.iter().zip(sizes);
        ends.fold(Size { w: 0, h: 0 }, |all, (&(x, y), size)| Size {
            w: all.w.max(x.saturating_add(size.w)),
            h: all.h.max(y.saturating_add(size.h)),
        })
    }
}

impl Filter for Stack {
    fn inputs(&self) -> usize {
        self.streams
    }

    fn joined(&self) -> Joined {
        Joined {
            shortest: self.shortest,
            ..Joined::default()
        }
    }

    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let first = inputs[0];
        let differs = |video: &&Video| {
            let Format { chroma, .. } = video.format;
            chroma != first.format.chroma
        };
        if let Some(other) = inputs.iter().find(differs) {
            return Err(format!(
                "one stream is {} and another {}; give both one format",
                first.format, other.format
            ));
        }
        let sizes: Vec<Size> = inputs
            .iter()
            .map(|video| video.format.plane_size(0))
            .collect();
        let (side, of): (&str, fn(&Size) -> u32) = match &self.layout {
            Layout::Row => ("height", |size| size.h),
            Layout::Column => ("width", |size| size.w),
            Layout::Grid(_) | Layout::Places(_) => ("", |_| 0),
        };
        if let Some(other) = sizes.iter().find(|size| of(size) != of(&sizes[0])) {
            return Err(format!(
                "one stream is {} and another {other}; they need one {side}: scale one of them first",
                sizes[0]
            ));
        }
        let (sx, sy) = first.format.chroma.subsampling();
        if self
            .places(&sizes)
            .iter()
            .any(|(x, y)| x % sx != 0 || y % sy != 0)
        {
            return Err(
                "a stream would begin between two chroma samples; give streams even sides"
                    .to_owned(),
            );
        }
        let Size { w, h } = self.size(&sizes);
        Ok(Video {
            format: Format {
                width: w,
                height: h,
                ..first.format
            },
            ..first
        })
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        let index = inputs.plane();
        let formats: Vec<Format> = (0..self.streams).map(|n| inputs.format(n)).collect();
        let sizes: Vec<Size> = formats.iter().map(|format| format.plane_size(0)).collect();
        let (sx, sy) = plane.subsampling;
        let places = self.places(&sizes).into_iter().zip(&formats).enumerate();
        let pieces: Vec<Piece> = places
            .map(|(n, ((x, y), format))| Piece {
                port: inputs.port(n, index),
                size: format.plane_size(index),
                at: ((x / sx) as i32, (y / sy) as i32),
            })
            .collect();
        place(inputs.graph(), &pieces, size, plane.fill)
    }
}
