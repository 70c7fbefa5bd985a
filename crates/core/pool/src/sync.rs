//! The synchronisation primitives of this crate: the standard library's, or loom's under `cfg(loom)`.

#[cfg(not(loom))]
mod chosen {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, fence,
    };
    pub(crate) use std::sync::{Mutex, MutexGuard};
    pub(crate) use std::thread;
}

#[cfg(loom)]
mod chosen {
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, fence,
    };
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    pub(crate) mod thread {
        pub(crate) use loom::thread::*;

        /// Models have no time.
        pub(crate) fn park_timeout(_: std::time::Duration) {
            yield_now();
        }
    }
}

pub(crate) use chosen::*;
pub(crate) use std::sync::atomic::Ordering;

/// Locks, also after a panic: nothing here panics while it holds a lock, and user code never runs under one.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
