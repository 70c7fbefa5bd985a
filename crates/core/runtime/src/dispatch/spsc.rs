//! A bounded ring between one sender and one receiver (SPSC), which joins two stages of a pipeline.
//!
//! It is Lamport's queue: each side owns one position and only reads the other's, so neither repeats a write. The two
//! ends are values that `push` and `pop` borrow mutably, so there is one of each by construction.

use super::sync::{Arc, AtomicUsize, Ordering, Padded, UnsafeCell};

/// A ring with room for `capacity` values, at least 1, and its two ends.
pub(crate) fn ring<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let ring = Arc::new(Ring {
        head: Padded(AtomicUsize::new(0)),
        tail: Padded(AtomicUsize::new(0)),
        slots: (0..capacity.max(1))
            .map(|_| UnsafeCell::new(None))
            .collect(),
    });
    (Sender(Arc::clone(&ring)), Receiver(ring))
}

/// Values `head..tail` lie in the slots, each at its position modulo their number.
struct Ring<T> {
    head: Padded<AtomicUsize>,
    tail: Padded<AtomicUsize>,
    slots: Box<[UnsafeCell<Option<T>>]>,
}

// SAFETY: a slot is reached by the one sender while it lies outside `head..tail`, and by the one receiver while it lies
// within. Each moves its position with a release after its last access, and reads the other's with an acquire. So
// values move between threads and are never shared.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: a ring owns nothing but its values.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    fn slot(&self, position: usize) -> &UnsafeCell<Option<T>> {
        &self.slots[position % self.slots.len()]
    }
}

/// The end where values are put in.
pub(crate) struct Sender<T>(Arc<Ring<T>>);

impl<T> Sender<T> {
    /// Whether there is no room. Room that there is stays until a value is put in.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let tail = self.0.tail.load(Ordering::Relaxed);
        tail - self.0.head.load(Ordering::Acquire) == self.0.slots.len()
    }

    /// Puts a value in, or gives it back where there is no room.
    #[inline]
    pub(crate) fn push(&mut self, value: T) -> Result<(), T> {
        if self.is_full() {
            return Err(value);
        }
        let tail = self.0.tail.load(Ordering::Relaxed);
        // SAFETY: the slot lies outside `head..tail`, so it is the sender's, which is borrowed mutably; the acquire in
        // `is_full` ordered the receiver's last access before this one.
        self.0
            .slot(tail)
            .with_mut(|slot| unsafe { *slot = Some(value) });
        // A position that wraps does so after centuries.
        self.0.tail.store(tail + 1, Ordering::Release);
        Ok(())
    }
}

/// The end where values are taken out.
pub(crate) struct Receiver<T>(Arc<Ring<T>>);

impl<T> Receiver<T> {
    /// The oldest value, if there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let head = self.0.head.load(Ordering::Relaxed);
        if self.0.tail.load(Ordering::Acquire) == head {
            return None;
        }
        // SAFETY: the slot lies within `head..tail`, so it is the receiver's, which is borrowed mutably; the acquire
        // above ordered the sender's write before this access.
        let value = self.0.slot(head).with_mut(|slot| unsafe { (*slot).take() });
        self.0.head.store(head + 1, Ordering::Release);
        value
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::dispatch::sleep::Notify;
    use crate::dispatch::sync::thread;

    #[test]
    fn values_come_out_in_order_and_no_more_than_there_is_room_for() {
        let (mut sender, mut receiver) = ring(3);
        assert_eq!(receiver.pop(), None::<u32>);
        for round in 0..5 {
            for i in 0..3 {
                assert!(!sender.is_full());
                assert_eq!(sender.push(round * 3 + i), Ok(()));
            }
            assert_eq!(sender.push(99), Err(99));
            for i in 0..3 {
                assert_eq!(receiver.pop(), Some(round * 3 + i));
            }
            assert_eq!(receiver.pop(), None);
        }
    }

    #[test]
    fn what_was_not_taken_is_dropped_once() {
        let counted = Arc::new(());
        let (mut sender, mut receiver) = ring(4);
        for _ in 0..3 {
            assert!(sender.push(Arc::clone(&counted)).is_ok());
        }
        drop(receiver.pop());
        drop((sender, receiver));
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn two_threads_pass_many_values_and_wake_each_other() {
        const MANY: u64 = if cfg!(miri) { 200 } else { 20_000 };
        let (mut sender, mut receiver) = ring(2);
        let (full, empty) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (room, news) = (Arc::clone(&full), Arc::clone(&empty));
        let producer = thread::spawn(move || {
            room.register();
            for value in 0..MANY {
                while sender.is_full() {
                    room.wait();
                }
                assert!(sender.push(value).is_ok());
                news.notify();
            }
        });
        empty.register();
        for expected in 0..MANY {
            let value = loop {
                match receiver.pop() {
                    Some(value) => break value,
                    None => empty.wait(),
                }
            };
            assert_eq!(value, expected);
            full.notify();
        }
        producer.join().unwrap();
    }
}
