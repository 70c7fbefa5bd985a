//! Locks that can be taken in the child of a fork.
//!
//! Only the forking thread exists in the child. Another thread may have held a lock at that moment, and would never
//! release it. So the child gets new locks. No lock is held around the fork: Python code runs there, which may resume
//! a thread that holds the interpreter and waits for the lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock, made when it is first used.
pub struct ForkLock<T: 'static>(AtomicPtr<Mutex<T>>);

impl<T: Default + Send> ForkLock<T> {
    /// A lock around the default.
    pub const fn new() -> ForkLock<T> {
        ForkLock(AtomicPtr::new(ptr::null_mut()))
    }

    /// Waits for the lock. Its holder must not wait for the interpreter.
    pub fn lock(&self) -> MutexGuard<'static, T> {
        let mut found = self.0.load(Ordering::Acquire);
        if found.is_null() {
            let made = Box::into_raw(Box::<Mutex<T>>::default());
            let place = &self.0;
            let put = place.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire);
            found = match put {
                Ok(_) => made,
                Err(other) => {
                    // SAFETY: it was made above, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(made) });
                    other
                }
            };
        }
        // SAFETY: it was made here, and is never freed.
        let lock: &'static Mutex<T> = unsafe { &*found };
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the child of a fork: replaces the lock, and forgets the contents of the old one.
    pub fn forget(&self) {
        self.0.store(ptr::null_mut(), Ordering::Release);
    }
}
