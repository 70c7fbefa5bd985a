//! The rows of a node that a tile still needs.

use std::ops::Range;

use crate::exec::regions::ring_slots;
use crate::geometry::Rect;
use crate::kernels::STRIP;
use crate::row_view::RowView;

/// The latest rows of a node's output.
#[derive(Default)]
pub(super) struct Ring {
    data: Vec<f32>,
    /// Samples from one row to the next.
    stride: usize,
    /// Slots; a power of two unless `whole`.
    slots: usize,
    /// Whether each row has a slot of its own.
    whole: bool,
    /// The row in slot 0 and the ones after it, with all columns that are kept.
    area: Rect,
    /// The rows that are there, without a gap.
    held: Range<i32>,
}

impl Ring {
    pub(super) fn view(&self) -> RowView<'_> {
        let rect = Rect {
            y0: self.held.start,
            y1: self.held.end,
            ..self.area
        };
        let data = &self.data[..self.slots * self.stride];
        if self.whole {
            RowView::block(data, self.stride, rect, self.area.y0)
        } else {
            RowView::ring(data, self.stride, rect, self.area.y0)
        }
    }

    /// Rows `rows` of the plane, at most a strip of them, over columns `columns`.
    pub(super) fn rows(&mut self, rows: &Range<i32>, columns: &Range<i32>) -> [&mut [f32]; STRIP] {
        let first = (rows.start - self.area.y0) as usize;
        let slot = if self.whole {
            first
        } else {
            first & (self.slots - 1)
        };
        let within = (columns.start - self.area.x0) as usize..(columns.end - self.area.x0) as usize;
        let data = &mut self.data[..self.slots * self.stride];
        let (begin, end) = data.split_at_mut(slot * self.stride);
        let mut slots = end
            .chunks_exact_mut(self.stride)
            .chain(begin.chunks_exact_mut(self.stride))
            .take(rows.len());
        std::array::from_fn(|_| match slots.next() {
            Some(row) => &mut row[within.clone()],
            None => &mut [],
        })
    }

    /// Makes the ring ready for a tile that needs `need` of the node, and in each block the rows `demands`. With `whole` no
    /// row takes the place of another.
    pub(super) fn prepare<'a>(
        &mut self,
        need: Rect,
        whole: bool,
        demands: impl Iterator<Item = &'a Range<i32>>,
    ) {
        self.area = need;
        self.whole = whole;
        self.slots = if whole {
            need.height()
        } else {
            ring_slots(demands)
        };
        // Rows begin at cache lines.
        self.stride = need.width().next_multiple_of(16);
        self.held = need.y0..need.y0;
        let len = self.slots * self.stride;
        if self.data.len() < len {
            self.data.resize(len, 0.0);
        }
    }

    /// Whether it holds a row.
    pub(super) fn is_empty(&self) -> bool {
        self.slots == 0 || self.held.is_empty()
    }

    /// The rows of `wanted` that are not there. Drops all rows if `wanted` does not continue them.
    pub(super) fn missing(&mut self, wanted: &Range<i32>) -> Range<i32> {
        let continues = wanted.start >= self.held.start && wanted.start <= self.held.end;
        if !continues {
            self.held = wanted.start..wanted.start;
        }
        self.held.end..wanted.end.max(self.held.end)
    }

    /// Notes that the rows `computed` are there, for a block that reads `wanted`.
    pub(super) fn keep(&mut self, wanted: &Range<i32>, computed: Range<i32>) {
        self.held.end = computed.end;
        self.held.start = self.held.start.max(computed.end - self.slots as i32);
        debug_assert!(self.held.start <= wanted.start);
    }
}
