//! Whether a graph keeps the two fields of interlaced frames separate.

use crate::filters::{bwdif, deinterlace};
use crate::format::Timing;
use crate::geometry::Rect;
use crate::graph::Bound;
use crate::graph::plane::{Node, Port};

/// Stages that make whole frames.
const DEINTERLACERS: [&str; 2] = [deinterlace::NAME, bwdif::NAME];

/// What becomes of the fields of interlaced frames.
pub(super) enum Fields {
    /// There are none, or they stay apart.
    Kept,
    /// They stay apart, and the first one becomes the second, as where rows are flipped.
    Swapped,
    /// They are made whole frames, as the user asked for.
    Joined,
    /// They are mixed; a note about it, as a part of a sentence.
    Mixed(String),
}

/// What `bound` does with the fields of frames.
pub(super) fn of(timing: &Timing, bound: &Bound) -> Fields {
    if !['t', 'b', 'm'].contains(&timing.interlace) {
        return Fields::Kept;
    }
    let mut swapped = None;
    let planes = bound.planes.iter();
    for plane in planes.filter(|plane| !matches!(plane.result, Port::Constant(_))) {
        let mut own = false;
        for node in &plane.nodes {
            match swaps(node) {
                Some(swaps) => own ^= swaps,
                None if DEINTERLACERS.contains(&node.stage.name()) => return Fields::Joined,
                None => return mixed(node.name()),
            }
        }
        // Chroma of half the rows may swap fields where luma does not.
        if *swapped.get_or_insert(own) != own {
            let turned = plane.nodes.iter().find(|node| swaps(node) == Some(true));
            return mixed(turned.or(plane.nodes.first()).map_or("it", Node::name));
        }
    }
    match swapped {
        Some(true) => Fields::Swapped,
        _ => Fields::Kept,
    }
}

fn mixed(filter: &str) -> Fields {
    Fields::Mixed(format!(
        "it is interlaced, and {filter} mixes the fields of a frame; \
         to have whole frames before, begin with deinterlace, or run ffmpeg -i FILE -vf bwdif first"
    ))
}

/// Whether each row is made from one row of the other field alone; `None` if from rows of both, or of either.
fn swaps(node: &Node) -> Option<bool> {
    let middle = node.size.h as i32 / 2;
    let from = |y: i32| {
        let out = Rect {
            x0: 0,
            y0: y,
            x1: node.size.w as i32,
            y1: y + 1,
        };
        let rows = node.stage.source(out);
        (rows.height() == 1).then_some((rows.y0 - y) % 2 != 0)
    };
    let (one, next) = (from(middle), from(middle + 1));
    one.filter(|_| one == next)
}
