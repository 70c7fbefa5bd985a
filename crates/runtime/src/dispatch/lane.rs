//! `lane`: a bounded ring between one producer and one consumer, and the bell by which one wakes the other.
//!
//! A pipeline's stages are joined by lanes. Lamport's queue: each side owns one position and only reads the other's, so
//! neither ever repeats a write. The two ends are values, which `push` and `pop` borrow mutably, so that there is one
//! of each by construction.

use super::sync::{Arc, AtomicUsize, Mutex, Ordering, Padded, UnsafeCell, thread};
use super::wake::{Call, Seen, Token};
use std::sync::PoisonError;

/// A ring with room for `capacity` values, at least 1, and its two ends.
pub(crate) fn lane<T>(capacity: usize) -> (Giver<T>, Taker<T>) {
    let ring = Arc::new(Ring {
        taken: Padded(AtomicUsize::new(0)),
        given: Padded(AtomicUsize::new(0)),
        slots: (0..capacity.max(1))
            .map(|_| UnsafeCell::new(None))
            .collect(),
    });
    (Giver(Arc::clone(&ring)), Taker(ring))
}

/// Values `taken..given` lie in the slots, each at its position modulo their number.
struct Ring<T> {
    taken: Padded<AtomicUsize>,
    given: Padded<AtomicUsize>,
    slots: Box<[UnsafeCell<Option<T>>]>,
}

// SAFETY: a slot is reached by the one giver while it lies outside `taken..given`, and by the one taker while it lies
// within; each moves its position with a release after its last access, and reads the other's with an acquire. So values
// move between threads and are never shared.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: a ring owns nothing but its values.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    fn slot(&self, position: usize) -> &UnsafeCell<Option<T>> {
        &self.slots[position % self.slots.len()]
    }
}

/// The end where values are put in.
pub(crate) struct Giver<T>(Arc<Ring<T>>);

impl<T> Giver<T> {
    /// Whether there is no room. Room that there is stays until a value is put in.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let given = self.0.given.load(Ordering::Relaxed);
        given - self.0.taken.load(Ordering::Acquire) == self.0.slots.len()
    }

    /// Puts a value in, or gives it back where there is no room.
    #[inline]
    pub(crate) fn push(&mut self, value: T) -> Result<(), T> {
        if self.is_full() {
            return Err(value);
        }
        let given = self.0.given.load(Ordering::Relaxed);
        // SAFETY: the slot lies outside `taken..given`, so it is the giver's, which is borrowed mutably; the acquire in
        // `is_full` ordered the taker's last access before this one.
        self.0
            .slot(given)
            .with_mut(|slot| unsafe { *slot = Some(value) });
        // A position that wraps does so after centuries.
        self.0.given.store(given + 1, Ordering::Release);
        Ok(())
    }
}

/// The end where values are taken out.
pub(crate) struct Taker<T>(Arc<Ring<T>>);

impl<T> Taker<T> {
    /// The oldest value, if there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let taken = self.0.taken.load(Ordering::Relaxed);
        if self.0.given.load(Ordering::Acquire) == taken {
            return None;
        }
        // SAFETY: the slot lies within `taken..given`, so it is the taker's, which is borrowed mutably; the acquire above
        // ordered the giver's write before this access.
        let value = self
            .0
            .slot(taken)
            .with_mut(|slot| unsafe { (*slot).take() });
        self.0.taken.store(taken + 1, Ordering::Release);
        value
    }
}

/// Wakes the one thread that sits at it, whoever rings. A ring that comes while nobody waits is not lost.
pub(crate) struct Bell {
    token: Token,
    /// Who sits here. Whoever finds that the owner has parked finds its handle here too: had it taken this lock before
    /// the owner did, then its ring would have come before the owner parked.
    owner: Mutex<Option<thread::Thread>>,
}

impl Bell {
    pub(crate) fn new() -> Bell {
        Bell {
            token: Token::new(),
            owner: Mutex::new(None),
        }
    }

    /// Makes this thread the one that waits. One thread only, before it waits.
    pub(crate) fn sit(&self) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
    }

    /// Whether somebody sits here.
    pub(crate) fn is_taken(&self) -> bool {
        let owner = self.owner.lock();
        owner.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whatever happened before this is visible to the owner after [`Bell::wait`].
    #[inline]
    pub(crate) fn ring(&self) {
        if self.token.set(Call::RING) {
            let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(owner) = &*owner {
                owner.unpark();
            }
        }
    }

    /// Waits for a ring since the last time: spins briefly, then parks. The thread that sits here only.
    pub(crate) fn wait(&self) {
        let _ = self.token.wait(&mut Seen::default());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn values_come_out_in_order_and_no_more_than_there_is_room_for() {
        let (mut giver, mut taker) = lane(3);
        assert_eq!(taker.pop(), None::<u32>);
        for round in 0..5 {
            for i in 0..3 {
                assert!(!giver.is_full());
                assert_eq!(giver.push(round * 3 + i), Ok(()));
            }
            assert_eq!(giver.push(99), Err(99));
            for i in 0..3 {
                assert_eq!(taker.pop(), Some(round * 3 + i));
            }
            assert_eq!(taker.pop(), None);
        }
    }

    #[test]
    fn what_was_not_taken_is_dropped_once() {
        let counted = Arc::new(());
        let (mut giver, mut taker) = lane(4);
        for _ in 0..3 {
            assert!(giver.push(Arc::clone(&counted)).is_ok());
        }
        drop(taker.pop());
        drop((giver, taker));
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn two_threads_pass_many_values_and_wake_each_other() {
        const MANY: u64 = 20_000;
        let (mut giver, mut taker) = lane(2);
        let (full, empty) = (Arc::new(Bell::new()), Arc::new(Bell::new()));
        let (room, news) = (Arc::clone(&full), Arc::clone(&empty));
        let producer = thread::spawn(move || {
            room.sit();
            for value in 0..MANY {
                while giver.is_full() {
                    room.wait();
                }
                assert!(giver.push(value).is_ok());
                news.ring();
            }
        });
        empty.sit();
        for expected in 0..MANY {
            let value = loop {
                match taker.pop() {
                    Some(value) => break value,
                    None => empty.wait(),
                }
            };
            assert_eq!(value, expected);
            full.ring();
        }
        producer.join().unwrap();
    }
}
