//! Methods of loops that look for an element.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::drive::{Exact, Parallel};
use crate::end::Loop;

impl<P: Parallel> Loop<P> {
    /// An element for which `is` is true, if there is one: whichever is found first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((0..1000).par().find_any(|x| x * x == 144), Some(12));
    /// ```
    #[track_caller]
    pub fn find_any<F: Fn(&P::Item) -> bool + Sync>(self, is: F) -> Option<P::Item> {
        self.until(
            || None,
            Option::is_some,
            |part| part.items().find(&is),
            Option::or,
        )
    }

    /// The first of the elements for which `is` is true.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!((10..1000).par().find_first(|x| x % 7 == 0), Some(14));
    /// ```
    #[track_caller]
    pub fn find_first<F: Fn(&P::Item) -> bool + Sync>(self, is: F) -> Option<P::Item> {
        // Where the first part begins in which there is one.
        let first = AtomicUsize::new(usize::MAX);
        self.parts(
            |part| {
                let start = part.range().start;
                let mut items = part.items();
                if start > first.load(Ordering::Relaxed) {
                    return None;
                }
                let found = items.find(&is);
                if found.is_some() {
                    first.fetch_min(start, Ordering::Relaxed);
                }
                found
            },
            Option::or,
        )
        .flatten()
    }

    /// What `map` makes of an element for which it is not `None`, if there is one: whichever is found first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let number = ["x", "7", "y"].par().find_map_any(|s| s.parse::<u8>().ok());
    /// assert_eq!(number, Some(7));
    /// ```
    #[track_caller]
    pub fn find_map_any<R: Send, F: Fn(P::Item) -> Option<R> + Sync>(self, map: F) -> Option<R> {
        self.filter_map(map).find_any(|_| true)
    }

    /// What `map` makes of the first element for which it is not `None`.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let number = ["x", "7", "8"].par().find_map_first(|s| s.parse::<u8>().ok());
    /// assert_eq!(number, Some(7));
    /// ```
    #[track_caller]
    pub fn find_map_first<R: Send, F: Fn(P::Item) -> Option<R> + Sync>(self, map: F) -> Option<R> {
        self.filter_map(map).find_first(|_| true)
    }

    /// The index of an element for which `is` is true, if there is one: whichever is found first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!(["a", "b"].par().position_any(|word| *word == "b"), Some(1));
    /// ```
    #[track_caller]
    pub fn position_any<F: Fn(P::Item) -> bool + Sync>(self, is: F) -> Option<usize>
    where
        P: Exact,
    {
        let found = self.map(is).enumerate().find_any(|(_, is)| *is);
        found.map(|(index, _)| index)
    }

    /// The index of the first element for which `is` is true.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert_eq!([1, 0, 1, 0].par().position_first(|x| *x == 0), Some(1));
    /// ```
    #[track_caller]
    pub fn position_first<F: Fn(P::Item) -> bool + Sync>(self, is: F) -> Option<usize>
    where
        P: Exact,
    {
        let found = self.map(is).enumerate().find_first(|(_, is)| *is);
        found.map(|(index, _)| index)
    }

    /// Whether `is` is true for any element.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert!([1, 2].par().any(|x| *x == 2));
    /// ```
    #[track_caller]
    pub fn any<F: Fn(P::Item) -> bool + Sync>(self, is: F) -> bool {
        self.map(is).find_any(|is| *is).is_some()
    }

    /// Whether `is` is true for every element.
    ///
    /// ```
    /// use evener::prelude::*;
    /// assert!([1, 2].par().all(|x| *x > 0));
    /// ```
    #[track_caller]
    pub fn all<F: Fn(P::Item) -> bool + Sync>(self, is: F) -> bool {
        self.map(is).find_any(|is| !*is).is_none()
    }
}
