//! Whether a graph keeps the two fields of interlaced frames separate.

use crate::format::Timing;
use crate::geometry::Rect;
use crate::graph::Bound;
use crate::graph::plane::Node;

/// The note that `bound` mixes the fields of interlaced frames, as a part of a sentence; `None` if it does not.
pub(super) fn mixed_by(timing: &Timing, bound: &Bound) -> Option<String> {
    if !['t', 'b', 'm'].contains(&timing.interlace) {
        return None;
    }
    let nodes = bound.planes.iter().flat_map(|plane| &plane.nodes);
    let stage = nodes
        .into_iter()
        .find(|node| !keeps_field(node))?
        .stage
        .name();
    Some(format!(
        "it is interlaced, and {stage} mixes the fields of a frame; \
         to have whole frames before, run ffmpeg -i FILE -vf bwdif first"
    ))
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
