//! Panics become errors of one line.
//!
//! The runtime makes errors of panics in kernels, sources and sinks. All other panics of the main thread are caught here.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use crate::failure::Failure;

thread_local! {
    /// The latest panic of this thread, with its location.
    static LATEST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Logs panics instead of printing them.
pub fn keep_quiet() {
    set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("a panic without a text");
        let text = match info.location() {
            Some(at) => format!("{text} ({}:{})", at.file(), at.line()),
            None => text.to_owned(),
        };
        tracing::debug!("panic: {text}");
        // Fails on a thread that is ending.
        let _ = LATEST.try_with(|latest| latest.replace(Some(text)));
    }));
}

/// Calls `f` and makes a failure of a panic.
pub fn caught<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        let text = LATEST.take().unwrap_or_default();
        Err(Failure::running(format!(
            "this is a bug in evener; please report it with the command line: {text}"
        )))
    })
}
