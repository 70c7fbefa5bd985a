//! Panics: none reaches a user as a backtrace.
//!
//! The runtime catches what kernels, sources and sinks throw and makes errors of it; whatever else is thrown on the
//! main thread ends here, in one line.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use crate::failure::Failure;

thread_local! {
    /// The latest panic of this thread and where it was.
    static LATEST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has panics logged and not printed.
pub fn keep_quiet() {
    set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("a panic without a text");
        let text = match info.location() {
            Some(at) => format!("{text} ({}:{})", at.file(), at.line()),
            None => text.to_owned(),
        };
        tracing::debug!("panic: {text}");
        // A thread that is ending has no place for it any more.
        let _ = LATEST.try_with(|latest| latest.replace(Some(text)));
    }));
}

/// Calls `f`; a panic of it is a failure.
pub fn caught<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        let text = LATEST.take().unwrap_or_default();
        Err(Failure::running(format!(
            "this is a fault of evener, please report it with the command line: {text}"
        )))
    })
}
