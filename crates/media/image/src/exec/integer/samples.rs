//! What sums are computed of, and the codes that they become.

use evener_runtime::Simd;

use crate::integer::Integer;
use crate::kernels::resample::{self, Window};
use crate::kernels::turn;

/// What sums are computed of.
pub(super) trait Read: resample::Code {
    /// The row itself if kernels may read `readable` codes of it and all are codes of the depth.
    fn in_place(row: &[Self], readable: usize) -> Option<&[Self]>;

    /// Copies codes, each at most `most`.
    fn copy(from: &[Self], most: u16, to: &mut [Self]);
}

/// Codes of a depth.
pub(super) trait Depths: Read + turn::Code {
    /// Sums of rows.
    fn down(simd: Simd, integer: &Integer, window: &Window<'_>, out: &mut [Self]);
}

impl Depths for u8 {
    fn down(simd: Simd, integer: &Integer, window: &Window<'_>, out: &mut [u8]) {
        resample::down_u8(simd, window, integer.sum_fraction, out);
    }
}

impl Read for u8 {
    fn in_place(row: &[u8], readable: usize) -> Option<&[u8]> {
        row.get(..readable)
    }

    fn copy(from: &[u8], _: u16, to: &mut [u8]) {
        to.copy_from_slice(from);
    }
}

impl Depths for u16 {
    fn down(simd: Simd, integer: &Integer, window: &Window<'_>, out: &mut [u16]) {
        let (fraction, half) = (integer.sum_fraction, integer.half());
        resample::down_deep(simd, window, fraction, half, out);
    }
}

impl Read for u16 {
    /// Files may hold codes that their depth does not have.
    fn in_place(_: &[u16], _: usize) -> Option<&[u16]> {
        None
    }

    fn copy(from: &[u16], most: u16, to: &mut [u16]) {
        let codes = to.iter_mut().zip(from);
        codes.for_each(|(to, code)| *to = (*code).min(most));
    }
}

impl Read for i16 {
    fn in_place(row: &[i16], readable: usize) -> Option<&[i16]> {
        row.get(..readable)
    }

    fn copy(from: &[i16], _: u16, to: &mut [i16]) {
        to.copy_from_slice(from);
    }
}

/// A plane that sums are computed of.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a, T> {
    pub samples: &'a [T],
    pub stride: usize,
    /// Samples of a row, from the beginning of the stride on.
    pub width: usize,
    /// Where its first column begins, and its first row, which may lie before the first that is there.
    pub x: usize,
    pub y: isize,
}

impl<'a, T> Lines<'a, T> {
    /// The samples from the beginning of a row on; those between rows, which may be others', are left out.
    pub fn row(&self, y: usize) -> &'a [T] {
        let y = (self.y + y as isize) as usize;
        let from = y * self.stride + self.x;
        match self.width < self.stride {
            true => &self.samples[from..from + self.width - self.x],
            false => &self.samples[from..],
        }
    }
}
