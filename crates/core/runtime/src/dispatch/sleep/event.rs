//! The word that one worker waits on.

use super::spin::spin_until;
use crate::dispatch::sync::{AtomicU32, Ordering, thread};

/// The owner is parked, or about to be.
const PARKED: u32 = 1;
/// One step of the sequence number, which lies above the event bits.
const SEQUENCE: u32 = 1 << 8;
/// The bits that the owner clears.
const FLAGS: u32 = SEQUENCE - 1;

/// A set of reasons for a worker to wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Events(u32);

impl Events {
    /// A share lies in the worker's mailbox. Only [`EventWord::advance`] causes it.
    pub(crate) const MAILBOX: Events = Events(2);
    /// Jobs lie in the ring of `fifo`.
    pub(crate) const FIFO: Events = Events(4);
    /// Jobs lie in the ranges of `steal`.
    pub(crate) const STEAL: Events = Events(8);
    /// The pool is being dropped.
    pub(crate) const CLOSE: Events = Events(16);

    #[inline]
    pub(crate) fn contains(self, other: Events) -> bool {
        self.0 & other.0 != 0
    }
}

/// The word that one worker, its owner, waits on. Any thread may signal events in it and advance its sequence number;
/// only the owner waits for them and takes them.
///
/// Events are bits, which the owner clears. The sequence number counts the shares that were put into the owner's
/// mailbox, and the owner remembers the last one it has seen. So it does not write to the cache line on which the next
/// share comes.
#[derive(Debug)]
pub(crate) struct EventWord(AtomicU32);

/// The last sequence number that the owner of an [`EventWord`] has seen.
#[derive(Debug, Default)]
pub(crate) struct LastSequence(u32);

impl EventWord {
    pub(crate) fn new() -> EventWord {
        EventWord(AtomicU32::new(0))
    }

    /// Signals events. `true`: the owner is parked and no other thread has woken it yet, so this one must unpark it.
    #[inline]
    #[must_use]
    pub(crate) fn signal(&self, events: Events) -> bool {
        self.0.fetch_or(events.0, Ordering::AcqRel) & FLAGS == PARKED
    }

    /// Advances the sequence number: a share has come. The owner must have seen the last one. Returns as
    /// [`EventWord::signal`].
    #[inline]
    #[must_use]
    pub(crate) fn advance(&self) -> bool {
        self.0.fetch_add(SEQUENCE, Ordering::AcqRel) & FLAGS == PARKED
    }

    /// Waits for events and takes all of them. What happened before their `signal` or `advance` is visible after.
    pub(crate) fn wait(&self, last: &mut LastSequence) -> Events {
        let changed = |word: u32| word & !PARKED != last.0;
        if !spin_until(|| changed(self.0.load(Ordering::Relaxed)))
            && self
                .0
                .compare_exchange(
                    last.0,
                    last.0 | PARKED,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
        {
            while !changed(self.0.load(Ordering::Relaxed)) {
                thread::park();
            }
        }
        let mut word = self.0.load(Ordering::Acquire);
        if word & FLAGS != 0 {
            // Not a store: this reads the latest change, so none is overwritten unread.
            word = self.0.fetch_and(!FLAGS, Ordering::AcqRel);
        }
        let sequence = word & !FLAGS;
        let mailbox = if sequence == last.0 {
            0
        } else {
            Events::MAILBOX.0
        };
        last.0 = sequence;
        Events(word & FLAGS & !PARKED | mailbox)
    }
}
