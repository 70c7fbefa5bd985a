//! Waking a thread that is not known beforehand.

use super::event::{EventWord, Events, LastSequence};
use crate::dispatch::sync::{Mutex, lock, thread};

/// Wakes the one thread that is registered. A notification that comes while it does not wait is not lost.
pub(crate) struct Notify {
    events: EventWord,
    /// The registered thread. A notifier that finds it parked also finds its handle here: had the notifier taken this
    /// lock before the thread registered, then its signal would have come before the thread parked.
    owner: Mutex<Option<thread::Thread>>,
}

impl Notify {
    pub(crate) fn new() -> Notify {
        Notify {
            events: EventWord::new(),
            owner: Mutex::new(None),
        }
    }

    /// Makes this thread the one that waits. For one thread only, before it waits.
    pub(crate) fn register(&self) {
        *lock(&self.owner) = Some(thread::current());
    }

    /// Whether a thread is registered.
    pub(crate) fn is_registered(&self) -> bool {
        lock(&self.owner).is_some()
    }

    /// Wakes the registered thread. What happened before this is visible to it after [`Notify::wait`].
    #[inline]
    pub(crate) fn notify(&self) {
        if self.events.signal(Events::FIFO)
            && let Some(owner) = &*lock(&self.owner)
        {
            owner.unpark();
        }
    }

    /// Waits for a notification since the last time: spins briefly, then parks. The registered thread only.
    pub(crate) fn wait(&self) {
        let _ = self.events.wait(&mut LastSequence::default());
    }
}
