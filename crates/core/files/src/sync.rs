//! Locks that ignore poisoning.
#![forbid(unsafe_code)]

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// Returns the guard of a lock or a condition variable, poisoned or not. The value must be valid after every
/// statement, so that a panic in another thread leaves it usable.
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex, poisoned or not; see [`unpoisoned`].
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}
