//! Elements that give several.

use std::ops::Range;

use crate::drive::Parallel;
use crate::end::Loop;

adapter! {
    /// See [`Loop::flat_map`] and [`Loop::flatten`].
    FlatMap { base: P, map: F }
}

impl<P: Parallel> Loop<P> {
    /// All that the iterators give that `map` makes of the elements. Each iterator runs on one thread.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let words: Vec<&str> = ["a b", "c"].par().flat_map(|line| line.split(' ')).collect();
    /// assert_eq!(words, ["a", "b", "c"]);
    /// ```
    pub fn flat_map<I, F>(self, map: F) -> Loop<FlatMap<P, F>>
    where
        I: IntoIterator<Item: Send>,
        F: Fn(P::Item) -> I + Sync,
    {
        Loop(FlatMap { base: self.0, map })
    }

    /// All that is in the elements, which are collections, options or iterators.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let numbers: Vec<u8> = vec![vec![1, 2], vec![], vec![3]].into_par().flatten().collect();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    pub fn flatten(self) -> Loop<FlatMap<P, impl Fn(P::Item) -> P::Item + Sync + use<P>>>
    where
        P::Item: IntoIterator<Item: Send>,
    {
        self.flat_map(|items| items)
    }
}

impl<P, I, F> Parallel for FlatMap<P, F>
where
    P: Parallel,
    I: IntoIterator<Item: Send>,
    F: Fn(P::Item) -> I + Sync,
{
    type Item = I::Item;
    const COARSE: bool = P::COARSE;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = I::Item> {
        // SAFETY: promised by the caller.
        unsafe { self.base.iter(range) }.flat_map(&self.map)
    }
}
