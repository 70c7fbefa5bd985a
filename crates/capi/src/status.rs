//! How a call ended.

use std::cell::RefCell;
use std::ffi::CString;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a call ended. What is not `EVENER_STATUS_OK`, `_LATE` or `_ENDED` leaves a line for `evener_last_error`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what it says.
    Ok = 0,
    /// There was no room, or no result, in time.
    Late = 1,
    /// The stream has ended, and there is no more result.
    Ended = 2,
    /// What was passed cannot be: nothing was done.
    Invalid = 3,
    /// Something could not be computed, or the system refused something.
    Failed = 4,
    /// A fault in the library. What was passed should not be used further, but to free it.
    Panicked = 5,
    /// Encrypted bytes were altered, or made with another secret or context.
    Refused = 6,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Why a call did not do what it says.
pub struct Failure(pub Status, pub String);

impl Failure {
    /// What was passed cannot be.
    pub fn invalid(text: impl Display) -> Failure {
        Failure(Status::Invalid, text.to_string())
    }

    /// Something failed.
    pub fn failed(text: impl Display) -> Failure {
        Failure(Status::Failed, text.to_string())
    }
}

/// The line that the last failure on this thread left; empty before one.
pub fn last() -> *const std::ffi::c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Runs a call of C, and remembers why it failed.
pub fn guarded(call: impl FnOnce() -> Result<Status, Failure>) -> Status {
    let Failure(status, text) = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "a fault without a text".to_owned());
            Failure(Status::Panicked, text)
        }
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.set(text);
    status
}
