//! What a stage reads: rows of a plane, whole or in a ring of the latest ones.

use crate::geometry::Rect;

/// Rows of f32 samples addressed by their position in the plane.
///
/// Row `y` of the plane lies at `(y & mask) * stride`, so a whole plane (`mask` all ones) and a ring
/// of 2ⁿ rows are read alike. Column `x` lies at `x - rect.x0`.
#[derive(Clone, Copy)]
pub struct Lines<'a> {
    data: &'a [f32],
    stride: usize,
    mask: usize,
    rect: Rect,
    first: i32,
    paired: bool,
}

impl<'a> Lines<'a> {
    /// A whole plane: row 0 starts at `data[0]`, rows follow without padding.
    ///
    /// # Panics
    /// If `data` is shorter than the plane.
    pub fn plane(data: &'a [f32], rect: Rect) -> Self {
        assert!(rect.x0 == 0 && rect.y0 == 0 && data.len() >= rect.width() * rect.height());
        Lines { data, stride: rect.width(), mask: usize::MAX, rect, first: 0, paired: true }
    }

    /// A ring of `slots` rows, a power of two, holding the rows of `rect` that are still there.
    /// Row `y` lies in slot `(y - first) mod slots`. Where `data` has one more slot, that one repeats slot 0,
    /// so that the row below any row follows it at once.
    ///
    /// # Panics
    /// If `slots` is no power of two or less than the height of `rect`, `stride` is less than its width,
    /// or `data` has neither `slots` nor `slots + 1` rows.
    pub fn ring(data: &'a [f32], stride: usize, slots: usize, rect: Rect, first: i32) -> Self {
        assert!(slots.is_power_of_two() && slots >= rect.height() && stride >= rect.width());
        assert!(data.len() == slots * stride || data.len() == (slots + 1) * stride);
        assert!(first <= rect.y0);
        let paired = data.len() == (slots + 1) * stride;
        Lines { data, stride, mask: slots - 1, rect, first, paired }
    }

    /// Nothing: for stages whose outputs are all fill.
    pub fn empty() -> Lines<'static> {
        Lines { data: &[], stride: 0, mask: usize::MAX, rect: Rect::default(), first: 0, paired: false }
    }

    /// The samples there are.
    pub fn rect(&self) -> Rect {
        self.rect
    }

    /// Row `y` over all columns of [`Lines::rect`].
    ///
    /// # Panics
    /// If the row is not there.
    #[inline]
    pub fn row(&self, y: i32) -> &'a [f32] {
        assert!(y >= self.rect.y0 && y < self.rect.y1, "row {y} of {:?}", self.rect);
        let start = (((y - self.first) as usize) & self.mask) * self.stride;
        &self.data[start..start + self.rect.width()]
    }

    /// One sample.
    #[inline]
    pub fn at(&self, x: i32, y: i32) -> f32 {
        self.row(y)[(x - self.rect.x0) as usize]
    }

    /// How a kernel addresses rows itself: row `y` starts at `((y - first) & mask) * stride`, the next one a stride
    /// later. `None` where the next row may lie elsewhere.
    pub(crate) fn pairs(&self) -> Option<Pairs<'a>> {
        let &Lines { data, stride, mask, rect, first, paired } = self;
        // All rows of `rect` lie in `data`, whichever constructor made this.
        paired.then_some(Pairs { data, stride, mask, rect, first })
    }
}

/// Rows that a kernel addresses itself, see [`Lines::pairs`].
pub(crate) struct Pairs<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub mask: usize,
    pub rect: Rect,
    pub first: i32,
}
