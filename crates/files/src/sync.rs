//! Locks whose poison is ignored.
#![forbid(unsafe_code)]

use std::sync::{LockResult, PoisonError};

/// What a lock or a condition variable gives, poisoned or not. It is for values that are valid between any two
/// statements, so that a panic of another thread leaves nothing half done.
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
