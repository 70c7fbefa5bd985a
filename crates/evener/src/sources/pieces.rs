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

    /// The same, without a last piece that is shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let sums: Vec<u32> = [1, 2, 3, 4, 5].par_chunks_exact(2).map(|piece| piece.iter().sum()).collect();
    /// assert_eq!(sums, [3, 7]);
    /// ```
    fn par_chunks_exact(&self, size: usize) -> Loop<Chunks<'_, T>>
    where
        T: Sync;

    /// A parallel loop over all runs of `size` neighbours.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let steps: Vec<i32> = [1, 4, 2].par_windows(2).map(|pair| pair[1] - pair[0]).collect();
    /// assert_eq!(steps, [3, -2]);
    /// ```
    fn par_windows(&self, size: usize) -> Loop<Windows<'_, T>>
    where
        T: Sync;

    /// As [`par_chunks`](ParSlice::par_chunks), and the pieces may be changed.
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

    /// As [`par_chunks_exact`](ParSlice::par_chunks_exact), and the pieces may be changed.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut values = [1, 2, 3, 4, 5];
    /// values.par_chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    /// assert_eq!(values, [2, 1, 4, 3, 5]);
    /// ```
    fn par_chunks_exact_mut(&mut self, size: usize) -> Loop<ChunksMut<'_, T>>
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

/// Runs of neighbours in a slice.
#[derive(Debug)]
pub struct Windows<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T: Sync> Parallel for Windows<'a, T> {
    type Item = &'a [T];
    const EXACT: bool = true;

    fn len(&self) -> usize {
        (self.slice.len() + 1).saturating_sub(self.size)
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &'a [T]> {
        let end = (range.end + (self.size - 1)).min(self.slice.len());
        self.slice[range.start..end].windows(self.size)
    }
}

impl<T: Sync> Exact for Windows<'_, T> {}

impl<T> ParSlice<T> for [T] {
    fn par_chunks(&self, size: usize) -> Loop<Chunks<'_, T>>
    where
        T: Sync,
    {
        assert!(size > 0, "pieces of 0 elements");
        Loop(Chunks { slice: self, size })
    }

    fn par_chunks_exact(&self, size: usize) -> Loop<Chunks<'_, T>>
    where
        T: Sync,
    {
        self[..whole(self.len(), size)].par_chunks(size)
    }

    fn par_windows(&self, size: usize) -> Loop<Windows<'_, T>>
    where
        T: Sync,
    {
        assert!(size > 0, "pieces of 0 elements");
        Loop(Windows { slice: self, size })
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

    fn par_chunks_exact_mut(&mut self, size: usize) -> Loop<ChunksMut<'_, T>>
    where
        T: Send,
    {
        let whole = whole(self.len(), size);
        self[..whole].par_chunks_mut(size)
    }
}

/// How many of `len` elements are in whole pieces.
fn whole(len: usize, size: usize) -> usize {
    len - len.checked_rem(size).expect("pieces of 0 elements")
}
