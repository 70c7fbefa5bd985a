//! The fence of the flags: the standard library's, or loom's under `cfg(loom)`.

#[cfg(not(loom))]
use std::sync::atomic as chosen;

#[cfg(loom)]
use loom::sync::atomic as chosen;

/// One order for all fences.
pub fn fence() {
    chosen::fence(chosen::Ordering::SeqCst);
}
