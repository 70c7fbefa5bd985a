//! Memory that belongs to another owner.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::aligned::Sample;

/// Samples that belong to another owner, which this value keeps alive.
pub struct Lent<T: Sample> {
    start: NonNull<T>,
    len: usize,
    writable: bool,
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the samples are plain numbers. `Lent::new` was promised that they can be reached while the owner lives, and the
// owner may go to other threads.
unsafe impl<T: Sample> Send for Lent<T> {}
// SAFETY: as above; shared access only reads, but through `Rows`, which keeps writers apart.
unsafe impl<T: Sample> Sync for Lent<T> {}

impl<T: Sample> Lent<T> {
    /// Borrows `len` samples from `start` on.
    ///
    /// # Safety
    /// As long as `owner` is held, the samples are initialised and can be read; nothing else writes them, and if they are
    /// `writable` nothing else reads them.
    ///
    /// # Panics
    /// If `start` is no multiple of a sample's size.
    pub unsafe fn new(
        start: NonNull<T>,
        len: usize,
        writable: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Lent<T> {
        assert!(start.is_aligned(), "samples at {start:p} are not aligned");
        Lent {
            start,
            len,
            writable,
            _owner: owner,
        }
    }

    pub(super) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }
}

impl<T: Sample> fmt::Debug for Lent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("len", &self.len)
            .field("writable", &self.writable)
            .finish_non_exhaustive()
    }
}
