//! A pair of memory barriers of which one side is nearly free.
//!
//! A store before [`light`] on one thread and a load after [`heavy`] on another are ordered as if both were sequentially
//! consistent fences: of two threads that each store and then load what the other stored, at least one sees the other's
//! store. The owner of a deque is on the light side at each pop. Thieves, which are rare, are on the heavy side. On Linux
//! that is `membarrier(2)`, which makes every running thread of the process execute a fence. Elsewhere both are fences.

use crate::sync::{Ordering, fence};

/// The side that comes often; `fence` is what [`light_is_fence`] says.
#[inline(always)]
pub(crate) fn light(is_fence: bool) {
    if is_fence {
        fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

/// Whether the system has no light side. The answer is the same for the whole process.
pub(crate) fn light_is_fence() -> bool {
    !imp::available()
}

/// The side that comes rarely: some microseconds.
pub(crate) fn heavy() {
    if imp::available() {
        imp::membarrier();
    } else {
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod imp {
    use std::sync::OnceLock;

    use rustix::thread::{MembarrierCommand, membarrier as call};

    pub(super) fn available() -> bool {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        *AVAILABLE.get_or_init(|| call(MembarrierCommand::RegisterPrivateExpedited).is_ok())
    }

    pub(super) fn membarrier() {
        if call(MembarrierCommand::PrivateExpedited).is_err() {
            // It was registered, so it cannot fail; without it jobs would run twice.
            std::process::abort();
        }
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod imp {
    pub(super) fn available() -> bool {
        false
    }

    pub(super) fn membarrier() {}
}
