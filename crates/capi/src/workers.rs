//! Workers for calls that have no stream.

use evener_runtime::Runtime;

use crate::status::{Failure, Status, guarded};

/// Workers. Any number of threads may use them at once.
pub struct Workers(pub(crate) Runtime);

/// Starts `count` workers, or as many as there are processors if that is 0. The thread that calls counts as one. They take no
/// processor time while there is nothing to do, and are ended by `evener_workers_free`.
///
/// # Safety
/// `workers` is a place for a pointer, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_workers_new(count: u32, workers: *mut *mut Workers) -> Status {
    guarded(|| {
        if workers.is_null() {
            return Err(Failure::invalid("evener_workers_new takes no null"));
        }
        let mut builder = Runtime::builder();
        if count > 0 {
            builder = builder.workers(count as usize);
        }
        let made = Workers(builder.build().map_err(Failure::failed)?);
        // SAFETY: promised by the caller.
        unsafe { workers.write(Box::into_raw(Box::new(made))) };
        Ok(Status::Ok)
    })
}

/// Ends workers. Null is allowed.
///
/// # Safety
/// `workers` was made by `evener_workers_new` and was not freed, and no other thread uses it; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_workers_free(workers: *mut Workers) {
    if !workers.is_null() {
        // SAFETY: promised by the caller.
        drop(unsafe { Box::from_raw(workers) });
    }
}
