//! Waiting for one event: a latch is set once.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::sync::{AtomicU8, AtomicUsize, Ordering, thread};

/// Something that a job sets at its end.
pub(crate) trait Signal {
    /// Sets it. Whoever waits may free it as soon as it is set, so this takes a pointer.
    ///
    /// # Safety
    /// `this` is alive until it is set.
    unsafe fn set(this: *const Self);
}

const UNSET: u8 = 0;
/// The waiter has stored its handle and may park.
const WAITING: u8 = 1;
const SET: u8 = 2;

/// One thread waits, any thread sets it. One that was waited for is set before it is dropped.
pub(crate) struct Latch {
    state: AtomicU8,
    waiter: UnsafeCell<MaybeUninit<thread::Thread>>,
}

// SAFETY: the cell is the waiter's until it sets WAITING, and from then on the setter's.
unsafe impl Sync for Latch {}

impl Latch {
    #[inline(always)]
    pub(crate) fn new() -> Latch {
        Latch {
            state: AtomicU8::new(UNSET),
            waiter: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// Says that this thread may park from now on: it is unparked when the latch is set. Whether it is not set yet. The one
    /// waiter only.
    pub(crate) fn prepare(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            SET => return false,
            WAITING => return true,
            _ => {}
        }
        // SAFETY: WAITING is not set, so the cell is the waiter's.
        let cell = unsafe { &mut *self.waiter.get() };
        cell.write(thread::current());
        let waits = self
            .state
            .compare_exchange(UNSET, WAITING, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if !waits {
            // SAFETY: it was written above, and the setter has not seen WAITING, so it is still the waiter's.
            unsafe { cell.assume_init_drop() };
        }
        waits
    }

    /// Waits without other work. The one waiter only.
    pub(crate) fn block(&self) {
        while self.prepare() {
            thread::park();
        }
    }
}

impl Signal for Latch {
    #[inline]
    unsafe fn set(this: *const Latch) {
        // SAFETY: the latch is alive until its state is SET. Where the waiter has stored its handle, it leaves the cell
        // alone and waits for SET, which is stored after the handle was taken.
        unsafe {
            let unset =
                (*this)
                    .state
                    .compare_exchange(UNSET, SET, Ordering::AcqRel, Ordering::Acquire);
            if unset.is_err() {
                let waiter = (*(*this).waiter.get()).assume_init_read();
                (*this).state.store(SET, Ordering::Release);
                waiter.unpark();
            }
        }
    }
}

/// Is set when as many have reported as were counted.
pub(crate) struct CountLatch {
    count: AtomicUsize,
    pub(crate) latch: Latch,
}

impl CountLatch {
    pub(crate) fn new(count: usize) -> CountLatch {
        CountLatch {
            count: AtomicUsize::new(count),
            latch: Latch::new(),
        }
    }

    /// One more reports, which is known while the count is not zero.
    pub(crate) fn increment(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Signal for CountLatch {
    unsafe fn set(this: *const CountLatch) {
        // SAFETY: the waiter waits for the inner latch, which the last to report sets.
        unsafe {
            if (*this).count.fetch_sub(1, Ordering::AcqRel) == 1 {
                Latch::set(&raw const (*this).latch);
            }
        }
    }
}

/// A latch that several jobs share.
impl<S: Signal> Signal for &S {
    unsafe fn set(this: *const &S) {
        // SAFETY: the reference is read before the latch is set, after which neither is used.
        unsafe { S::set(std::ptr::from_ref(*this)) }
    }
}
