//! Locks whose poison is ignored.
#![forbid(unsafe_code)]

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// The guard that a lock or a condition variable returns, poisoned or not. The value behind it must be valid after
/// every statement, so that a panic in another thread leaves it usable.
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex, poisoned or not; see [`unpoisoned`].
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}
