//! Maps, sets and other collections. What cannot be divided itself is put into a vector first.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::{IntoPar, Owned, Par, Slice, SliceMut};
use crate::adapters::Chain;
use crate::end::Loop;

impl<'a, T: Sync + 'a> Par<'a> for VecDeque<T> {
    type Parallel = Chain<Slice<'a, T>, Slice<'a, T>>;

    fn par(&'a self) -> Loop<Self::Parallel> {
        let (front, back) = self.as_slices();
        front.par().chain(back.par())
    }
}

macro_rules! references {
    ($([$($bounds:tt)*] $collection:ty => $item:ty;)*) => {$(
        impl<'a, $($bounds)*> Par<'a> for $collection {
            type Parallel = Owned<$item>;

            fn par(&'a self) -> Loop<Owned<$item>> {
                self.iter().collect::<Vec<_>>().into_par()
            }
        }
    )*};
}

references! {
    [T: Sync + 'a] Option<T> => &'a T;
    [T: Sync + 'a] BTreeSet<T> => &'a T;
    [T: Sync + 'a, S] HashSet<T, S> => &'a T;
    [K: Sync + 'a, V: Sync + 'a] BTreeMap<K, V> => (&'a K, &'a V);
    [K: Sync + 'a, V: Sync + 'a, S] HashMap<K, V, S> => (&'a K, &'a V);
}

macro_rules! owned {
    ($([$($bounds:tt)*] $collection:ty => $item:ty;)*) => {$(
        impl<$($bounds)*> IntoPar for $collection {
            type Parallel = Owned<$item>;

            fn into_par(self) -> Loop<Owned<$item>> {
                self.into_iter().collect::<Vec<_>>().into_par()
            }
        }
    )*};
}

owned! {
    [T: Send, const N: usize] [T; N] => T;
    [T: Send] Box<[T]> => T;
    [T: Send] VecDeque<T> => T;
    [T: Send] Option<T> => T;
    [T: Send] BTreeSet<T> => T;
    [T: Send, S] HashSet<T, S> => T;
    [K: Send, V: Send] BTreeMap<K, V> => (K, V);
    [K: Send, V: Send, S] HashMap<K, V, S> => (K, V);
    ['a, T: Send] &'a mut VecDeque<T> => &'a mut T;
    ['a, K: Sync, V: Send] &'a mut BTreeMap<K, V> => (&'a K, &'a mut V);
    ['a, K: Sync, V: Send, S] &'a mut HashMap<K, V, S> => (&'a K, &'a mut V);
}

macro_rules! slices {
    ($([$($bounds:tt)*] $slice:ty;)*) => {$(
        impl<'a, $($bounds)*> IntoPar for &'a mut $slice {
            type Parallel = SliceMut<'a, T>;

            fn into_par(self) -> Loop<SliceMut<'a, T>> {
                Loop(SliceMut::new(self))
            }
        }
    )*};
}

slices! {
    [T: Send] [T];
    [T: Send] Vec<T>;
    [T: Send, const N: usize] [T; N];
}
