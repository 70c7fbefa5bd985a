//! Locks whose poison is ignored.
#![forbid(unsafe_code)]

use std::sync::{LockResult, PoisonError};

/// The guard that a lock or a condition variable returns, poisoned or not. The value behind it must be valid after
/// every statement, so that a panic in another thread leaves it usable.
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
