//! Places that one thing after another has, and the number of each. A number names its thing alone, however many come
//! later.

use std::collections::HashSet;

use super::SocketId;

#[derive(Debug)]
struct Place<T> {
    /// How many had the place before.
    generation: u32,
    value: Option<T>,
}

/// All of one kind.
#[derive(Debug)]
pub(super) struct Slab<T> {
    /// The index of the first place. Kinds do not share indices.
    first: u32,
    places: Vec<Place<T>>,
    free: Vec<u32>,
    /// Indices that are in a queue although what they were of is gone.
    left: HashSet<u32>,
}

impl<T> Slab<T> {
    /// Whose indices begin at `first`.
    pub fn new(first: u32) -> Slab<T> {
        Slab {
            first,
            places: Vec::new(),
            free: Vec::new(),
            left: HashSet::new(),
        }
    }

    fn place(&self, index: u32) -> Option<&Place<T>> {
        self.places.get(index.checked_sub(self.first)? as usize)
    }

    /// The number that the next one gets.
    pub fn next(&self) -> SocketId {
        let new = self.first + self.places.len() as u32;
        let index = self.free.last().copied().unwrap_or(new);
        self.id(index)
    }

    /// Adds one, and returns its index.
    pub fn insert(&mut self, value: T) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                value: None,
            });
            self.first + self.places.len() as u32 - 1
        });
        self.places[(index - self.first) as usize].value = Some(value);
        index
    }

    /// A place whose generations are used up is not used again.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let at = index.checked_sub(self.first)?;
        let place = self.places.get_mut(at as usize)?;
        let value = place.value.take()?;
        if let Some(next) = place.generation.checked_add(1) {
            place.generation = next;
            self.free.push(index);
        }
        Some(value)
    }

    /// What was at an index is gone, and the index stays in a queue.
    pub fn leave_queued(&mut self, index: u32) {
        self.left.insert(index);
    }

    /// Whether an index was in a queue when its thing went. It is then the next one's, or out of the queue.
    pub fn take_queued(&mut self, index: u32) -> bool {
        !self.left.is_empty() && self.left.remove(&index)
    }

    pub fn get(&self, index: u32) -> Option<&T> {
        self.place(index)?.value.as_ref()
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let at = index.checked_sub(self.first)?;
        self.places.get_mut(at as usize)?.value.as_mut()
    }

    /// The number of what is at an index.
    pub fn id(&self, index: u32) -> SocketId {
        let generation = self.place(index).map_or(0, |place| place.generation);
        SocketId { index, generation }
    }

    /// The index of one that is still there.
    pub fn index(&self, id: SocketId) -> Option<u32> {
        let place = self.place(id.index)?;
        (place.generation == id.generation && place.value.is_some()).then_some(id.index)
    }

    /// All, with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = self.places.iter().zip(self.first..);
        places.filter_map(|(place, index)| Some((index, place.value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_one_thing_for_ever() {
        let mut slab = Slab::new(1 << 30);
        let first = slab.insert('a');
        let id = slab.id(first);
        assert_eq!((id.index, slab.index(id)), (1 << 30, Some(first)));
        assert_eq!(slab.remove(first), Some('a'));
        assert_eq!((slab.index(id), slab.remove(first)), (None, None));
        let next = slab.next();
        let second = slab.insert('b');
        assert_eq!((second, slab.id(second)), (first, next));
        assert_ne!(next, id);
        assert_eq!(slab.index(id), None);
        assert_eq!(slab.iter().collect::<Vec<_>>(), [(first, &'b')]);
        // Those of another kind.
        assert_eq!((slab.get(0), slab.get(1 << 31)), (None, None));
    }

    #[test]
    fn no_number_comes_again_when_they_are_used_up() {
        let mut slab = Slab::new(0);
        let index = slab.insert(());
        slab.places[0].generation = u32::MAX;
        let last = slab.id(index);
        slab.remove(index);
        let other = slab.insert(());
        assert_ne!(other, index);
        assert_eq!(slab.index(last), None);
    }
}
