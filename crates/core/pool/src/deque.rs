//! The jobs of one worker. The owner pushes and pops the latest; thieves take the oldest.
//!
//! Indices grow without end and wrap around in a ring. `top` is the oldest job, `bottom` is one behind the latest:
//!
//! ```text
//!    top        split                bottom
//!     | public    | private             |
//! ```
//!
//! The owner pops a private job with two stores and two loads and no fence. A public job is only touched under the lock, by
//! the owner as well. There are two ways to make jobs public, which is to raise `split`:
//! - The owner does it at its next push, when a thread has set `wanted`: its oldest job. A job that is spawned, and so not
//!   taken back soon, is public at once. That costs no barrier.
//! - A thief does it with all jobs, if the owner runs one long job. Then both have stored and both load: the owner stores
//!   `bottom` and loads `split`, the thief stores `split` and loads `bottom`. With the barriers between, at least one of
//!   them sees the other's store. If the owner does, it takes the lock; if the thief does, it leaves the job.

use std::cell::UnsafeCell;

use crate::barrier;
use crate::job::JobRef;
use crate::sync::{AtomicPtr, AtomicU8, AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// Jobs that a deque can hold. More are not put there.
#[cfg(not(loom))]
const CAPACITY: usize = 1024;
#[cfg(loom)]
const CAPACITY: usize = 8;

/// More jobs of joins than a deque gets between two checks; see [`Deque::has_many`].
const JOINS: usize = CAPACITY / 4;

/// What the owner is to do at its next push.
pub(crate) const NOTHING: u8 = 0;
/// Make its oldest job public.
pub(crate) const EXPOSE: u8 = 1;
/// Call somebody who looks for jobs, and make the oldest public. It stays until the owner's call ends.
pub(crate) const CALL: u8 = 2;

/// What the owner writes all the time. Whoever reads it takes the line from the owner, which then waits for it.
#[repr(align(128))]
struct Owner {
    bottom: AtomicUsize,
}

/// What the owner reads all the time, and is written rarely.
#[repr(align(128))]
struct Public {
    /// Whether the owner needs fences.
    fences: bool,
    /// So many jobs are enough for all who may look for one.
    many: usize,
    split: AtomicUsize,
    wanted: AtomicU8,
    /// `top` as of the last change, for those who only look.
    top: AtomicUsize,
}

struct Cell {
    data: AtomicPtr<()>,
    run: UnsafeCell<Option<unsafe fn(*const ())>>,
}

pub(crate) struct Deque {
    owner: Owner,
    public: Public,
    /// `top`.
    lock: Mutex<usize>,
    cells: [Cell; CAPACITY],
}

// SAFETY: cells are written by the owner, above `bottom`, and read by thieves below it, which the barriers order.
unsafe impl Sync for Deque {}
// SAFETY: jobs are `Send`.
unsafe impl Send for Deque {}

impl Deque {
    /// The deque of one of `workers`. A join gives nothing more away where there are enough jobs that nobody has taken. Each
    /// is about half of the one before, so what is not offered is no more than a sixteenth of a worker's part of the whole.
    pub(crate) fn new(workers: usize) -> Deque {
        Deque {
            owner: Owner {
                bottom: AtomicUsize::new(0),
            },
            public: Public {
                fences: barrier::light_is_fence(),
                many: 4 + workers.ilog2() as usize,
                split: AtomicUsize::new(0),
                wanted: AtomicU8::new(NOTHING),
                top: AtomicUsize::new(0),
            },
            lock: Mutex::new(0),
            cells: std::array::from_fn(|_| Cell {
                data: AtomicPtr::new(std::ptr::null_mut()),
                run: UnsafeCell::new(None),
            }),
        }
    }

    #[inline(always)]
    fn cell(&self, index: usize) -> &Cell {
        &self.cells[index % CAPACITY]
    }

    /// # Safety
    /// The cell holds a job, and no other thread writes it.
    #[inline(always)]
    unsafe fn read(&self, index: usize) -> JobRef {
        let cell = self.cell(index);
        // SAFETY: promised by the caller.
        let run = unsafe { (*cell.run.get()).unwrap_unchecked() };
        JobRef {
            data: cell.data.load(Ordering::Relaxed),
            run,
        }
    }

    /// Whether there are enough jobs for all who may look for one. The owner only.
    #[inline(always)]
    pub(crate) fn has_many(&self) -> bool {
        self.private() >= self.public.many
    }

    /// Jobs that are not public. The owner only.
    #[inline(always)]
    fn private(&self) -> usize {
        let bottom = self.owner.bottom.load(Ordering::Relaxed);
        bottom.wrapping_sub(self.public.split.load(Ordering::Acquire))
    }

    /// Adds the latest job, for which there is room. Says what is wanted of the owner, which then calls
    /// [`Deque::expose`]. The owner only.
    #[inline(always)]
    pub(crate) fn push(&self, job: JobRef) -> u8 {
        let bottom = self.owner.bottom.load(Ordering::Relaxed);
        let cell = self.cell(bottom);
        cell.data.store(job.data.cast_mut(), Ordering::Relaxed);
        // SAFETY: the cell is above `bottom`, where no thief looks.
        unsafe { *cell.run.get() = Some(job.run) };
        self.owner
            .bottom
            .store(bottom.wrapping_add(1), Ordering::Release);
        self.public.wanted.load(Ordering::Relaxed)
    }

    /// Whether there is no room for another job. The owner only.
    pub(crate) fn is_full(&self) -> bool {
        // Joins add a few without asking.
        self.len() >= CAPACITY - JOINS
    }

    /// Where the next job will lie. The owner only.
    #[inline(always)]
    pub(crate) fn next(&self) -> usize {
        self.owner.bottom.load(Ordering::Relaxed)
    }

    /// Takes the job back that lies at `index`, if it is the latest and private. The owner only.
    ///
    /// What is stored does not depend on what was loaded, so that a join need not wait for the store of the one before.
    #[inline(always)]
    pub(crate) fn take_back(&self, index: usize) -> bool {
        if self.owner.bottom.load(Ordering::Relaxed) != index.wrapping_add(1) {
            return false;
        }
        if self.lower(index) {
            return true;
        }
        self.owner
            .bottom
            .store(index.wrapping_add(1), Ordering::Release);
        false
    }

    /// Lowers `bottom` to the latest job. Whether that is private, and so the owner's.
    #[inline(always)]
    fn lower(&self, bottom: usize) -> bool {
        self.owner.bottom.store(bottom, Ordering::Release);
        barrier::light(self.public.fences);
        let split = self.public.split.load(Ordering::Acquire);
        // No thief has raised `split` above a private job, or sees `bottom` below it.
        bottom.wrapping_sub(split).cast_signed() >= 0
    }

    /// Takes the latest job. The owner only.
    pub(crate) fn pop(&self) -> Option<JobRef> {
        let bottom = self.owner.bottom.load(Ordering::Relaxed).wrapping_sub(1);
        match self.lower(bottom) {
            // SAFETY: the job is private.
            true => Some(unsafe { self.read(bottom) }),
            false => self.pop_public(bottom),
        }
    }

    #[cold]
    fn pop_public(&self, bottom: usize) -> Option<JobRef> {
        let top = lock(&self.lock);
        if bottom.wrapping_sub(*top).cast_signed() < 0 {
            self.owner
                .bottom
                .store(bottom.wrapping_add(1), Ordering::Release);
            return None;
        }
        self.public.split.store(bottom, Ordering::Release);
        // SAFETY: no thief has taken it, as `top` says, and none can before the lock is free, when it is private.
        Some(unsafe { self.read(bottom) })
    }

    /// Takes the oldest job. The owner only.
    pub(crate) fn pop_oldest(&self) -> Option<JobRef> {
        let mut top = lock(&self.lock);
        if self.len_from(*top) == 0 {
            return None;
        }
        // SAFETY: there is a job, and thieves need the lock.
        let job = unsafe { self.read(*top) };
        self.advance(&mut top);
        Some(job)
    }

    /// Makes the oldest job public, if none is. Returns what was wanted. The owner only.
    pub(crate) fn expose(&self) -> u8 {
        let top = lock(&self.lock);
        let wanted = self.public.wanted.load(Ordering::Relaxed);
        if wanted == EXPOSE {
            // Another thread that has asked meanwhile is answered by what follows.
            let _ = self.public.wanted.compare_exchange(
                EXPOSE,
                NOTHING,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        if self.public.split.load(Ordering::Acquire) == *top && self.len_from(*top) > 0 {
            self.public
                .split
                .store(top.wrapping_add(1), Ordering::Release);
        }
        wanted
    }

    /// Makes all jobs public. The owner only.
    pub(crate) fn publish(&self) {
        let _top = lock(&self.lock);
        let bottom = self.owner.bottom.load(Ordering::Relaxed);
        self.public.split.store(bottom, Ordering::Release);
    }

    /// Whether thieves find a job without asking, as of some moment. The owner only.
    #[inline(always)]
    pub(crate) fn is_public(&self) -> bool {
        self.public.split.load(Ordering::Acquire) != self.public.top.load(Ordering::Relaxed)
    }

    /// Tells the owner what to do at its next push.
    pub(crate) fn want(&self, what: u8) {
        if self.public.wanted.load(Ordering::Relaxed) < what {
            self.public.wanted.fetch_max(what, Ordering::Relaxed);
        }
    }

    /// Nothing is wanted of the owner any more.
    pub(crate) fn want_nothing(&self) {
        self.public.wanted.store(NOTHING, Ordering::Relaxed);
    }

    fn len_from(&self, top: usize) -> usize {
        let len = self
            .owner
            .bottom
            .load(Ordering::Acquire)
            .wrapping_sub(top)
            .cast_signed();
        len.max(0).cast_unsigned()
    }

    /// How many jobs there are, as of some moment.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len_from(self.public.top.load(Ordering::Relaxed))
    }

    /// Takes the oldest job if it is public. Where none is, this reads nothing that the owner writes.
    pub(crate) fn steal(&self) -> Option<JobRef> {
        if self.public.split.load(Ordering::Acquire) == self.public.top.load(Ordering::Relaxed) {
            return None;
        }
        let mut top = self.try_lock()?;
        if self.public.split.load(Ordering::Acquire) == *top || self.len_from(*top) == 0 {
            return None;
        }
        // SAFETY: the job is public, so the owner does not take it without the lock.
        let job = unsafe { self.read(*top) };
        self.advance(&mut top);
        Some(job)
    }

    /// Takes the oldest job of an owner that has pushed nothing since it was asked.
    pub(crate) fn steal_private(&self) -> Option<JobRef> {
        if self.public.wanted.load(Ordering::Relaxed) == NOTHING {
            return None;
        }
        let mut top = self.try_lock()?;
        let all = self.len_from(*top);
        if all == 0 {
            return None;
        }
        if self.public.split.load(Ordering::Acquire) == *top {
            let raise = |len| {
                self.public
                    .split
                    .store(top.wrapping_add(len), Ordering::Release);
            };
            raise(all);
            barrier::heavy();
            // The owner has taken the others, or waits for the lock to do so. Those that it has added are private.
            let left = self.len_from(*top).min(all);
            raise(left);
            if left == 0 {
                return None;
            }
        }
        // SAFETY: the job is public now, and was there after the barrier: an owner that pops it from now on takes the lock.
        let job = unsafe { self.read(*top) };
        self.advance(&mut top);
        Some(job)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, usize>> {
        self.lock.try_lock().ok()
    }

    /// The job at `top` was taken.
    fn advance(&self, top: &mut usize) {
        if self.public.split.load(Ordering::Relaxed) == *top {
            self.public
                .split
                .store(top.wrapping_add(1), Ordering::Release);
        }
        *top = top.wrapping_add(1);
        self.public.top.store(*top, Ordering::Relaxed);
    }
}
