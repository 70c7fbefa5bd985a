//! Stages that move samples and compute none. A chain of them is one move, of codes as they are.
#![forbid(unsafe_code)]

use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};

/// Where the samples of an output come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moves {
    /// Rows become columns: columns of the input follow from rows of the output, and rows from columns.
    pub turned: bool,
    /// The column of the input: the first number, and the second, which is 1 or -1, times that of the output.
    pub column: (i32, i32),
    /// The row of the input, likewise.
    pub row: (i32, i32),
    /// The outputs that come from the input, and the value of all others.
    pub inside: Option<(Rect, f32)>,
}

impl Moves {
    /// The input itself.
    pub const SAME: Moves = Moves {
        turned: false,
        column: (0, 1),
        row: (0, 1),
        inside: None,
    };

    /// What the stages of a graph do together, if they only move samples.
    pub fn of(graph: &PlaneGraph) -> Option<Moves> {
        let mut all = Moves::SAME;
        if !graph.is_of_one_plane() || graph.recodes {
            return None;
        }
        let mut before = Port::Source;
        for (i, node) in graph.nodes.iter().enumerate() {
            if node.inputs != [before] {
                return None;
            }
            all = node.stage.moves()?.after(all)?;
            before = Port::Stage(i);
        }
        (graph.result == before).then_some(all)
    }

    /// What is done by `before` and then by `self`, if there is one such move.
    pub(crate) fn after(self, before: Moves) -> Option<Moves> {
        let axis =
            |own: (i32, i32), before: (i32, i32)| (before.0 + before.1 * own.0, before.1 * own.1);
        let (column, row) = match before.turned {
            true => (self.row, self.column),
            false => (self.column, self.row),
        };
        let inside = match (self.inside, before.inside) {
            (own, None) => own,
            (None, Some((rect, value))) => Some((self.outputs(rect), value)),
            (Some((own, value)), Some((rect, other))) if value == other => {
                Some((own.intersect(&self.outputs(rect)), value))
            }
            _ => return None,
        };
        Some(Moves {
            turned: self.turned != before.turned,
            column: axis(column, before.column),
            row: axis(row, before.row),
            inside,
        })
    }

    /// The outputs that come from `inputs`.
    fn outputs(&self, inputs: Rect) -> Rect {
        let axis = |(at, step): (i32, i32), low: i32, end: i32| match step {
            1 => (low - at, end - at),
            _ => (at - end + 1, at - low + 1),
        };
        let columns = axis(self.column, inputs.x0, inputs.x1);
        let rows = axis(self.row, inputs.y0, inputs.y1);
        let ((x0, x1), (y0, y1)) = match self.turned {
            true => (rows, columns),
            false => (columns, rows),
        };
        Rect { x0, y0, x1, y1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIRROR: Moves = Moves {
        column: (9, -1),
        ..Moves::SAME
    };
    const TURN: Moves = Moves {
        turned: true,
        row: (7, -1),
        ..Moves::SAME
    };

    fn inside(x0: i32, y0: i32, x1: i32, y1: i32, value: f32) -> Option<(Rect, f32)> {
        Some((Rect { x0, y0, x1, y1 }, value))
    }

    #[test]
    fn two_turns_are_one_move() {
        // A plane of 10x8. Its turn has 8x10 samples.
        let again = Moves {
            row: (9, -1),
            ..TURN
        };
        let half = again.after(TURN).unwrap();
        assert_eq!(
            (half.turned, half.column, half.row),
            (false, (9, -1), (7, -1))
        );
        assert_eq!(MIRROR.after(MIRROR), Some(Moves::SAME));
    }

    #[test]
    fn what_is_around_moves_as_well() {
        // 10x8 in the lower right of 16x12, mirrored, and turned.
        let pad = Moves {
            column: (-6, 1),
            row: (-4, 1),
            inside: inside(6, 4, 16, 12, 0.5),
            ..Moves::SAME
        };
        let mirror = Moves {
            column: (15, -1),
            ..Moves::SAME
        };
        let mirrored = mirror.after(pad).unwrap();
        assert_eq!(mirrored.column, (9, -1));
        assert_eq!(mirrored.inside, inside(0, 4, 10, 12, 0.5));
        let turn = Moves {
            turned: true,
            ..Moves::SAME
        };
        assert_eq!(
            turn.after(mirrored).unwrap().inside,
            inside(4, 0, 12, 10, 0.5)
        );
        let other = Moves {
            inside: inside(0, 0, 16, 12, 0.0),
            ..Moves::SAME
        };
        assert_eq!(other.after(pad), None);
    }
}
