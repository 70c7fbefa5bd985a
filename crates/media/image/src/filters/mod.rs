//! The filters: one file each, one line each in [`TABLE`].

use std::sync::Arc;

use crate::format::{Format, Ratio, Size, Timing, Video};
pub use crate::graph::args::Arg;
use crate::graph::args::{ArgError, Args};
use crate::graph::bind::Inputs;
use crate::graph::plane::{PlaneGraph, Port};
use crate::io::ffmpeg::Picture;
use crate::sequence::{Moment, Sequence, Still};
use crate::stage::Plane;

mod aspect;
mod binary;
mod blur;
mod boxblur;
pub mod bwdif;
mod concat;
pub(crate) mod constant;
mod crop;
pub(crate) mod deinterlace;
mod denoise;
mod drawbox;
pub(crate) mod enabled;
mod eq;
pub mod fade;
pub mod ffmpeg;
mod flip;
pub(crate) mod foreign;
mod format;
mod fps;
mod framestep;
mod gaussian;
mod hue;
mod interlaced;
mod lut;
mod magnitude;
mod median;
mod mosaic;
mod movie;
mod negate;
mod null;
mod over;
pub(crate) mod overlay;
mod pad;
mod point;
pub mod point_op;
mod posterize;
mod repeat;
mod resize;
mod reverse;
mod rotate;
mod select;
mod setpts;
mod shrink;
mod sobel;
mod sobel_x;
mod sobel_y;
pub(crate) mod split;
mod stack;
mod stencil;
mod tags;
mod threshold;
mod tile;
mod tpad;
mod transpose;
mod trim;
mod undistort;
mod unsharp;
mod vignette;
mod warp;
mod window;

/// Every filter, in the order in which users see them. A new filter is a file here and a line in this table.
pub const TABLE: &[Entry] = &[
    blur::ENTRY,
    gaussian::ENTRY,
    sobel_x::ENTRY,
    sobel_y::ENTRY,
    sobel::ENTRY,
    threshold::ENTRY,
    undistort::ENTRY,
    crop::ENTRY,
    rotate::ENTRY,
    resize::ENTRY,
    posterize::ENTRY,
    binary::ENTRY,
    flip::ENTRY,
    transpose::ENTRY,
    pad::ENTRY,
    overlay::ENTRY,
    eq::ENTRY,
    unsharp::ENTRY,
    median::ENTRY,
    denoise::ENTRY,
    interlaced::DEINTERLACE,
    boxblur::ENTRY,
    negate::ENTRY,
    lut::ENTRY,
    hue::ENTRY,
    drawbox::ENTRY,
    vignette::ENTRY,
    fade::ENTRY,
    null::ENTRY,
    fps::ENTRY,
    setpts::ENTRY,
    trim::ENTRY,
    select::ENTRY,
    framestep::ENTRY,
    reverse::ENTRY,
    repeat::ENTRY,
    tpad::ENTRY,
    tile::ENTRY,
    format::ENTRY,
    aspect::SETSAR,
    aspect::SETDAR,
    tags::SETFIELD,
    tags::SETTB,
    tags::FIFO,
    split::ENTRY,
    stack::HSTACK,
    stack::VSTACK,
    stack::XSTACK,
    concat::ENTRY,
    movie::ENTRY,
];

/// `overlay` of a second stream, whose name is that of a filter with a picture.
pub static OVER: Entry = over::ENTRY;

/// `split`, which shares an input as well.
pub(crate) static SPLIT: Entry = split::ENTRY;

/// Every filter by every entry: [`TABLE`], then FFmpeg's names.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().chain(ffmpeg::NAMES)
}

/// Filters of whole streams, and of their formats, which do nothing to a frame by itself.
const OF_STREAMS: &[&str] = &[
    "format",
    "fps",
    "setpts",
    "trim",
    "select",
    "framestep",
    "reverse",
    "loop",
    "tpad",
    "tile",
    "setsar",
    "setdar",
    "setfield",
    "settb",
    "fifo",
    "split",
    "hstack",
    "vstack",
    "xstack",
    "concat",
    "movie",
    "fade",
    "bwdif",
    "yadif",
];

impl Entry {
    /// Whether it is a filter of whole streams or of their formats, which does nothing to a frame by itself.
    pub fn is_of_streams(&self) -> bool {
        OF_STREAMS.contains(&self.name)
    }
}

/// A filter as the graph parser and `evener filters` know it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name in a graph.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line for a listing.
    pub about: &'static str,
    /// Arguments, in the order of those without a name.
    pub args: &'static [Arg],
    /// Which planes it is applied to.
    pub role: Role,
    /// Makes the filter from checked arguments.
    pub build: fn(&Args<'_>) -> Result<Box<dyn Filter>, ArgError>,
}

/// Which planes a filter is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Every plane at its own size (geometry, smoothing).
    EveryPlane,
    /// Luma; chroma becomes 0.5 (edges, brightness).
    Luma,
}

/// Which frames of several streams belong together, and when there are no more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Joined {
    /// The first stream alone says when frames begin, and when they end.
    pub led: bool,
    /// It ends with the shortest stream.
    pub shortest: bool,
    /// Once a stream has ended, frames of the first pass as they are.
    pub passes: bool,
}

/// A filter with its arguments, not yet bound to a plane.
#[allow(private_interfaces)] // Pictures are read by the crate alone.
pub trait Filter: Send + Sync {
    /// Streams that it reads.
    fn inputs(&self) -> usize {
        1
    }

    /// Streams that it gives.
    fn outputs(&self) -> usize {
        1
    }

    /// Format and timing of the frames that it gives. `Err` says in one line why the arguments do not fit.
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        let size = self.output_size(&Plane::of_video(&inputs[0], 0))?;
        let aspect = timing.aspect.map(|own| match self.turns() {
            false => own,
            true => Ratio {
                num: own.den,
                den: own.num,
            },
        });
        let aspect = match (aspect, self.stretches()) {
            (Some(own), true) => stretched(own, &format, size),
            (aspect, _) => aspect,
        };
        let (width, height) = (size.w, size.h);
        Ok(Video {
            format: Format {
                width,
                height,
                ..format
            },
            timing: Timing { aspect, ..timing },
        })
    }

    /// Size of the output on a plane. `Err` says in one line why the arguments do not fit.
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        Ok(plane.size)
    }

    /// Adds the stages of this filter, which read `input`, to the graph of a plane. `size` is that of
    /// [`Filter::output_size`].
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let _ = (plane, size, graph);
        input
    }

    /// The same for a filter that reads several streams or planes.
    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        match inputs.own() {
            // What is known beforehand stays so.
            Port::Constant(value) => Port::Constant(value),
            input => self.expand(plane, size, input, inputs.graph()),
        }
    }

    /// Whether the picture is stretched to its size, so that the aspect of a sample changes.
    fn stretches(&self) -> bool {
        false
    }

    /// Whether rows become columns, which inverts the aspect of a sample.
    fn turns(&self) -> bool {
        false
    }

    /// Which frames of several streams belong together.
    fn joined(&self) -> Joined {
        Joined::default()
    }

    /// The file that it reads, if it is a stream by itself.
    fn file(&self) -> Option<&str> {
        None
    }

    /// Whether its second stream may be a picture.
    fn takes_picture(&self) -> bool {
        false
    }

    /// The same with a picture as the second stream.
    fn with_picture(&self, picture: Arc<Picture>) -> Option<Arc<dyn Filter>> {
        let _ = picture;
        None
    }

    /// The filter as one that passes on frames, and computes none.
    fn sequence(&self) -> Option<&dyn Sequence> {
        None
    }

    /// What the filter is at a moment, if it changes with time.
    fn at(&self, moment: &Moment) -> Option<Still> {
        let _ = moment;
        None
    }
}

/// The aspect of samples of `own`, if frames of `format` become `size`: that of the picture stays.
fn stretched(own: Ratio, format: &Format, size: Size) -> Option<Ratio> {
    let [num, den, w, h] = [own.num, own.den, format.width, format.height].map(u64::from);
    let [to_w, to_h] = [size.w, size.h].map(u64::from);
    let Some(sides) = Ratio::of(w * to_h, h * to_w) else {
        return Some(own);
    };
    Ratio::of(num * u64::from(sides.num), den * u64::from(sides.den)).or(Some(own))
}
