//! Loops made of loops.

use std::ops::Range;

use crate::drive::{Exact, Parallel};
use crate::end::Loop;
use crate::sources::IntoPar;

macro_rules! adapter {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ident),* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<$($type),*> {
            $($field: $type,)*
        }
    };
}

mod flat;
mod fold;
mod places;

pub use flat::FlatMap;
pub use fold::{Fold, MapInit};
pub use places::{Chain, Cut, Rev, StepBy};

adapter! {
    /// See [`Loop::map`].
    Map { base: P, map: F }
}
adapter! {
    /// See [`Loop::filter`].
    Filter { base: P, keep: F }
}
adapter! {
    /// See [`Loop::filter_map`].
    FilterMap { base: P, map: F }
}
adapter! {
    /// See [`Loop::inspect`].
    Inspect { base: P, look: F }
}
adapter! {
    /// See [`Loop::enumerate`].
    Enumerate { base: P }
}
adapter! {
    /// See [`Loop::zip`].
    Zip { left: A, right: B }
}
adapter! {
    /// See [`Loop::cloned`] and [`Loop::copied`].
    Cloned { base: P }
}
impl<P: Parallel> Loop<P> {
    /// Each element by what `map` makes of it.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let lengths: Vec<usize> = ["a", "bc"].par().map(|word| word.len()).collect();
    /// assert_eq!(lengths, [1, 2]);
    /// ```
    pub fn map<R: Send, F: Fn(P::Item) -> R + Sync>(self, map: F) -> Loop<Map<P, F>> {
        Loop(Map { base: self.0, map })
    }

    /// The elements for which `keep` is true.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let even: Vec<i32> = (0..7).par().filter(|x| x % 2 == 0).collect();
    /// assert_eq!(even, [0, 2, 4, 6]);
    /// ```
    pub fn filter<F: Fn(&P::Item) -> bool + Sync>(self, keep: F) -> Loop<Filter<P, F>> {
        Loop(Filter { base: self.0, keep })
    }

    /// What `map` makes of each element, without `None`.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let numbers: Vec<u8> = ["1", "x", "3"].par().filter_map(|s| s.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// ```
    pub fn filter_map<R: Send, F: Fn(P::Item) -> Option<R> + Sync>(
        self,
        map: F,
    ) -> Loop<FilterMap<P, F>> {
        Loop(FilterMap { base: self.0, map })
    }

    /// Calls `look` with each element on its way.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let sum: u32 = [1, 2].par().inspect(|x| assert!(**x < 3)).sum();
    /// assert_eq!(sum, 3);
    /// ```
    pub fn inspect<F: Fn(&P::Item) + Sync>(self, look: F) -> Loop<Inspect<P, F>> {
        Loop(Inspect { base: self.0, look })
    }

    /// Each element with its index.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let pairs: Vec<_> = ["a", "b"].par().copied().enumerate().collect();
    /// assert_eq!(pairs, [(0, "a"), (1, "b")]);
    /// ```
    pub fn enumerate(self) -> Loop<Enumerate<P>>
    where
        P: Exact,
    {
        Loop(Enumerate { base: self.0 })
    }

    /// Pairs of the elements of two loops. The longer one is cut.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let mut sums = [10, 20];
    /// sums.par_mut().zip([1, 2, 3].par()).for_each(|(sum, x)| *sum += x);
    /// assert_eq!(sums, [11, 22]);
    /// ```
    pub fn zip<I>(self, other: I) -> Loop<Zip<P, I::Parallel>>
    where
        P: Exact,
        I: IntoPar<Parallel: Exact>,
    {
        Loop(Zip {
            left: self.0,
            right: other.into_par().0,
        })
    }

    /// Each element after `change` has changed it.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let sorted: Vec<_> = vec![[2, 1], [3, 4]].into_par().update(|pair| pair.sort()).collect();
    /// assert_eq!(sorted, [[1, 2], [3, 4]]);
    /// ```
    pub fn update<F>(
        self,
        change: F,
    ) -> Loop<Map<P, impl Fn(P::Item) -> P::Item + Sync + use<P, F>>>
    where
        F: Fn(&mut P::Item) + Sync,
    {
        self.map(move |mut item| {
            change(&mut item);
            item
        })
    }

    /// Copies of the elements.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!([3, 4].par().copied().max(), Some(4));
    /// ```
    pub fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Loop<Cloned<P>>
    where
        P: Parallel<Item = &'a T>,
    {
        self.cloned()
    }

    /// Clones of the elements.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let words: Vec<String> = [String::from("a")].par().cloned().collect();
    /// assert_eq!(words, ["a"]);
    /// ```
    pub fn cloned<'a, T: Clone + Send + Sync + 'a>(self) -> Loop<Cloned<P>>
    where
        P: Parallel<Item = &'a T>,
    {
        Loop(Cloned { base: self.0 })
    }
}

impl<P: Parallel, R: Send, F: Fn(P::Item) -> R + Sync> Parallel for Map<P, F> {
    type Item = R;
    const EXACT: bool = P::EXACT;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = R> {
        // SAFETY: promised by the caller.
        unsafe { self.base.iter(range) }.map(&self.map)
    }
}

impl<P: Exact, R: Send, F: Fn(P::Item) -> R + Sync> Exact for Map<P, F> {}

impl<P: Parallel, F: Fn(&P::Item) -> bool + Sync> Parallel for Filter<P, F> {
    type Item = P::Item;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = P::Item> {
        // SAFETY: promised by the caller.
        unsafe { self.base.iter(range) }.filter(&self.keep)
    }
}

impl<P: Parallel, R: Send, F: Fn(P::Item) -> Option<R> + Sync> Parallel for FilterMap<P, F> {
    type Item = R;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = R> {
        // SAFETY: promised by the caller.
        unsafe { self.base.iter(range) }.filter_map(&self.map)
    }
}

impl<P: Parallel, F: Fn(&P::Item) + Sync> Parallel for Inspect<P, F> {
    type Item = P::Item;
    const EXACT: bool = P::EXACT;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = P::Item> {
        // SAFETY: promised by the caller.
        unsafe { self.base.iter(range) }.inspect(&self.look)
    }
}

impl<P: Exact, F: Fn(&P::Item) + Sync> Exact for Inspect<P, F> {}

impl<P: Exact> Parallel for Enumerate<P> {
    type Item = (usize, P::Item);
    const EXACT: bool = true;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = (usize, P::Item)> {
        // SAFETY: promised by the caller.
        range.clone().zip(unsafe { self.base.iter(range) })
    }
}

impl<P: Exact> Exact for Enumerate<P> {}

impl<A: Exact, B: Exact> Parallel for Zip<A, B> {
    type Item = (A::Item, B::Item);
    const EXACT: bool = true;
    const COARSE: bool = A::COARSE || B::COARSE;

    fn len(&self) -> usize {
        self.left.len().min(self.right.len())
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = (A::Item, B::Item)> {
        // SAFETY: promised by the caller, and both have as many elements.
        unsafe { self.left.iter(range.clone()).zip(self.right.iter(range)) }
    }
}

impl<A: Exact, B: Exact> Exact for Zip<A, B> {}

impl<'a, T: Clone + Send + Sync + 'a, P: Parallel<Item = &'a T>> Parallel for Cloned<P> {
    type Item = T;
    const EXACT: bool = P::EXACT;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = T> {
        // SAFETY: promised by the caller.
        unsafe { self.base.iter(range) }.cloned()
    }
}

impl<'a, T: Clone + Send + Sync + 'a, P: Exact<Item = &'a T>> Exact for Cloned<P> {}
