//! Sorting.

use std::cmp::Ordering;
use std::mem::MaybeUninit;

/// Sorts slices on several threads, with the results of the standard library's methods of the same names.
///
/// ```
/// use evener::prelude::*;
///
/// let mut words = ["b", "a", "c"];
/// words.par_sort_unstable();
/// assert_eq!(words, ["a", "b", "c"]);
///
/// let mut pairs = [(1, 'b'), (0, 'c'), (1, 'a')];
/// pairs.par_sort_by_key(|pair| pair.0);
/// assert_eq!(pairs, [(0, 'c'), (1, 'b'), (1, 'a')]);
/// ```
pub trait ParSort<T: Send> {
    /// Sorts; equals keep their order.
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        self.par_sort_by(T::cmp);
    }

    /// Sorts by `compare`; equals keep their order.
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F);

    /// Sorts by a key; equals keep their order.
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F) {
        self.par_sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts; equals may change their order. Needs no memory.
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        self.par_sort_unstable_by(T::cmp);
    }

    /// Sorts by `compare`; equals may change their order. Needs no memory.
    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F);

    /// Sorts by a key; equals may change their order. Needs no memory.
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F) {
        self.par_sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T: Send> ParSort<T> for [T] {
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        if self.len() <= LEAF || size_of::<T>() == 0 {
            return self.sort_by(compare);
        }
        let mut buffer = Vec::with_capacity(self.len());
        merge_sort(
            self,
            &mut buffer.spare_capacity_mut()[..self.len()],
            &compare,
        );
    }

    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        quick_sort(self, &compare);
    }
}

/// So many elements are sorted on one thread: some tens of microseconds.
const LEAF: usize = 2048;

fn quick_sort<T: Send>(values: &mut [T], compare: &(impl Fn(&T, &T) -> Ordering + Sync)) {
    if values.len() <= LEAF {
        return values.sort_unstable_by(compare);
    }
    let middle = values.len() / 2;
    let (left, _, right) = values.select_nth_unstable_by(middle, compare);
    evener_pool::join(|| quick_sort(left, compare), || quick_sort(right, compare));
}

fn merge_sort<T: Send>(
    values: &mut [T],
    buffer: &mut [MaybeUninit<T>],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
) {
    if values.len() <= LEAF {
        return values.sort_by(compare);
    }
    let middle = values.len() / 2;
    let (left, right) = values.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    evener_pool::join(
        || merge_sort(left, left_buffer, compare),
        || merge_sort(right, right_buffer, compare),
    );
    if compare(&values[middle - 1], &values[middle]) == Ordering::Greater {
        merge(values, middle, buffer, compare);
    }
}

/// What of the left half lies in the buffer. When it is dropped, that is moved to where it is missing.
struct Moved<T> {
    next: *const T,
    end: *const T,
    to: *mut T,
}

impl<T> Drop for Moved<T> {
    fn drop(&mut self) {
        // SAFETY: there are as many elements in the buffer as places that are free before the rest of the right half.
        unsafe {
            let len = self.end.offset_from(self.next).cast_unsigned();
            self.next.copy_to_nonoverlapping(self.to, len);
        }
    }
}

/// Merges two sorted halves. `buffer` has room for the left one.
fn merge<T>(
    values: &mut [T],
    middle: usize,
    buffer: &mut [MaybeUninit<T>],
    compare: &impl Fn(&T, &T) -> Ordering,
) {
    let len = values.len();
    let values = values.as_mut_ptr();
    let buffer = buffer.as_mut_ptr().cast::<T>();
    // SAFETY: the left half is moved to the buffer. From then on each element is in one place: in the buffer from `next`,
    // behind `right`, or in the places before `to`; `Moved` puts the buffer's back, also if `compare` panics.
    unsafe {
        values.copy_to_nonoverlapping(buffer, middle);
        let mut moved = Moved {
            next: buffer,
            end: buffer.add(middle),
            to: values,
        };
        let (mut right, end) = (values.add(middle), values.add(len));
        while moved.next < moved.end && right < end {
            if compare(&*right, &*moved.next) == Ordering::Less {
                right.copy_to_nonoverlapping(moved.to, 1);
                right = right.add(1);
            } else {
                moved.next.copy_to_nonoverlapping(moved.to, 1);
                moved.next = moved.next.add(1);
            }
            moved.to = moved.to.add(1);
        }
    }
}
