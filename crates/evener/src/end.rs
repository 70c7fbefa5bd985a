//! A parallel loop, and what it can end in.

use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};

use crate::collect::FromPar;
use crate::drive::{Parallel, Part, drive};

/// A parallel loop. Nothing runs before a method that ends it is called, such as [`for_each`](Loop::for_each),
/// [`collect`](Loop::collect) or [`sum`](Loop::sum). Closures may run on several threads at once; results are in the order
/// of the elements.
#[derive(Debug)]
#[must_use = "a loop does nothing until it is ended, such as by `for_each` or `collect`"]
pub struct Loop<P>(pub(crate) P);

impl<P: Parallel> Loop<P> {
    /// Calls `work` with each element.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let mut values = vec![1; 100];
    /// values.par_mut().for_each(|x| *x += 1);
    /// assert_eq!(values, [2; 100]);
    /// ```
    #[track_caller]
    pub fn for_each<F: Fn(P::Item) + Sync>(self, work: F) {
        self.parts(|part| part.items().for_each(&work), |(), ()| ());
    }

    /// Calls `work` with each element until it returns an error, and returns the error. Elements behind it may have been
    /// worked on as well.
    ///
    /// # Errors
    /// The first of those that were returned.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let failed = (0..100).par().try_for_each(|x| if x == 7 { Err(x) } else { Ok(()) });
    /// assert_eq!(failed, Err(7));
    /// ```
    #[track_caller]
    pub fn try_for_each<E: Send, F: Fn(P::Item) -> Result<(), E> + Sync>(
        self,
        work: F,
    ) -> Result<(), E> {
        self.until(
            || Ok(()),
            Result::is_err,
            |part| part.items().try_for_each(&work),
            Result::and,
        )
    }

    /// Combines all elements in pairs of neighbours; `None` if there is none. `combine` should be associative.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((1..=5).collect::<Vec<_>>().into_par().reduce(|a, b| a * b), Some(120));
    /// ```
    #[track_caller]
    pub fn reduce<F: Fn(P::Item, P::Item) -> P::Item + Sync>(self, combine: F) -> Option<P::Item> {
        self.parts(
            |part| part.items().reduce(&combine),
            |left, right| match (left, right) {
                (Some(left), Some(right)) => Some(combine(left, right)),
                (left, right) => left.or(right),
            },
        )
        .flatten()
    }

    /// Combines what is in all elements, in pairs of neighbours, until one is an error or `combine` returns one. `None` if
    /// there is no element. `combine` should be associative.
    ///
    /// # Errors
    /// The first of those that were found. Elements behind it may have been computed as well.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let sum = |words: &[&str]| {
    ///     let numbers = words.par().map(|word| word.parse::<u8>().map_err(|e| e.to_string()));
    ///     numbers.try_reduce(|a, b| a.checked_add(b).ok_or("too large".to_owned()))
    /// };
    /// assert_eq!(sum(&["1", "2"]), Ok(Some(3)));
    /// assert_eq!(sum(&["255", "1"]), Err("too large".to_owned()));
    /// assert!(sum(&["1", "x"]).is_err());
    /// ```
    #[track_caller]
    pub fn try_reduce<T, E, F>(self, combine: F) -> Result<Option<T>, E>
    where
        P: Parallel<Item = Result<T, E>>,
        T: Send,
        E: Send,
        F: Fn(T, T) -> Result<T, E> + Sync,
    {
        let both = |left: Option<T>, right: Option<T>| match (left, right) {
            (Some(left), Some(right)) => combine(left, right).map(Some),
            (left, right) => Ok(left.or(right)),
        };
        self.until(
            || Ok(None),
            Result::is_err,
            |part| {
                part.items()
                    .try_fold(None, |all, item| both(all, Some(item?)))
            },
            |left, right| both(left?, right?),
        )
    }

    /// The sum.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!([1.5, 2.5].par().sum::<f64>(), 4.0);
    /// ```
    #[track_caller]
    pub fn sum<S: Sum<P::Item> + Sum<S> + Send>(self) -> S {
        self.parts(
            |part| part.items().sum::<S>(),
            |a, b| [a, b].into_iter().sum(),
        )
        .unwrap_or_else(|| std::iter::empty::<S>().sum())
    }

    /// The product.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!([2, 3].par().product::<i32>(), 6);
    /// ```
    #[track_caller]
    pub fn product<S: Product<P::Item> + Product<S> + Send>(self) -> S {
        self.parts(
            |part| part.items().product::<S>(),
            |a, b| [a, b].into_iter().product(),
        )
        .unwrap_or_else(|| std::iter::empty::<S>().product())
    }

    /// How many elements there are.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((0..10).par().filter(|x| x % 3 == 0).count(), 4);
    /// ```
    #[track_caller]
    pub fn count(self) -> usize {
        self.parts(|part| part.items().count(), |a, b| a + b)
            .unwrap_or(0)
    }

    /// The least element; of equals, the first.
    #[track_caller]
    pub fn min(self) -> Option<P::Item>
    where
        P::Item: Ord,
    {
        self.min_by(Ord::cmp)
    }

    /// The greatest element; of equals, the last.
    #[track_caller]
    pub fn max(self) -> Option<P::Item>
    where
        P::Item: Ord,
    {
        self.max_by(Ord::cmp)
    }

    /// The least element by `compare`; of equals, the first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!([2.5, 0.5].par().min_by(|a, b| f64::total_cmp(a, b)), Some(&0.5));
    /// ```
    #[track_caller]
    pub fn min_by<F>(self, compare: F) -> Option<P::Item>
    where
        F: Fn(&P::Item, &P::Item) -> Ordering + Sync,
    {
        self.reduce(|a, b| match compare(&a, &b) {
            Ordering::Greater => b,
            _ => a,
        })
    }

    /// The greatest element by `compare`; of equals, the last.
    #[track_caller]
    pub fn max_by<F>(self, compare: F) -> Option<P::Item>
    where
        F: Fn(&P::Item, &P::Item) -> Ordering + Sync,
    {
        self.reduce(|a, b| match compare(&a, &b) {
            Ordering::Greater => a,
            _ => b,
        })
    }

    /// The element whose key is least; of equals, the first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!(["abc", "d"].par().min_by_key(|word| word.len()), Some(&"d"));
    /// ```
    #[track_caller]
    pub fn min_by_key<K: Ord, F: Fn(&P::Item) -> K + Sync>(self, key: F) -> Option<P::Item> {
        self.min_by(|a, b| key(a).cmp(&key(b)))
    }

    /// The element whose key is greatest; of equals, the last.
    #[track_caller]
    pub fn max_by_key<K: Ord, F: Fn(&P::Item) -> K + Sync>(self, key: F) -> Option<P::Item> {
        self.max_by(|a, b| key(a).cmp(&key(b)))
    }

    /// All elements in a collection, such as a [`Vec`], a `String`, a map, or a `Result` of one.
    ///
    /// ```
    /// use evener::prelude::*;
    /// use std::collections::HashMap;
    ///
    /// let lengths: HashMap<&str, usize> = ["a", "bc"].par().map(|word| (*word, word.len())).collect();
    /// assert_eq!(lengths["bc"], 2);
    ///
    /// let numbers: Result<Vec<u8>, _> = ["1", "x"].par().map(|s| s.parse::<u8>()).collect();
    /// assert!(numbers.is_err());
    /// ```
    #[track_caller]
    pub fn collect<C: FromPar<P::Item>>(self) -> C {
        C::from_par(self)
    }

    /// Combines what `part` makes of parts of the loop; `None` if there are no elements.
    #[track_caller]
    pub(crate) fn parts<R: Send>(
        self,
        part: impl Fn(Part<'_, P>) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        drive(&self.0, Location::caller(), part, combine)
    }

    /// The same, until `ends` is true of what a part gives. Parts that begin after that are `nothing`, as is an empty loop.
    #[track_caller]
    pub(crate) fn until<R: Send>(
        self,
        nothing: impl Fn() -> R + Sync,
        ends: impl Fn(&R) -> bool + Sync,
        part: impl Fn(Part<'_, P>) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> R {
        let ended = AtomicBool::new(false);
        let all = self.parts(
            |each| {
                if ended.load(Atomic::Relaxed) {
                    drop(each.items());
                    return nothing();
                }
                let result = part(each);
                ended.fetch_or(ends(&result), Atomic::Relaxed);
                result
            },
            combine,
        );
        all.unwrap_or_else(nothing)
    }
}
