//! What parallel loops run over: slices, ranges, pieces of slices, vectors.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::drive::{Exact, Parallel};
use crate::end::Loop;

/// A loop that borrows its elements, or counts.
pub trait Par<'a> {
    /// What the loop runs over.
    type Parallel: Parallel;

    /// A parallel loop over the elements.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let squares: Vec<u32> = [1, 2, 3].par().map(|x| x * x).collect();
    /// assert_eq!(squares, [1, 4, 9]);
    /// assert_eq!((0..1000_u64).par().sum::<u64>(), 499_500);
    /// ```
    fn par(&'a self) -> Loop<Self::Parallel>;
}

/// A loop that changes elements.
pub trait ParMut<T: Send> {
    /// A parallel loop that may change the elements.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut values = [1, 2, 3];
    /// values.par_mut().for_each(|x| *x += 1);
    /// assert_eq!(values, [2, 3, 4]);
    /// ```
    fn par_mut(&mut self) -> Loop<SliceMut<'_, T>>;
}

/// A loop that owns its elements.
pub trait IntoPar {
    /// What the loop runs over.
    type Parallel: Parallel;

    /// A parallel loop that is given the elements.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let words = vec![String::from("a"), String::from("b")];
    /// let lengths: Vec<usize> = words.into_par().map(|word| word.len()).collect();
    /// assert_eq!(lengths, [1, 1]);
    /// ```
    fn into_par(self) -> Loop<Self::Parallel>;
}

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

/// Elements of a slice.
#[derive(Debug)]
pub struct Slice<'a, T>(&'a [T]);

impl<'a, T: Sync> Parallel for Slice<'a, T> {
    type Item = &'a T;
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    unsafe fn iter(&self, range: ops::Range<usize>) -> impl Iterator<Item = &'a T> {
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
    fn new(slice: &'a mut [T]) -> Self {
        SliceMut {
            first: slice.as_mut_ptr(),
            len: slice.len(),
            _slice: PhantomData,
        }
    }

    /// # Safety
    /// As [`Parallel::iter`].
    #[inline]
    unsafe fn slice(&self, range: ops::Range<usize>) -> &'a mut [T] {
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
    unsafe fn iter(&self, range: ops::Range<usize>) -> impl Iterator<Item = &'a mut T> {
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
    unsafe fn iter(&self, range: ops::Range<usize>) -> impl Iterator<Item = &'a [T]> {
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
        self.slice.len.div_ceil(self.size)
    }

    #[inline]
    unsafe fn iter(&self, range: ops::Range<usize>) -> impl Iterator<Item = &'a mut [T]> {
        let end = (range.end * self.size).min(self.slice.len);
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

/// Numbers in a row.
#[derive(Debug)]
pub struct Range<T> {
    start: T,
    len: usize,
}

/// A type of whole numbers that loops count in.
pub trait RangeIndex: Copy + Send + Sync {
    #[doc(hidden)]
    fn count(start: Self, end: Self) -> usize;
    #[doc(hidden)]
    fn at(self, index: usize) -> Self;
}

macro_rules! range_index {
    ($($t:ty)*) => {$(
        impl RangeIndex for $t {
            fn count(start: $t, end: $t) -> usize {
                match start < end {
                    true => usize::try_from((end as i128) - (start as i128)).expect("a loop of more than usize::MAX"),
                    false => 0,
                }
            }

            #[inline(always)]
            fn at(self, index: usize) -> $t {
                self.wrapping_add(index as $t)
            }
        }
    )*};
}
range_index!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

impl<T: RangeIndex> Parallel for Range<T> {
    type Item = T;
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn iter(&self, range: ops::Range<usize>) -> impl Iterator<Item = T> {
        let start = self.start;
        range.map(move |index| start.at(index))
    }
}

impl<T: RangeIndex> Exact for Range<T> {}

impl<T: RangeIndex> Par<'_> for ops::Range<T> {
    type Parallel = Range<T>;

    fn par(&self) -> Loop<Range<T>> {
        Loop(Range {
            start: self.start,
            len: T::count(self.start, self.end),
        })
    }
}

impl<T: RangeIndex> IntoPar for ops::Range<T> {
    type Parallel = Range<T>;

    fn into_par(self) -> Loop<Range<T>> {
        self.par()
    }
}

/// Elements of a vector, which is used up. What a loop does not reach that a panic ends is not dropped.
#[derive(Debug)]
pub struct Owned<T> {
    first: *mut T,
    len: usize,
    /// Elements before this are given away, or are being.
    given: AtomicUsize,
    /// Its elements are the loop's; the memory is freed here.
    _memory: Vec<ManuallyDrop<T>>,
}

// SAFETY: each element is given to one thread.
unsafe impl<T: Send> Sync for Owned<T> {}
// SAFETY: the elements are owned.
unsafe impl<T: Send> Send for Owned<T> {}

/// Elements of one range, which are dropped with it.
struct Taken<T> {
    next: *mut T,
    end: *mut T,
    left: usize,
}

impl<T> Iterator for Taken<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        // SAFETY: there is an element left, which nobody else is given.
        unsafe {
            let item = self.next.read();
            self.next = self.next.add(1);
            Some(item)
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        debug_assert!(self.next <= self.end || size_of::<T>() == 0);
        self.by_ref().for_each(drop);
    }
}

impl<T: Send> Parallel for Owned<T> {
    type Item = T;
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn iter(&self, range: ops::Range<usize>) -> impl Iterator<Item = T> {
        self.given.fetch_max(range.end, Ordering::Relaxed);
        // SAFETY: the range lies within the vector.
        let (next, end) = unsafe { (self.first.add(range.start), self.first.add(range.end)) };
        Taken {
            next,
            end,
            left: range.len(),
        }
    }
}

impl<T: Send> Exact for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let given = *self.given.get_mut();
        // SAFETY: the loop ended before these, as that of a shorter one with which it was zipped.
        unsafe {
            let rest = self.first.add(given);
            std::ptr::slice_from_raw_parts_mut(rest, self.len - given).drop_in_place();
        }
    }
}

impl<T: Send> IntoPar for Vec<T> {
    type Parallel = Owned<T>;

    fn into_par(self) -> Loop<Owned<T>> {
        let mut items = ManuallyDrop::new(self);
        let (first, len, capacity) = (items.as_mut_ptr(), items.len(), items.capacity());
        // SAFETY: `ManuallyDrop<T>` has the layout of `T`, and the vector's memory has one owner, this one.
        let memory = unsafe { Vec::from_raw_parts(first.cast(), len, capacity) };
        Loop(Owned {
            first,
            len,
            given: AtomicUsize::new(0),
            _memory: memory,
        })
    }
}
