//! Collections that a parallel loop can fill.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};

use crate::drive::{Parallel, Part};
use crate::end::Loop;

/// Is made of the elements of a parallel loop, in their order.
pub trait FromPar<T: Send>: Sized {
    /// Runs the loop.
    #[track_caller]
    fn from_par<P: Parallel<Item = T>>(elements: Loop<P>) -> Self;
}

/// The elements in vectors, one behind another.
#[track_caller]
fn vectors<P: Parallel>(elements: Loop<P>) -> Vec<Vec<P::Item>> {
    elements
        .parts(|part| vec![part.items().collect::<Vec<_>>()], appended)
        .unwrap_or_default()
}

fn appended<T>(mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
    left.append(&mut right);
    left
}

/// The elements at their places in one vector.
#[track_caller]
fn in_place<P: Parallel>(elements: Loop<P>) -> Vec<P::Item> {
    let len = elements.0.len();
    let mut vector = Vec::<P::Item>::with_capacity(len);
    let first = Address(vector.as_mut_ptr());
    let written = elements.parts(
        |part| {
            let range = part.range();
            assert!(range.end <= len, "a loop has one length");
            let mut written = Written {
                // SAFETY: the range lies within what was allocated.
                first: unsafe { first.get().add(range.start) },
                len: 0,
            };
            part.items().take(range.len()).for_each(|item| {
                // SAFETY: as above, and the range is this part's alone.
                unsafe { written.first.add(written.len).write(item) };
                written.len += 1;
            });
            assert_eq!(
                written.len,
                range.len(),
                "an exact loop gives all of its elements"
            );
            written
        },
        |mut left, right| {
            left.len += right.len;
            std::mem::forget(right);
            left
        },
    );
    if let Some(written) = written {
        assert_eq!(written.len, len);
        std::mem::forget(written);
        // SAFETY: so many were written, one behind another.
        unsafe { vector.set_len(len) };
    }
    vector
}

/// Where threads write, each its own part.
struct Address<T>(*mut T);

// SAFETY: elements are sent to it.
unsafe impl<T: Send> Sync for Address<T> {}

impl<T> Address<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

/// Elements that were written and are dropped if a panic ends the loop.
struct Written<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for Written<T> {}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        // SAFETY: so many were written, and nobody else drops them.
        unsafe { std::ptr::slice_from_raw_parts_mut(self.first, self.len).drop_in_place() };
    }
}

impl<T: Send> FromPar<T> for Vec<T> {
    #[track_caller]
    fn from_par<P: Parallel<Item = T>>(elements: Loop<P>) -> Self {
        if P::EXACT {
            return in_place(elements);
        }
        let mut vectors = vectors(elements);
        if vectors.len() == 1 {
            return vectors.remove(0);
        }
        let mut all = Vec::with_capacity(vectors.iter().map(Vec::len).sum());
        for mut vector in vectors {
            all.append(&mut vector);
        }
        all
    }
}

impl<T: Send> FromPar<T> for Box<[T]> {
    #[track_caller]
    fn from_par<P: Parallel<Item = T>>(elements: Loop<P>) -> Self {
        Vec::from_par(elements).into_boxed_slice()
    }
}

macro_rules! collections {
    ($([$($bounds:tt)*] $item:ty => $collection:ty;)*) => {$(
        impl<$($bounds)*> FromPar<$item> for $collection {
            #[track_caller]
            fn from_par<P: Parallel<Item = $item>>(elements: Loop<P>) -> Self {
                vectors(elements).into_iter().flatten().collect()
            }
        }
    )*};
}

collections! {
    [T: Send] T => VecDeque<T>;
    [T: Send + Ord] T => BTreeSet<T>;
    [K: Send + Ord, V: Send] (K, V) => BTreeMap<K, V>;
    [T: Send + Eq + Hash, S: BuildHasher + Default] T => HashSet<T, S>;
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Default] (K, V) => HashMap<K, V, S>;
    [] char => String;
    [] String => String;
    ['a] &'a str => String;
}

/// Nothing is kept.
impl FromPar<()> for () {
    #[track_caller]
    fn from_par<P: Parallel<Item = ()>>(elements: Loop<P>) -> Self {
        elements.for_each(|()| ());
    }
}

/// All, or the first error. Elements behind it may have been computed as well.
impl<T: Send, E: Send, C: FromPar<T>> FromPar<Result<T, E>> for Result<C, E> {
    #[track_caller]
    fn from_par<P: Parallel<Item = Result<T, E>>>(elements: Loop<P>) -> Self {
        let vectors = elements.until(
            || Ok(Vec::new()),
            Result::is_err,
            |part| Ok(vec![part.items().collect::<Result<Vec<_>, _>>()?]),
            |left, right| Ok(appended(left?, right?)),
        )?;
        let all = vectors.into_iter().flatten().collect::<Vec<_>>();
        Ok(C::from_par(crate::IntoPar::into_par(all)))
    }
}

/// All, or `None` if any is.
impl<T: Send, C: FromPar<T>> FromPar<Option<T>> for Option<C> {
    #[track_caller]
    fn from_par<P: Parallel<Item = Option<T>>>(elements: Loop<P>) -> Self {
        elements
            .map(|item| item.ok_or(()))
            .collect::<Result<C, ()>>()
            .ok()
    }
}

impl<P: Parallel> Loop<P> {
    /// The elements for which `is` is true in a collection, and the others in a second one.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let (even, odd): (Vec<u8>, Vec<u8>) = (0..5).par().partition(|x| x % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    #[track_caller]
    pub fn partition<C, F>(self, is: F) -> (C, C)
    where
        C: Default + Extend<P::Item>,
        F: Fn(&P::Item) -> bool + Sync,
    {
        self.two(|part| part.items().partition(&is))
    }

    /// The first halves of pairs in a collection, and the second halves in another.
    ///
    /// ```
    /// use evener::prelude::*;
    /// let (roots, squares): (Vec<u8>, Vec<u8>) = (0..4).par().map(|x| (x, x * x)).unzip();
    /// assert_eq!((roots, squares), (vec![0, 1, 2, 3], vec![0, 1, 4, 9]));
    /// ```
    #[track_caller]
    pub fn unzip<A, B, C, D>(self) -> (C, D)
    where
        P: Parallel<Item = (A, B)>,
        A: Send,
        B: Send,
        C: Default + Extend<A>,
        D: Default + Extend<B>,
    {
        self.two(|part| part.items().unzip())
    }

    /// Two collections of what `part` makes of parts.
    #[track_caller]
    fn two<A, B, C, D>(self, part: impl Fn(Part<'_, P>) -> (Vec<A>, Vec<B>) + Sync) -> (C, D)
    where
        A: Send,
        B: Send,
        C: Default + Extend<A>,
        D: Default + Extend<B>,
    {
        let vectors = self.parts(
            |each| {
                let (left, right) = part(each);
                (vec![left], vec![right])
            },
            |a, b| (appended(a.0, b.0), appended(a.1, b.1)),
        );
        let (lefts, rights) = vectors.unwrap_or_default();
        (extended(lefts), extended(rights))
    }
}

fn extended<T, C: Default + Extend<T>>(vectors: Vec<Vec<T>>) -> C {
    let mut all = C::default();
    vectors.into_iter().for_each(|vector| all.extend(vector));
    all
}
