//! Whole numbers in a row.

use std::ops;

use super::{IntoPar, Par};
use crate::drive::{Exact, Parallel};
use crate::end::Loop;

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
