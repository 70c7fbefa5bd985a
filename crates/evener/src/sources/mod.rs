//! What parallel loops run over.

mod collections;
mod lines;
mod owned;
mod pieces;
mod ranges;
mod slices;

use crate::drive::Parallel;
use crate::end::Loop;

pub use lines::{Lines, ParStr};
pub use owned::Owned;
pub use pieces::{Chunks, ChunksMut, ParSlice, Windows};
pub use ranges::{Range, RangeIndex};
pub use slices::{Slice, SliceMut};

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
    ///
    /// References to the elements of maps and sets are put into a vector first.
    ///
    /// ```
    /// use evener::prelude::*;
    /// use std::collections::HashMap;
    ///
    /// let stock = HashMap::from([("apples", 3), ("pears", 4)]);
    /// assert_eq!(stock.par().map(|(_, count)| count).sum::<i32>(), 7);
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
    ///
    /// References become loops as well, as by [`par`](Par::par) and [`par_mut`](ParMut::par_mut).
    ///
    /// ```
    /// use evener::prelude::*;
    /// use std::collections::BTreeMap;
    ///
    /// let mut stock = BTreeMap::from([("apples", 3), ("pears", 4)]);
    /// (&mut stock).into_par().for_each(|(_, count)| *count *= 2);
    /// assert_eq!(stock["pears"], 8);
    /// ```
    fn into_par(self) -> Loop<Self::Parallel>;
}

impl<P: Parallel> IntoPar for Loop<P> {
    type Parallel = P;

    fn into_par(self) -> Loop<P> {
        self
    }
}

impl<'a, C: Par<'a> + ?Sized> IntoPar for &'a C {
    type Parallel = C::Parallel;

    fn into_par(self) -> Loop<C::Parallel> {
        self.par()
    }
}
