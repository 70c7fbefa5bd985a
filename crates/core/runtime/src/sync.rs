//! Locks that a panic does not make useless.
//!
//! A panic of a service, source or sink is reported as an error. What a lock of the runtime guards is consistent at
//! every point at which such code can panic, so a poisoned lock is used as any other.
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
