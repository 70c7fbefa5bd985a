//! Mutexes whose holders may have panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. What a panic left in it is still whole: a panic of a job is an error of its batch.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
