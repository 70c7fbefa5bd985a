//! Pieces of slices.

use std::ops::Range;

use super::SliceMut;
use crate::drive::{Exact, Parallel};
use crate::end::Loop;

/// Pieces of slices.
pub trait ParSlice<T> {
    /// A parallel loop over pieces of `size` elements; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let sums: Vec<u32> = [1, 2, 3, 4, 5].par_chunks(2).map(|piece| piece.iter().sum()).collect();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    fn par_chunks(&self, size: usize) -> Loop<Chunks<'_, T>>
    where
        T: Sync;

    /// The same, and the pieces may be changed.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut rows = [0; 6];
    /// rows.par_chunks_mut(3).enumerate().for_each(|(y, row)| row.fill(y));
    /// assert_eq!(rows, [0, 0, 0, 1, 1, 1]);
    /// ```
    fn par_chunks_mut(&mut self, size: usize) -> Loop<ChunksMut<'_, T>>
    where
        T: Send;
}

/// Pieces of a slice.
#[derive(Debug)]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T: Sync> Parallel for Chunks<'a, T> {
    type Item = &'a [T];
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &'a [T]> {
        let end = (range.end * self.size).min(self.slice.len());
        self.slice[range.start * self.size..end].chunks(self.size)
    }
}

impl<T: Sync> Exact for Chunks<'_, T> {}

/// Pieces of a slice that may be changed.
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    slice: SliceMut<'a, T>,
    size: usize,
}

impl<'a, T: Send> Parallel for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &'a mut [T]> {
        let end = (range.end * self.size).min(self.slice.len());
        // SAFETY: pieces do not overlap where their indices do not.
        unsafe { self.slice.slice(range.start * self.size..end) }.chunks_mut(self.size)
    }
}

impl<T: Send> Exact for ChunksMut<'_, T> {}

impl<T> ParSlice<T> for [T] {
    fn par_chunks(&self, size: usize) -> Loop<Chunks<'_, T>>
    where
        T: Sync,
    {
        assert!(size > 0, "pieces of 0 elements");
        Loop(Chunks { slice: self, size })
    }

    fn par_chunks_mut(&mut self, size: usize) -> Loop<ChunksMut<'_, T>>
    where
        T: Send,
    {
        assert!(size > 0, "pieces of 0 elements");
        Loop(ChunksMut {
            slice: SliceMut::new(self),
            size,
        })
    }
}
