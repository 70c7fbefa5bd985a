//! The rows that a stage reads: a whole plane, or a ring of the latest rows.

use crate::geometry::Rect;

/// Rows of f32 samples addressed by their position in the plane.
///
/// Row `y` of the plane lies at `(y & mask) * stride`, so a whole plane (`mask` all ones) and a ring
/// of 2ⁿ rows are read alike. Column `x` lies at `x - rect.x0`.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    data: &'a [f32],
    stride: usize,
    mask: usize,
    rect: Rect,
    first: i32,
    contiguous: bool,
}

impl<'a> RowView<'a> {
    /// A whole plane: row 0 starts at `data[0]`, and each row `stride` after the one before.
    ///
    /// # Panics
    /// If `data` is shorter than the plane, or `stride` is less than its width.
    pub fn plane(data: &'a [f32], stride: usize, rect: Rect) -> Self {
        assert!(rect.x0 == 0 && rect.y0 == 0 && stride >= rect.width());
        assert!(rect.is_empty() || data.len() >= stride * (rect.height() - 1) + rect.width());
        RowView {
            data,
            stride,
            mask: usize::MAX,
            rect,
            first: 0,
            contiguous: true,
        }
    }

    /// A ring of rows, whose number is a power of two, that holds the rows of `rect`. Row `y` is in slot
    /// `(y - first) mod rows`.
    ///
    /// # Panics
    /// If the number of rows is no power of two or less than the height of `rect`, or `stride` is less than its width.
    pub fn ring(data: &'a [f32], stride: usize, rect: Rect, first: i32) -> Self {
        let rows = data.len().checked_div(stride).unwrap_or(1);
        assert!(rows.is_power_of_two() && rows >= rect.height() && stride >= rect.width());
        assert!(first <= rect.y0);
        RowView {
            data,
            stride,
            mask: rows - 1,
            rect,
            first,
            contiguous: false,
        }
    }

    /// The contiguous rows of `rect`, with row `first` at the start of `data`.
    ///
    /// # Panics
    /// If they do not all lie in `data`, or `stride` is less than the width of `rect`.
    pub fn block(data: &'a [f32], stride: usize, rect: Rect, first: i32) -> Self {
        assert!(first <= rect.y0 && stride >= rect.width());
        assert!(rect.is_empty() || (rect.y1 - first) as usize * stride <= data.len());
        RowView {
            data,
            stride,
            mask: usize::MAX,
            rect,
            first,
            contiguous: true,
        }
    }

    /// No rows, for stages whose outputs are all fill.
    pub fn empty() -> RowView<'static> {
        RowView {
            data: &[],
            stride: 0,
            mask: usize::MAX,
            rect: Rect::default(),
            first: 0,
            contiguous: false,
        }
    }

    /// The samples there are.
    #[inline]
    pub fn rect(&self) -> Rect {
        self.rect
    }

    /// Row `y` over all columns of [`RowView::rect`].
    ///
    /// # Panics
    /// If the row is not there.
    #[inline]
    pub fn row(&self, y: i32) -> &'a [f32] {
        assert!(
            y >= self.rect.y0 && y < self.rect.y1,
            "row {y} of {:?}",
            self.rect
        );
        let start = (((y - self.first) as usize) & self.mask) * self.stride;
        &self.data[start..start + self.rect.width()]
    }

    /// One sample.
    #[inline]
    pub fn at(&self, x: i32, y: i32) -> f32 {
        self.row(y)[(x - self.rect.x0) as usize]
    }

    /// The rows for a kernel that addresses them itself: row `y` starts at `(y - first) * stride`, for all rows of the
    /// rectangle. `None` for rings.
    #[inline]
    pub(crate) fn contiguous(&self) -> Option<ContiguousRows<'a>> {
        let &RowView {
            data,
            stride,
            rect,
            first,
            contiguous,
            ..
        } = self;
        // `plane` and `block` have checked that all rows of `rect` lie in `data`.
        contiguous.then_some(ContiguousRows {
            data,
            stride,
            rect,
            first,
        })
    }
}

/// Contiguous rows, see [`RowView::contiguous`].
pub(crate) struct ContiguousRows<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub rect: Rect,
    pub first: i32,
}
