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
pub trait RangeIndex: Copy + Ord + Send + Sync {
    #[doc(hidden)]
    fn count(start: Self, end: Self) -> Option<usize>;
    #[doc(hidden)]
    fn at(self, index: usize) -> Self;
}

macro_rules! range_index {
    ($($t:ty)*) => {$(
        impl RangeIndex for $t {
            fn count(start: $t, end: $t) -> Option<usize> {
                end.abs_diff(start).try_into().ok()
            }

            #[inline(always)]
            fn at(self, index: usize) -> $t {
                self.wrapping_add(index as $t)
            }
        }
    )*};
}
range_index!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

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

macro_rules! ranges {
    ($($range:ident, |$this:ident| $start:expr, $end:expr, $more:expr;)*) => {$(
        impl<T: RangeIndex> Par<'_> for ops::$range<T> {
            type Parallel = Range<T>;

            fn par(&self) -> Loop<Range<T>> {
                let ($this, mut len) = (self, Some(0));
                if !self.is_empty() {
                    len = T::count($start, $end).and_then(|len| len.checked_add($more));
                }
                Loop(Range {
                    start: $start,
                    len: len.expect("a loop of more than usize::MAX"),
                })
            }
        }

        impl<T: RangeIndex> IntoPar for ops::$range<T> {
            type Parallel = Range<T>;

            fn into_par(self) -> Loop<Range<T>> {
                self.par()
            }
        }
    )*};
}

ranges! {
    Range, |range| range.start, range.end, 0;
    RangeInclusive, |range| *range.start(), *range.end(), 1;
}
