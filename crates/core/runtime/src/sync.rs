//! Locks that remain usable after a panic.
//!
//! A panic of a service, source or sink is reported as an error. The data behind the runtime's locks is consistent at
//! every point at which such code can panic, so a poisoned lock is used like any other.
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
