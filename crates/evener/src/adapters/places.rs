//! Loops whose elements are those of others at other places. They keep the length that those had at first, as none of their
//! elements may be given twice.

use std::ops::Range;

use crate::drive::{Exact, Parallel};
use crate::end::Loop;
use crate::sources::IntoPar;

/// See [`Loop::chain`].
#[derive(Debug)]
pub struct Chain<A, B> {
    left: A,
    right: B,
    /// Where the right one begins.
    middle: usize,
}

/// Some of the elements, in a row. See [`Loop::take`] and [`Loop::skip`].
#[derive(Debug)]
pub struct Cut<P> {
    base: P,
    start: usize,
    len: usize,
}

/// See [`Loop::step_by`].
#[derive(Debug)]
pub struct StepBy<P> {
    base: P,
    base_len: usize,
    step: usize,
}

/// See [`Loop::rev`].
#[derive(Debug)]
pub struct Rev<P> {
    base: P,
    len: usize,
}

impl<P: Parallel> Loop<P> {
    /// The elements of this loop, and those of `other` behind them.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let all: Vec<u8> = (0..3).par().chain((7..9).par()).collect();
    /// assert_eq!(all, [0, 1, 2, 7, 8]);
    /// ```
    pub fn chain<I>(self, other: I) -> Loop<Chain<P, I::Parallel>>
    where
        I: IntoPar<Parallel: Parallel<Item = P::Item>>,
    {
        Loop(Chain::new(self.0, other.into_par().0))
    }

    /// The first `count` elements, or all if there are fewer.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((1..100).par().take(4).sum::<u32>(), 10);
    /// ```
    pub fn take(self, count: usize) -> Loop<Cut<P>>
    where
        P: Exact,
    {
        self.cut(0..count)
    }

    /// All elements but the first `count`. Closures are not called for those.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((1..5).par().skip(2).collect::<Vec<_>>(), [3, 4]);
    /// ```
    pub fn skip(self, count: usize) -> Loop<Cut<P>>
    where
        P: Exact,
    {
        self.cut(count..usize::MAX)
    }

    fn cut(self, range: Range<usize>) -> Loop<Cut<P>> {
        let len = self.0.len();
        let start = range.start.min(len);
        Loop(Cut {
            base: self.0,
            start,
            len: range.end.min(len) - start,
        })
    }

    /// The first element and each `step`-th behind it. Closures are not called for the others.
    ///
    /// # Panics
    /// If `step` is 0.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((0..10).par().step_by(4).collect::<Vec<_>>(), [0, 4, 8]);
    /// ```
    pub fn step_by(self, step: usize) -> Loop<StepBy<P>>
    where
        P: Exact,
    {
        assert!(step > 0, "steps of 0 elements");
        let base_len = self.0.len();
        Loop(StepBy {
            base: self.0,
            base_len,
            step,
        })
    }

    /// The elements from the last to the first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let last_first: String = ["a", "b", "c"].par().rev().copied().collect();
    /// assert_eq!(last_first, "cba");
    /// ```
    pub fn rev(self) -> Loop<Rev<P>>
    where
        P: Exact,
    {
        let len = self.0.len();
        Loop(Rev { base: self.0, len })
    }
}

impl<A: Parallel, B: Parallel<Item = A::Item>> Chain<A, B> {
    pub(crate) fn new(left: A, right: B) -> Self {
        let middle = left.len();
        Chain {
            left,
            right,
            middle,
        }
    }
}

impl<A: Parallel, B: Parallel<Item = A::Item>> Parallel for Chain<A, B> {
    type Item = A::Item;
    const EXACT: bool = A::EXACT && B::EXACT;
    const COARSE: bool = A::COARSE || B::COARSE;

    fn len(&self) -> usize {
        let len = self.middle.checked_add(self.right.len());
        len.expect("a loop of more than usize::MAX")
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = A::Item> {
        let (Range { start, end }, middle) = (range, self.middle);
        let left = start.min(middle)..end.min(middle);
        let right = start.saturating_sub(middle)..end.saturating_sub(middle);
        // SAFETY: as promised by the caller; one of the two has the element at a place.
        unsafe { self.left.iter(left).chain(self.right.iter(right)) }
    }
}

impl<A: Exact, B: Exact<Item = A::Item>> Exact for Chain<A, B> {}

impl<P: Exact> Parallel for Cut<P> {
    type Item = P::Item;
    const EXACT: bool = true;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = P::Item> {
        let base = self.start + range.start..self.start + range.end;
        // SAFETY: as promised by the caller; each place is that of one element.
        unsafe { self.base.iter(base) }
    }
}

impl<P: Exact> Exact for Cut<P> {}

impl<P: Exact> Parallel for StepBy<P> {
    type Item = P::Item;
    const EXACT: bool = true;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base_len.div_ceil(self.step)
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = P::Item> {
        let at = |index: usize| index.saturating_mul(self.step).min(self.base_len);
        Firsts {
            base: &self.base,
            left: at(range.start)..at(range.end),
            next: |left: &mut Range<usize>| {
                let start = left.start;
                left.start = start.saturating_add(self.step).min(left.end);
                start..left.start
            },
        }
    }
}

impl<P: Exact> Exact for StepBy<P> {}

impl<P: Exact> Parallel for Rev<P> {
    type Item = P::Item;
    const EXACT: bool = true;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = P::Item> {
        Firsts {
            base: &self.base,
            left: self.len - range.end..self.len - range.start,
            next: |left: &mut Range<usize>| {
                left.end -= 1;
                left.end..left.end + 1
            },
        }
    }
}

impl<P: Exact> Exact for Rev<P> {}

/// The first elements of the ranges that `next` takes out of what is left. All others are dropped.
struct Firsts<'a, P: Exact, F> {
    base: &'a P,
    left: Range<usize>,
    next: F,
}

impl<P: Exact, F: Fn(&mut Range<usize>) -> Range<usize>> Iterator for Firsts<'_, P, F> {
    type Item = P::Item;

    #[inline]
    fn next(&mut self) -> Option<P::Item> {
        if self.left.is_empty() {
            return None;
        }
        let range = (self.next)(&mut self.left);
        // SAFETY: what was left is this iterator's, and the range was taken out of it.
        unsafe { self.base.iter(range) }.next()
    }
}

impl<P: Exact, F> Drop for Firsts<'_, P, F> {
    fn drop(&mut self) {
        if !self.left.is_empty() {
            // SAFETY: these were not given to anybody.
            drop(unsafe { self.base.iter(self.left.clone()) });
        }
    }
}
