//! One value per worker.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::dispatch::WorkerId;

/// One `T` for each worker of a pool: scratch memory, counters, partial results. A job borrows the value of the
/// worker it runs on. Borrows are checked, so no two jobs hold one value at once. Each value has its own cache lines.
pub struct PerWorker<T> {
    slots: Box<[Slot<T>]>,
}

#[repr(align(128))]
struct Slot<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `held` lets one thread at a time reach a value, so values move between threads but are never shared.
unsafe impl<T: Send> Sync for PerWorker<T> {}

/// Why a worker's value could not be borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// There is no such worker.
    #[error(
        "worker {worker} has no value: there are {workers}; make one for each worker of the pool"
    )]
    NoSuchWorker {
        /// The requested worker.
        worker: usize,
        /// The number of values.
        workers: usize,
    },
    /// The value is borrowed already, by a job around this one or by another batch.
    #[error(
        "the value of worker {worker} is in use: do not hold it over a nested batch, nor share it between batches"
    )]
    Held {
        /// The requested worker.
        worker: usize,
    },
}

impl<T> PerWorker<T> {
    /// Creates a value for each of the workers `0..workers`.
    pub fn new(workers: usize, mut make: impl FnMut(WorkerId) -> T) -> PerWorker<T> {
        let slot = |i| Slot {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(make(WorkerId(i))),
        };
        PerWorker {
            slots: (0..workers).map(slot).collect(),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Borrows the value of `worker` until the result is dropped.
    ///
    /// # Errors
    /// [`HoldError`] if there is no such worker, or if the value is borrowed.
    pub fn hold(&self, worker: WorkerId) -> Result<Held<'_, T>, HoldError> {
        let slot = self.slots.get(worker.0).ok_or(HoldError::NoSuchWorker {
            worker: worker.0,
            workers: self.slots.len(),
        })?;
        if slot.held.swap(true, Ordering::Acquire) {
            return Err(HoldError::Held { worker: worker.0 });
        }
        Ok(Held { slot })
    }

    /// All values, in the order of workers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().map(|slot| slot.value.get_mut())
    }

    /// All values, in the order of workers.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().map(|slot| slot.value.into_inner())
    }
}

impl<T> fmt::Debug for PerWorker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker")
            .field("workers", &self.len())
            .finish_non_exhaustive()
    }
}

/// A worker's value, borrowed.
pub struct Held<'a, T> {
    slot: &'a Slot<T>,
}

// SAFETY: sharing a borrow gives out `&T` and nothing else.
unsafe impl<T: Sync> Sync for Held<'_, T> {}
// SAFETY: a borrow is like `&mut T`, which may be sent if `T` may.
unsafe impl<T: Send> Send for Held<'_, T> {}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `held` was set by the one borrow there is, and this is it.
        unsafe { &*self.slot.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this borrow of the borrow is unique.
        unsafe { &mut *self.slot.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.slot.held.store(false, Ordering::Release);
    }
}

impl<T: fmt::Debug> fmt::Debug for Held<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{Batch, Caller, Pool};
    use crate::plan::Dispatch;

    #[test]
    fn two_cannot_hold_one() {
        let values = PerWorker::new(2, |w| w.0 * 10);
        let first = values.hold(WorkerId(1)).unwrap();
        assert_eq!(*first, 10);
        assert_eq!(
            values.hold(WorkerId(1)).unwrap_err(),
            HoldError::Held { worker: 1 }
        );
        assert_eq!(*values.hold(WorkerId(0)).unwrap(), 0);
        drop(first);
        assert_eq!(*values.hold(WorkerId(1)).unwrap(), 10);
        let none = values.hold(WorkerId(2)).unwrap_err();
        assert_eq!(
            none,
            HoldError::NoSuchWorker {
                worker: 2,
                workers: 2
            }
        );
    }

    #[test]
    fn a_panic_lets_go() {
        let values = PerWorker::new(1, |_| 0);
        let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut value = values.hold(WorkerId(0)).unwrap();
            *value = 7;
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(thrown.is_err());
        assert_eq!(*values.hold(WorkerId(0)).unwrap(), 7);
    }

    #[test]
    fn jobs_of_a_batch_never_meet_in_one_value() {
        let pool = Pool::new(4).unwrap();
        let items = if cfg!(miri) { 100 } else { 10_000 };
        for dispatch in Dispatch::ALL {
            let mut sums = PerWorker::new(pool.workers(), |_| 0u64);
            let batch = Batch {
                dispatch,
                items,
                grain: 3,
                workers: 4,
                deadline: None,
                caller: Caller::Works,
            };
            pool.run(&batch, &|worker, items| {
                *sums.hold(worker).unwrap() += items.map(u64::from).sum::<u64>();
            })
            .unwrap();
            let sum = u64::from(items) * u64::from(items - 1) / 2;
            assert_eq!(sums.iter_mut().map(|s| *s).sum::<u64>(), sum);
            assert_eq!(sums.into_values().sum::<u64>(), sum);
        }
    }
}
