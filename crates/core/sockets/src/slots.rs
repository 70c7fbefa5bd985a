//! A bound on how many of something there are.

use std::sync::atomic::{AtomicUsize, Ordering};

/// So many at a time, such as threads that answer clients.
#[derive(Debug)]
pub struct Slots {
    taken: AtomicUsize,
    most: usize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Slot<'a>(&'a Slots);

impl Slots {
    /// At most so many.
    pub fn new(most: usize) -> Slots {
        Slots {
            taken: AtomicUsize::new(0),
            most,
        }
    }

    /// One, if one is free.
    pub fn take(&self) -> Option<Slot<'_>> {
        let slot = Slot(self);
        (self.taken.fetch_add(1, Ordering::Relaxed) < self.most).then_some(slot)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_and_they_come_back() {
        let slots = Slots::new(2);
        let one = slots.take();
        let two = slots.take();
        assert!(one.is_some() && two.is_some() && slots.take().is_none());
        drop(one);
        assert!(slots.take().is_some());
        drop(two);
        assert_eq!(slots.taken.load(Ordering::Relaxed), 0);
    }
}
