//! Waiting: a token per worker, and a countdown for the caller of a batch. `README.md` has the argument why
//! no wake-up is lost.

use super::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell, thread};

/// Iterations before the clock is read for the first time; most waits end within them.
#[cfg(not(loom))]
const FIRST_SPINS: u32 = 200;
/// Iterations between two readings of the clock.
#[cfg(not(loom))]
const SPINS: u32 = 32;
/// A waiter spins this long, gives its processor away once, and again, then parks. Waking a parked thread on a virtual
/// machine costs from tens of microseconds to more than a hundred, so the sum is of that order: a wait costs not much
/// more than twice what the better of spinning and parking would have cost.
#[cfg(not(loom))]
const PHASES: [std::time::Duration; 2] = [
    std::time::Duration::from_micros(10),
    std::time::Duration::from_micros(150),
];

/// Spins until `ready`, or until it is time to park (`false`).
#[cfg(not(loom))]
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    let mut round = |n: u32| {
        for _ in 0..n {
            if ready() {
                return true;
            }
            super::sync::spin_loop();
        }
        false
    };
    if round(FIRST_SPINS) {
        return true;
    }
    let start = std::time::Instant::now();
    for phase in PHASES {
        while start.elapsed() < phase {
            if round(SPINS) {
                return true;
            }
        }
        // The thread that is waited for may need this very processor.
        thread::yield_now();
    }
    round(1)
}

/// Under loom a spin is one look: longer ones add states and no behaviour.
#[cfg(loom)]
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    ready()
}

/// The owner is parked, or about to.
const PARKED: u32 = 1;
/// What the owner takes out of the word; above it letters are counted.
const FLAGS: u32 = LETTER - 1;
const LETTER: u32 = 1 << 8;

/// What a worker is asked to look at; a set of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call(u32);

impl Call {
    /// A share lies in the worker's mailbox. Said by [`Token::post`] alone.
    pub(crate) const MAIL: Call = Call(2);
    /// Jobs lie in the shared ring.
    pub(crate) const RING: Call = Call(4);
    /// Jobs can be stolen.
    pub(crate) const SPANS: Call = Call(8);
    /// The pool is being dropped.
    pub(crate) const CLOSE: Call = Call(16);

    #[inline]
    pub(crate) fn has(self, other: Call) -> bool {
        self.0 & other.0 != 0
    }
}

/// The word one worker waits on. Anyone may set calls in it and post letters, only its owner waits and takes them.
///
/// Calls are bits, which the owner clears. Letters are counted, and the owner remembers how many it has seen, so it
/// does not write to a cache line that the next letter comes on.
#[derive(Debug)]
pub(crate) struct Token(AtomicU32);

/// The letters that the owner of a token has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen(u32);

impl Token {
    pub(crate) fn new() -> Token {
        Token(AtomicU32::new(0))
    }

    /// Leaves a call. `true`: the owner is parked and nobody has woken it yet, so the caller of this must unpark it.
    #[inline]
    #[must_use]
    pub(crate) fn set(&self, call: Call) -> bool {
        self.0.fetch_or(call.0, Ordering::AcqRel) & FLAGS == PARKED
    }

    /// Says that a letter has come, which the owner must have seen before the next; returns as [`Token::set`].
    #[inline]
    #[must_use]
    pub(crate) fn post(&self) -> bool {
        self.0.fetch_add(LETTER, Ordering::AcqRel) & FLAGS == PARKED
    }

    /// Waits for calls and letters and takes all of them. Whatever happened before their `set` or `post` is visible
    /// after.
    pub(crate) fn wait(&self, seen: &mut Seen) -> Call {
        let called = |word: u32| word & !PARKED != seen.0;
        if !spin_until(|| called(self.0.load(Ordering::Relaxed)))
            && self
                .0
                .compare_exchange(
                    seen.0,
                    seen.0 | PARKED,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
        {
            while !called(self.0.load(Ordering::Relaxed)) {
                thread::park();
            }
        }
        let mut word = self.0.load(Ordering::Acquire);
        if word & FLAGS != 0 {
            // Not a store: this reads the latest change, so none is overwritten unread.
            word = self.0.fetch_and(!FLAGS, Ordering::AcqRel);
        }
        let letters = word & !FLAGS;
        let mail = if letters == seen.0 { 0 } else { Call::MAIL.0 };
        seen.0 = letters;
        Call(word & FLAGS & !PARKED | mail)
    }
}

/// The waiter has left its handle and parks until [`OPEN`].
const WAITING: u64 = 1;
/// One job, in the units of the word.
const ONE: u64 = 2;
/// Set by the last finisher when the waiter parked: nobody will touch the countdown again.
const OPEN: u64 = u64::MAX;

/// Counts the jobs of a batch down to zero. It lives in the frame of the thread that waits, which is free to
/// return as soon as the count is zero: finishers touch nothing after their decrement, except that the last one,
/// when the waiter has parked, releases it by a store of its own.
#[derive(Debug)]
pub(crate) struct Countdown {
    word: AtomicU64,
    waiter: UnsafeCell<Option<thread::Thread>>,
}

impl Countdown {
    pub(crate) fn new(jobs: u32) -> Countdown {
        Countdown {
            word: AtomicU64::new(u64::from(jobs) * ONE),
            waiter: UnsafeCell::new(None),
        }
    }

    /// Reports `jobs` jobs as ended. The countdown may be gone when this returns, unless the caller owns it.
    #[inline]
    pub(crate) fn finish(&self, jobs: u32) {
        let sum = u64::from(jobs) * ONE;
        if self.word.fetch_sub(sum, Ordering::AcqRel) - sum == WAITING {
            self.release();
        }
    }

    #[cold]
    fn release(&self) {
        // SAFETY: the waiter wrote its handle before it set WAITING, which the caller of this has read, and it
        // neither writes it again nor leaves before OPEN is stored below. Only the last finisher comes here.
        let waiter = self.waiter.with_mut(|w| unsafe { (*w).take() });
        self.word.store(OPEN, Ordering::Release);
        if let Some(waiter) = waiter {
            waiter.unpark();
        }
    }

    /// Waits until all jobs are reported. One thread only, the owner.
    pub(crate) fn wait(&self) {
        if spin_until(|| self.word.load(Ordering::Acquire) == 0) {
            return;
        }
        // SAFETY: nobody reads the handle before WAITING is set below, and only the owner sets it, once.
        self.waiter
            .with_mut(|w| unsafe { *w = Some(thread::current()) });
        if self.word.fetch_or(WAITING, Ordering::AcqRel) == 0 {
            return;
        }
        while self.word.load(Ordering::Acquire) != OPEN {
            thread::park();
        }
    }
}
