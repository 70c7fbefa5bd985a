//! A source as these kernels address it.

use crate::row_view::{ContiguousRows, RowView};

/// Up to here every whole number is a float.
const EXACT: i32 = 1 << f32::MANTISSA_DIGITS;

/// A source that the kernel can address: at least 2 x 2 samples there, offsets within 31 bits, columns and rows that
/// are exact as floats.
pub(super) struct SourceView<'a> {
    /// From the left column and the upper row on.
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
    /// Smallest and largest left column and upper row whose taps are all there.
    pub(super) x: (i32, i32),
    pub(super) y: (i32, i32),
}

impl<'a> SourceView<'a> {
    pub(super) fn new(lines: &RowView<'a>) -> Option<Self> {
        let ContiguousRows {
            data,
            stride,
            rect,
            first,
        } = lines.contiguous()?;
        let exact = rect.x1.max(rect.y1) <= EXACT;
        let fits = rect.width() >= 2 && rect.height() >= 2 && data.len() <= i32::MAX as usize;
        (fits && exact).then(|| SourceView {
            data: &data[(rect.y0 - first) as usize * stride..],
            stride,
            x: (rect.x0, rect.x1 - 2),
            y: (rect.y0, rect.y1 - 2),
        })
    }
}
