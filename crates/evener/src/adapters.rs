//! Loops made of loops.

use std::ops::Range;

use crate::drive::{Exact, Parallel};

macro_rules! adapter {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ident),* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<$($type),*> {
            $(pub(crate) $field: $type,)*
        }
    };
}

adapter! {
    /// See [`Loop::map`](crate::Loop::map).
    Map { base: P, map: F }
}
adapter! {
    /// See [`Loop::filter`](crate::Loop::filter).
    Filter { base: P, keep: F }
}
adapter! {
    /// See [`Loop::filter_map`](crate::Loop::filter_map).
    FilterMap { base: P, map: F }
}
adapter! {
    /// See [`Loop::inspect`](crate::Loop::inspect).
    Inspect { base: P, look: F }
}
adapter! {
    /// See [`Loop::enumerate`](crate::Loop::enumerate).
    Enumerate { base: P }
}
adapter! {
    /// See [`Loop::zip`](crate::Loop::zip).
    Zip { left: A, right: B }
}
adapter! {
    /// See [`Loop::cloned`](crate::Loop::cloned) and [`Loop::copied`](crate::Loop::copied).
    Cloned { base: P }
}

impl<P: Parallel, R: Send, F: Fn(P::Item) -> R + Sync> Parallel for Map<P, F> {
    type Item = R;
    const EXACT: bool = P::EXACT;

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
