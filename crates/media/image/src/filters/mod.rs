//! The filters: one file each, one line each in [`TABLE`].

use crate::format::Size;
pub use crate::graph::args::Arg;
use crate::graph::args::{ArgError, Args};
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Plane;

mod binary;
mod blur;
mod crop;
pub(crate) mod deinterlace;
mod denoise;
mod eq;
pub mod ffmpeg;
mod flip;
mod gaussian;
mod magnitude;
mod median;
mod null;
mod overlay;
mod pad;
mod point;
pub mod point_op;
mod posterize;
mod resize;
mod rotate;
mod shrink;
mod sobel;
mod sobel_x;
mod sobel_y;
mod stencil;
mod threshold;
mod transpose;
mod undistort;
mod unsharp;
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
    deinterlace::ENTRY,
    null::ENTRY,
];

/// Every filter by every entry: [`TABLE`], then FFmpeg's names.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().chain(ffmpeg::NAMES)
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

/// A filter with its arguments, not yet bound to a plane.
pub trait Filter: Send + Sync {
    /// Size of the output on a plane. `Err` says in one line why the arguments do not fit.
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        Ok(plane.size)
    }

    /// Adds the stages of this filter, which read `input`, to the graph of a plane. `size` is that of
    /// [`Filter::output_size`].
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port;

    /// Whether rows become columns, which inverts the aspect of a sample.
    fn turns(&self) -> bool {
        false
    }
}
