//! The slots of applications: which are in use, and whether their pages are with the system.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

use rustix::fs::FallocateFlags;

use crate::engine::{Buffers, Memory, Owner};
use crate::layout::Layout;
use crate::memory::{ReceiveBuffer, Region, SendBuffer, clear_ring};

/// Free slots that keep their pages, so that short connections do not touch new ones each.
const WARM: usize = 64;

/// The slots of all applications: the memory of an engine.
#[derive(Clone, Debug, Default)]
pub struct Pools(Rc<RefCell<HashMap<Owner, Pool>>>);

/// The slots of an application.
#[derive(Debug)]
struct Pool {
    file: File,
    region: Arc<Region>,
    layout: Layout,
    slots: Vec<Slot>,
    /// Free slots that have pages, the last first.
    warm: Vec<u32>,
    /// Free slots that have none, but for those that were never in use.
    cold: Vec<u32>,
    /// Slots that the engine has.
    held: u32,
}

/// A slot is free when neither side has it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u32,
    engine: bool,
    application: bool,
}

impl Pools {
    /// Adds those of an application.
    pub fn add(&self, owner: Owner, file: File, region: Arc<Region>, layout: Layout) {
        let pool = Pool {
            file,
            region,
            layout,
            slots: Vec::new(),
            warm: Vec::new(),
            cold: Vec::new(),
            held: 0,
        };
        self.0.borrow_mut().insert(owner, pool);
    }

    /// Removes those of an application, of which the engine has none any more, or releases them later.
    pub fn remove(&self, owner: Owner) {
        self.0.borrow_mut().remove(&owner);
    }

    fn with<R>(&self, owner: Owner, f: impl FnOnce(&mut Pool) -> R) -> Option<R> {
        self.0.borrow_mut().get_mut(&owner).map(f)
    }

    /// The application has a slot, which the engine has, from now on. Its generation.
    pub fn hand_over(&self, owner: Owner, slot: u32) -> Option<u32> {
        self.with(owner, |pool| {
            let slot = &mut pool.slots[slot as usize];
            slot.application = true;
            slot.generation
        })
    }

    /// The application no longer has a slot.
    pub fn take_back(&self, owner: Owner, slot: u32) {
        self.with(owner, |pool| {
            pool.slots[slot as usize].application = false;
            pool.settle(slot);
        });
    }

    /// Slots that the engine has.
    pub fn held(&self, owner: Owner) -> u32 {
        self.with(owner, |pool| pool.held).unwrap_or(0)
    }

    /// Gives the pages of all free slots back to the system.
    pub fn trim(&self) {
        self.0
            .borrow_mut()
            .values_mut()
            .for_each(|pool| pool.trim(0));
    }
}

impl Pool {
    fn settle(&mut self, slot: u32) {
        let state = self.slots[slot as usize];
        if !state.engine && !state.application {
            self.warm.push(slot);
            if self.warm.len() > 2 * WARM {
                self.trim(WARM);
            }
        }
    }

    /// Gives the pages of free slots back, but for those of the `keep` latest.
    fn trim(&mut self, keep: usize) {
        let surplus = self.warm.len().saturating_sub(keep);
        for slot in self.warm.drain(..surplus) {
            let slots = self.layout.slots();
            let (at, len) = (slots.at(slot) as u64, slots.stride as u64);
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if let Err(error) = rustix::fs::fallocate(&self.file, how, at, len) {
                tracing::debug!("memory of a connection is kept: {error}");
            }
            self.cold.push(slot);
        }
    }

    fn allocate(&mut self) -> Option<Buffers> {
        let count = self.layout.slots().count;
        let slot = match self.warm.pop().or_else(|| self.cold.pop()) {
            Some(slot) => slot,
            None if (self.slots.len() as u32) < count => {
                self.slots.push(Slot::default());
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        let state = &mut self.slots[slot as usize];
        // 0 is before the first.
        state.generation = state.generation.wrapping_add(1).max(1);
        state.engine = true;
        self.held += 1;
        let slots = self.layout.slots();
        let send = slots.send(&self.region, slot);
        let receive = slots.receive(&self.region, slot);
        clear_ring(&send);
        clear_ring(&receive);
        Some(Buffers {
            send: SendBuffer::new(&send),
            receive: ReceiveBuffer::new(&receive),
            slot,
        })
    }

    fn release(&mut self, slot: u32) {
        self.slots[slot as usize].engine = false;
        self.held -= 1;
        self.settle(slot);
    }
}

impl Memory for Pools {
    fn allocate(&mut self, owner: Owner) -> Option<Buffers> {
        self.with(owner, Pool::allocate).flatten()
    }

    fn release(&mut self, owner: Owner, slot: u32) {
        self.with(owner, |pool| pool.release(slot));
    }

    fn receive_size(&self, owner: Owner) -> u64 {
        self.with(owner, |pool| pool.layout.sizes().receive.into())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::create;
    use crate::layout::Sizes;
    use crate::memory::Span;

    const OWNER: Owner = Owner(7);

    fn pools() -> (Pools, File, Arc<Region>, Layout) {
        let layout = Layout::new(Sizes {
            connections: 256,
            send: 4096,
            receive: 4096,
        })
        .unwrap();
        let (file, region) = create(&layout).unwrap();
        let pools = Pools::default();
        let own = file.try_clone().unwrap();
        pools.add(OWNER, own, Arc::clone(&region), layout);
        (pools, file, region, layout)
    }

    fn pages(file: &File) -> u64 {
        use std::os::unix::fs::MetadataExt;
        file.metadata().unwrap().blocks() / 8
    }

    #[test]
    fn a_slot_is_free_when_both_sides_have_given_it_back() {
        let (mut pools, ..) = pools();
        let slot = pools.allocate(OWNER).unwrap().slot;
        let first = pools.hand_over(OWNER, slot).unwrap();
        pools.release(OWNER, slot);
        let other = pools.allocate(OWNER).unwrap().slot;
        assert_ne!(other, slot);
        pools.take_back(OWNER, slot);
        assert_eq!(pools.allocate(OWNER).unwrap().slot, slot);
        assert_ne!(pools.hand_over(OWNER, slot).unwrap(), first);
        // One that the application was never told of.
        pools.release(OWNER, other);
        assert_eq!(pools.allocate(OWNER).unwrap().slot, other);
        assert_eq!(pools.held(OWNER), 2);
    }

    #[test]
    fn there_are_so_many_slots_and_no_more() {
        let (mut pools, ..) = pools();
        let all: Vec<_> = std::iter::from_fn(|| pools.allocate(OWNER)).collect();
        assert_eq!(all.len(), 256);
        pools.release(OWNER, 17);
        assert_eq!(pools.allocate(OWNER).unwrap().slot, 17);
        assert!(pools.allocate(Owner(8)).is_none());
    }

    #[test]
    fn memory_goes_back_to_the_system() {
        let (mut pools, file, region, layout) = pools();
        let before = pages(&file);
        let touch = |slot| {
            let slots = layout.slots();
            Span::new(&region, slots.at(slot), slots.stride).write(0, &vec![1; slots.stride]);
        };
        let of_a_slot = (layout.slots().stride / 4096) as u64;
        let slots: Vec<u32> = (0..256)
            .map(|_| pools.allocate(OWNER).unwrap().slot)
            .collect();
        slots.iter().for_each(|&slot| touch(slot));
        assert_eq!(pages(&file), before + 256 * of_a_slot);
        slots.iter().for_each(|&slot| pools.release(OWNER, slot));
        assert!(pages(&file) <= before + 2 * WARM as u64 * of_a_slot);
        pools.trim();
        assert_eq!(pages(&file), before);
        // A slot begins anew, whatever was in its memory.
        let mut buffers = pools.allocate(OWNER).unwrap();
        touch(buffers.slot);
        pools.release(OWNER, buffers.slot);
        buffers = pools.allocate(OWNER).unwrap();
        assert_eq!(buffers.send.written(), Ok(0));
        assert_eq!(buffers.receive.consumed(), Ok(0));
    }
}
