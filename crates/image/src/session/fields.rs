//! Whether a graph keeps the two fields of interlaced frames separate.

use crate::filters::deinterlace;
use crate::format::Timing;
use crate::geometry::Rect;
use crate::graph::Bound;
use crate::graph::plane::Node;

/// What becomes of the fields of interlaced frames.
pub(super) enum Fields {
    /// There are none, or they stay apart.
    Kept,
    /// They are made whole frames, as the user asked for.
    Joined,
    /// They are mixed; a note about it, as a part of a sentence.
    Mixed(String),
}

/// What `bound` does with the fields of frames.
pub(super) fn of(timing: &Timing, bound: &Bound) -> Fields {
    match mixing(timing, bound) {
        None => Fields::Kept,
        Some(deinterlace::NAME) => Fields::Joined,
        Some(stage) => Fields::Mixed(format!(
            "it is interlaced, and {stage} mixes the fields of a frame; \
             to have whole frames before, begin with deinterlace, or run ffmpeg -i FILE -vf bwdif first"
        )),
    }
}

/// The first stage that mixes fields.
fn mixing(timing: &Timing, bound: &Bound) -> Option<&'static str> {
    if !['t', 'b', 'm'].contains(&timing.interlace) {
        return None;
    }
    let nodes = bound.planes.iter().flat_map(|plane| &plane.nodes);
    let stage = nodes.into_iter().find(|node| !keeps_field(node))?;
    Some(stage.stage.name())
}

/// Whether each row is made from one row of the same field alone.
fn keeps_field(node: &Node) -> bool {
    let middle = node.size.h as i32 / 2;
    let from = |y: i32| {
        let out = Rect {
            x0: 0,
            y0: y,
            x1: node.size.w as i32,
            y1: y + 1,
        };
        let rows = node.stage.source(out);
        (rows.height() == 1).then_some(rows.y0 - y)
    };
    let (one, next) = (from(middle), from(middle + 1));
    one == next && one.is_some_and(|shift| shift % 2 == 0)
}
