//! Elements of a vector, which are given away.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::IntoPar;
use crate::drive::{Exact, Parallel};
use crate::end::Loop;

/// Elements of a vector, which is used up. What a loop does not reach that a panic ends is not dropped.
#[derive(Debug)]
pub struct Owned<T> {
    first: *mut T,
    len: usize,
    /// Where the elements begin and end that are given away, or are being.
    given: [AtomicUsize; 2],
    /// Its elements are the loop's; the memory is freed here.
    _memory: Vec<ManuallyDrop<T>>,
}

// SAFETY: each element is given to one thread.
unsafe impl<T: Send> Sync for Owned<T> {}
// SAFETY: the elements are owned.
unsafe impl<T: Send> Send for Owned<T> {}

/// Elements of one range, which are dropped with it.
struct Taken<T> {
    next: *mut T,
    end: *mut T,
    left: usize,
}

impl<T> Iterator for Taken<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        // SAFETY: there is an element left, which nobody else is given.
        unsafe {
            let item = self.next.read();
            self.next = self.next.add(1);
            Some(item)
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        debug_assert!(self.next <= self.end || size_of::<T>() == 0);
        self.by_ref().for_each(drop);
    }
}

impl<T: Send> Parallel for Owned<T> {
    type Item = T;
    const EXACT: bool = true;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = T> {
        let [start, end] = &self.given;
        if range.start < start.load(Ordering::Relaxed) {
            start.fetch_min(range.start, Ordering::Relaxed);
        }
        if range.end > end.load(Ordering::Relaxed) {
            end.fetch_max(range.end, Ordering::Relaxed);
        }
        // SAFETY: the range lies within the vector.
        let (next, end) = unsafe { (self.first.add(range.start), self.first.add(range.end)) };
        Taken {
            next,
            end,
            left: range.len(),
        }
    }
}

impl<T: Send> Exact for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let [start, end] = self.given.each_mut().map(|given| *given.get_mut());
        // Without elements that were given, all are before those.
        let start = start.min(self.len);
        for rest in [0..start, end.max(start)..self.len] {
            // SAFETY: the loop was not asked for these, as where it is cut or zipped with a shorter one.
            unsafe {
                let first = self.first.add(rest.start);
                std::ptr::slice_from_raw_parts_mut(first, rest.len()).drop_in_place();
            }
        }
    }
}

impl<T: Send> IntoPar for Vec<T> {
    type Parallel = Owned<T>;

    fn into_par(self) -> Loop<Owned<T>> {
        let mut items = ManuallyDrop::new(self);
        let (first, len, capacity) = (items.as_mut_ptr(), items.len(), items.capacity());
        // SAFETY: `ManuallyDrop<T>` has the layout of `T`, and the vector's memory has one owner, this one.
        let memory = unsafe { Vec::from_raw_parts(first.cast(), len, capacity) };
        Loop(Owned {
            first,
            len,
            given: [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)],
            _memory: memory,
        })
    }
}
