//! Planes beside and over each other, as `hstack`, `tile` and `overlay` place them.

use std::sync::Arc;

use crate::exec::tiled::MOST_INPUTS;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::stage::{RowContext, Stage};

/// A plane and where its upper left sample lies.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub port: Port,
    pub size: Size,
    pub at: (i32, i32),
}

impl Piece {
    fn rect(&self) -> Rect {
        Rect::of(self.size).shift(self.at.0, self.at.1)
    }
}

/// Puts pieces on a plane of `size`, each over those before it. Where none is, samples are `fill`.
pub fn place(graph: &mut PlaneGraph, pieces: &[Piece], size: Size, fill: f32) -> Port {
    let mut placed = Port::Constant(fill);
    let mut first = true;
    for group in pieces.chunks(MOST_INPUTS - 1) {
        let below = (!first).then_some(Piece {
            port: placed,
            size,
            at: (0, 0),
        });
        first = false;
        let all: Vec<Piece> = below.into_iter().chain(group.iter().copied()).collect();
        let ports: Vec<Port> = all.iter().map(|piece| piece.port).collect();
        let stage = Mosaic {
            pieces: all.iter().map(Piece::rect).collect(),
            fill,
        };
        placed = graph.push(Arc::new(stage), &ports, size);
    }
    placed
}

/// Output (x, y) is that of the last piece that covers it.
#[derive(Debug)]
struct Mosaic {
    pieces: Vec<Rect>,
    fill: f32,
}

impl Mosaic {
    /// The piece that is seen at an output.
    fn seen(&self, x: i32, y: i32) -> Option<usize> {
        let covers =
            |piece: &Rect| (piece.x0..piece.x1).contains(&x) && (piece.y0..piece.y1).contains(&y);
        self.pieces.iter().rposition(covers)
    }
}

/// Whether `cover` hides all of `rect`.
fn hides(cover: &Rect, rect: &Rect) -> bool {
    cover.intersect(rect) == *rect
}

impl Stage for Mosaic {
    fn name(&self) -> &'static str {
        "place"
    }

    fn inputs(&self) -> usize {
        self.pieces.len()
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        self.taps_of(0, x, y, taps);
    }

    fn taps_of(&self, input: usize, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        if self.seen(x, y) == Some(input) {
            let piece = &self.pieces[input];
            taps.push((x - piece.x0, y - piece.y0));
        }
    }

    fn piece(&self, input: usize, out: Rect) -> Option<Rect> {
        let own = &self.pieces[input];
        let part = own.intersect(&out);
        let over = &self.pieces[input + 1..];
        if part.is_empty() || over.iter().any(|cover| hides(cover, &part)) {
            return Some(Rect::default());
        }
        Some(part.shift(-own.x0, -own.y0))
    }

    fn reads(&self) -> usize {
        1
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, _: i32, _: i32, samples: &[f32]) -> f32 {
        samples.first().copied().unwrap_or(self.fill)
    }

    /// Where any input is read, each by its own columns and rows.
    fn source(&self, out: Rect) -> Rect {
        let pieces = (0..self.pieces.len()).filter_map(|input| self.piece(input, out));
        pieces.fold(Rect::default(), |all, piece| all.union(&piece))
    }

    fn row(
        &self,
        _: &mut RowContext<'_>,
        inputs: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let end = x0 + out.len() as i32;
        // From the left, the piece that is seen up to where another one begins or ends.
        let mut x = x0;
        while x < end {
            let edges = self.pieces.iter().flat_map(|piece| [piece.x0, piece.x1]);
            let next = edges.filter(|&edge| edge > x).fold(end, i32::min);
            let run = &mut out[(x - x0) as usize..(next - x0) as usize];
            match self.seen(x, y) {
                None => run.fill(self.fill),
                Some(seen) => {
                    let (piece, view) = (&self.pieces[seen], &inputs[seen]);
                    let from = (x - piece.x0 - view.rect().x0) as usize;
                    run.copy_from_slice(&view.row(y - piece.y0)[from..from + run.len()]);
                }
            }
            x = next;
        }
    }

    fn weight(&self) -> f64 {
        1.0
    }
}
