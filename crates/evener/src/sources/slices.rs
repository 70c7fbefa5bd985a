//! Elements of slices.

use std::marker::PhantomData;
use std::ops::Range;

use super::{Par, ParMut};
use crate::drive::{Exact, Parallel};
use crate::end::Loop;

/// Elements of a slice.
#[derive(Debug)]
pub struct Slice<'a, T>(pub(super) &'a [T]);

impl<'a, T: Sync> Parallel for Slice<'a, T> {
    type Item = &'a T;
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &'a T> {
        self.0[range].iter()
    }
}

impl<T: Sync> Exact for Slice<'_, T> {}

impl<'a, T: Sync + 'a> Par<'a> for [T] {
    type Parallel = Slice<'a, T>;

    fn par(&'a self) -> Loop<Slice<'a, T>> {
        Loop(Slice(self))
    }
}

impl<'a, T: Sync + 'a> Par<'a> for Vec<T> {
    type Parallel = Slice<'a, T>;

    fn par(&'a self) -> Loop<Slice<'a, T>> {
        self.as_slice().par()
    }
}

impl<'a, T: Sync + 'a, const N: usize> Par<'a> for [T; N] {
    type Parallel = Slice<'a, T>;

    fn par(&'a self) -> Loop<Slice<'a, T>> {
        self.as_slice().par()
    }
}

/// Elements of a slice that may be changed.
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    first: *mut T,
    len: usize,
    _slice: PhantomData<&'a mut [T]>,
}

// SAFETY: each element is given to one thread, which may use it as its own.
unsafe impl<T: Send> Sync for SliceMut<'_, T> {}

impl<'a, T: Send> SliceMut<'a, T> {
    pub(super) fn new(slice: &'a mut [T]) -> Self {
        SliceMut {
            first: slice.as_mut_ptr(),
            len: slice.len(),
            _slice: PhantomData,
        }
    }

    /// # Safety
    /// As [`Parallel::iter`].
    #[inline]
    pub(super) unsafe fn slice(&self, range: Range<usize>) -> &'a mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: the range lies within the slice, which is borrowed for 'a, and nobody else is given a part of it.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(range.start), range.len()) }
    }
}

impl<'a, T: Send> Parallel for SliceMut<'a, T> {
    type Item = &'a mut T;
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &'a mut T> {
        // SAFETY: promised by the caller.
        unsafe { self.slice(range) }.iter_mut()
    }
}

impl<T: Send> Exact for SliceMut<'_, T> {}

impl<T: Send> ParMut<T> for [T] {
    fn par_mut(&mut self) -> Loop<SliceMut<'_, T>> {
        Loop(SliceMut::new(self))
    }
}
