//! What each part of a loop has for itself: accumulators, and values that closures use again.

use std::iter::once_with;
use std::ops::Range;

use crate::drive::{Exact, Parallel};
use crate::end::Loop;

adapter! {
    /// See [`Loop::fold`].
    Fold { base: P, init: I, fold: F }
}
adapter! {
    /// See [`Loop::map_init`].
    MapInit { base: P, init: I, map: F }
}

impl<P: Parallel> Loop<P> {
    /// An accumulator for each part of the loop: `fold` adds the elements of the part, in order, to what `init` gives. There
    /// are a few parts for each thread; how many differs from call to call. [`reduce`](Loop::reduce) combines the
    /// accumulators.
    ///
    /// ```
    /// use evener::prelude::*;
    /// use std::collections::HashMap;
    ///
    /// let counts = "banana".as_bytes().par().fold(HashMap::new, |mut counts, byte| {
    ///     *counts.entry(byte).or_insert(0) += 1;
    ///     counts
    /// });
    /// let counts = counts.reduce(|mut all, counts| {
    ///     counts.into_iter().for_each(|(byte, count)| *all.entry(byte).or_insert(0) += count);
    ///     all
    /// });
    /// assert_eq!(counts.unwrap()[&b'a'], 3);
    /// ```
    pub fn fold<A: Send, I, F>(self, init: I, fold: F) -> Loop<Fold<P, I, F>>
    where
        I: Fn() -> A + Sync,
        F: Fn(A, P::Item) -> A + Sync,
    {
        let base = self.0;
        Loop(Fold { base, init, fold })
    }

    /// Each element by what `map` makes of it, with a value that `init` makes for each part of the loop, such as a buffer.
    /// There are a few parts for each thread; how many differs from call to call. If `rev` or `step_by` follows, each
    /// element is a part.
    ///
    /// ```
    /// use evener::prelude::*;
    /// use std::fmt::Write;
    ///
    /// let lengths = (0..1000).par().map_init(String::new, |text, number| {
    ///     text.clear();
    ///     write!(text, "{number}").unwrap();
    ///     text.len()
    /// });
    /// assert_eq!(lengths.sum::<usize>(), 2890);
    /// ```
    pub fn map_init<S, R: Send, I, F>(self, init: I, map: F) -> Loop<MapInit<P, I, F>>
    where
        I: Fn() -> S + Sync,
        F: Fn(&mut S, P::Item) -> R + Sync,
    {
        let base = self.0;
        Loop(MapInit { base, init, map })
    }

    /// Calls `work` with each element and a value that `init` makes for each part of the loop, such as a buffer.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let mut rows = vec![[3, 1, 2]; 100];
    /// rows.par_mut().for_each_init(Vec::new, |buffer, row| {
    ///     buffer.clear();
    ///     buffer.extend(row.iter().rev());
    ///     row.copy_from_slice(buffer);
    /// });
    /// assert_eq!(rows, [[2, 1, 3]; 100]);
    /// ```
    #[track_caller]
    pub fn for_each_init<S, I, F>(self, init: I, work: F)
    where
        I: Fn() -> S + Sync,
        F: Fn(&mut S, P::Item) + Sync,
    {
        self.map_init(init, work).for_each(|()| ());
    }
}

impl<P, A, I, F> Parallel for Fold<P, I, F>
where
    P: Parallel,
    A: Send,
    I: Fn() -> A + Sync,
    F: Fn(A, P::Item) -> A + Sync,
{
    type Item = A;
    const COARSE: bool = true;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = A> {
        // SAFETY: promised by the caller.
        let items = unsafe { self.base.iter(range) };
        once_with(|| items.fold((self.init)(), &self.fold))
    }
}

impl<P, S, R, I, F> Parallel for MapInit<P, I, F>
where
    P: Parallel,
    R: Send,
    I: Fn() -> S + Sync,
    F: Fn(&mut S, P::Item) -> R + Sync,
{
    type Item = R;
    const EXACT: bool = P::EXACT;
    const COARSE: bool = true;

    fn len(&self) -> usize {
        self.base.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = R> {
        // SAFETY: promised by the caller.
        let items = unsafe { self.base.iter(range) };
        let mut value = (self.init)();
        items.map(move |item| (self.map)(&mut value, item))
    }
}

impl<P, S, R, I, F> Exact for MapInit<P, I, F>
where
    P: Exact,
    R: Send,
    I: Fn() -> S + Sync,
    F: Fn(&mut S, P::Item) -> R + Sync,
{
}
