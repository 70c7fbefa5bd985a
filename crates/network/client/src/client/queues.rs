//! Connections that listeners have and the application has not taken yet.

use std::collections::{BTreeMap, HashMap};

/// The slots of such connections. Each operation takes a time that hardly depends on how many there are.
#[derive(Debug, Default)]
pub struct Queues {
    /// By listener, in the order in which they came.
    by_listener: HashMap<u32, BTreeMap<u64, u32>>,
    /// The listener of each slot, and its place there.
    places: HashMap<u32, (u32, u64)>,
    next: u64,
    /// Slots whose connections went to another application, to be given back.
    moved: Vec<u32>,
}

impl Queues {
    /// A connection came to a listener, of which the thread that listens may not know the number yet.
    pub fn add(&mut self, listener: u32, slot: u32) {
        self.next += 1;
        let queue = self.by_listener.entry(listener).or_default();
        queue.insert(self.next, slot);
        self.places.insert(slot, (listener, self.next));
    }

    /// The next connection of a listener is taken.
    pub fn take(&mut self, listener: u32) -> Option<u32> {
        let (_, slot) = self.by_listener.get_mut(&listener)?.pop_first()?;
        self.places.remove(&slot);
        Some(slot)
    }

    /// The connection of a slot went to another application. Nothing happens if it was taken before.
    pub fn moved(&mut self, slot: u32) {
        let Some((listener, place)) = self.places.remove(&slot) else {
            return;
        };
        if let Some(queue) = self.by_listener.get_mut(&listener) {
            queue.remove(&place);
        }
        self.moved.push(slot);
    }

    /// The slots that are to be given back, once.
    pub fn take_moved(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.moved)
    }

    /// How many connections a listener has.
    pub fn count(&self, listener: u32) -> usize {
        self.by_listener.get(&listener).map_or(0, BTreeMap::len)
    }

    /// A listener is no more. The slots of its connections.
    pub fn remove(&mut self, listener: u32) -> Vec<u32> {
        let queue = self.by_listener.remove(&listener).unwrap_or_default();
        let slots: Vec<u32> = queue.into_values().collect();
        for slot in &slots {
            self.places.remove(slot);
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_taken_in_order_and_what_moved_is_given_back() {
        let mut queues = Queues::default();
        for slot in 0..100_000 {
            queues.add(slot % 2, slot);
        }
        for slot in (0..100_000).filter(|slot| slot % 3 == 0) {
            queues.moved(slot);
        }
        assert_eq!(queues.count(0), 33_333);
        assert_eq!(queues.take_moved().len(), 33_334);
        assert!(queues.take_moved().is_empty());
        let taken: Vec<u32> = std::iter::from_fn(|| queues.take(0)).collect();
        let expected = (0..100_000).filter(|slot| slot % 2 == 0 && slot % 3 != 0);
        assert!(taken.iter().copied().eq(expected));
        // What was taken is the application's to close.
        queues.moved(2);
        assert!(queues.take_moved().is_empty());
        // A slot is used again.
        queues.add(1, 2);
        let left = queues.remove(1);
        assert_eq!(left.len(), 33_334);
        assert_eq!(left.last(), Some(&2));
        queues.moved(2);
        assert!(queues.take_moved().is_empty());
        assert_eq!((queues.count(1), queues.take(1)), (0, None));
    }
}
