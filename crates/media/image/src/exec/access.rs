//! The samples of a unit as executors access them: a source plane to read, and rows of a result to write.

use evener_runtime::Simd;
use evener_runtime::buffer::{RowsMut, RowsRef, Sample};

use crate::format::Size;
use crate::frame::Samples;
use crate::geometry::Rect;
use crate::kernels::convert::{self, Scale};
use crate::kernels::prefetch;
use crate::row_view::RowView;

/// A plane of the input frame, held for reading.
pub enum Source<'a> {
    /// 8-bit codes.
    U8(RowsRef<'a, u8>, Size, Scale),
    /// Codes of more than 8 bits.
    U16(RowsRef<'a, u16>, Size, Scale),
    /// Values.
    F32(RowsRef<'a, f32>, Size),
}

impl<'a> Source<'a> {
    /// Holds `samples` for reading; `scale` is that of codes.
    pub fn new(samples: &'a Samples, size: Size, scale: Scale) -> Self {
        match samples {
            Samples::U8(rows) => Source::U8(rows.read(), size, scale),
            Samples::U16(rows) => Source::U16(rows.read(), size, scale),
            Samples::F32(rows) => Source::F32(rows.read(), size),
        }
    }

    /// Width and height.
    #[inline]
    pub fn size(&self) -> Size {
        match self {
            Source::U8(_, size, _) | Source::U16(_, size, _) | Source::F32(_, size) => *size,
        }
    }

    /// Samples from the beginning of a row to that of the next.
    #[inline]
    pub fn stride(&self) -> usize {
        match self {
            Source::U8(rows, ..) => rows.stride(),
            Source::U16(rows, ..) => rows.stride(),
            Source::F32(rows, _) => rows.stride(),
        }
    }

    /// The plane itself if it holds values, so that stages read it in place.
    #[inline]
    pub fn row_view(&self) -> Option<RowView<'_>> {
        match self {
            Source::F32(rows, size) => Some(RowView::plane(rows, rows.stride(), Rect::of(*size))),
            _ => None,
        }
    }

    /// Samples (x0, y) to (x0 + n, y), all inside the plane, in place if they are values.
    #[inline]
    pub fn row(&self, y: i32, x0: i32, n: usize) -> Option<&[f32]> {
        match self {
            Source::F32(rows, _) => {
                let from = y as usize * rows.stride() + x0 as usize;
                Some(&rows[from..from + n])
            }
            _ => None,
        }
    }

    /// Copies samples (x0, y) to (x0 + to.len(), y), all inside the plane, as values.
    pub fn load(&self, simd: Simd, y: i32, x0: i32, to: &mut [f32]) {
        let from = y as usize * self.stride() + x0 as usize;
        let range = from..from + to.len();
        match self {
            Source::U8(rows, _, scale) => convert::load_u8(simd, scale, &rows[range], to),
            Source::U16(rows, _, scale) => convert::load_u16(simd, scale, &rows[range], to),
            Source::F32(rows, _) => to.copy_from_slice(&rows[range]),
        }
    }

    /// Prefetches the samples of `rect`, inside the plane.
    pub fn prefetch(&self, rect: Rect) {
        let stride = self.stride();
        for y in rect.y0..rect.y1 {
            let row = y as usize * stride;
            let range = row + rect.x0 as usize..row + rect.x1 as usize;
            match self {
                Source::U8(rows, ..) => prefetch::lines(&rows[range]),
                Source::U16(rows, ..) => prefetch::lines(&rows[range]),
                Source::F32(rows, _) => prefetch::lines(&rows[range]),
            }
        }
    }

    /// One sample inside the plane, as a value.
    #[inline]
    pub fn at(&self, x: i32, y: i32) -> f32 {
        let at = y as usize * self.stride() + x as usize;
        match self {
            Source::U8(rows, _, scale) => scale.value(f32::from(rows[at])),
            Source::U16(rows, _, scale) => scale.value(f32::from(rows[at])),
            Source::F32(rows, _) => rows[at],
        }
    }
}

/// Rows of a plane of the output frame, held for writing.
pub enum Target<'a> {
    /// 8-bit codes.
    U8(RowsMut<'a, u8>, Scale),
    /// Codes of more than 8 bits.
    U16(RowsMut<'a, u16>, Scale),
    /// Values.
    F32(RowsMut<'a, f32>),
}

impl<'a> Target<'a> {
    /// Holds `rows` of `samples` for writing; `scale` is that of codes.
    pub fn new(samples: &'a Samples, rows: std::ops::Range<usize>, scale: Scale) -> Self {
        match samples {
            Samples::U8(all) => Target::U8(all.write(rows), scale),
            Samples::U16(all) => Target::U16(all.write(rows), scale),
            Samples::F32(all) => Target::F32(all.write(rows)),
        }
    }

    /// Stores values from sample `at` on, counted from the first held row and without padding, in the depth of the plane.
    pub fn store(&mut self, simd: Simd, at: usize, values: &[f32]) {
        let (width, stride) = self.row();
        if width == stride {
            return self.store_within(simd, at, values);
        }
        let (mut at, mut values) = (at, values);
        while !values.is_empty() {
            let (row, x) = (at / width, at % width);
            let (now, later) = values.split_at(values.len().min(width - x));
            self.store_within(simd, row * stride + x, now);
            at += now.len();
            values = later;
        }
    }

    /// Samples in a row, and from the beginning of one to that of the next.
    #[inline]
    fn row(&self) -> (usize, usize) {
        match self {
            Target::U8(rows, _) => (rows.width(), rows.stride()),
            Target::U16(rows, _) => (rows.width(), rows.stride()),
            Target::F32(rows) => (rows.width(), rows.stride()),
        }
    }

    fn store_within(&mut self, simd: Simd, at: usize, values: &[f32]) {
        let range = at..at + values.len();
        match self {
            Target::U8(rows, scale) => convert::store_u8(simd, scale, values, &mut rows[range]),
            Target::U16(rows, scale) => convert::store_u16(simd, scale, values, &mut rows[range]),
            Target::F32(rows) => rows[range].copy_from_slice(values),
        }
    }

    /// Gives every held sample one value.
    pub fn fill(&mut self, value: f32) {
        fn fill<T: Sample>(rows: &mut RowsMut<'_, T>, value: T) {
            let (width, stride) = (rows.width(), rows.stride().max(1));
            let each = rows.chunks_mut(stride);
            each.for_each(|row| row[..width].fill(value));
        }
        match self {
            Target::U8(rows, scale) => fill(rows, scale.code(value) as u8),
            Target::U16(rows, scale) => fill(rows, scale.code(value) as u16),
            Target::F32(rows) => fill(rows, value),
        }
    }

    /// The held samples themselves if they are values without padding, so that stages write them in place.
    pub fn values(&mut self) -> Option<&mut [f32]> {
        match self {
            Target::F32(rows) if rows.width() == rows.stride() => Some(rows),
            _ => None,
        }
    }
}
