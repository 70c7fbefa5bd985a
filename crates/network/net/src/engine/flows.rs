//! The table of flows: by their ends, and by number.

use std::collections::HashMap;
use std::net::IpAddr;

use super::slab::Slab;
use super::{Owner, SocketId};
use crate::tcp::{Connection, Ends};
use crate::time::Time;

/// A connection and what the engine knows of it. The connection begins with two cache lines of what each segment needs.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Flow {
    pub connection: Connection,
    pub ends: Ends,
    pub owner: Owner,
    /// The place of its rings in the owner's memory, until they are given back.
    pub slot: Slot,
    /// The listener that it came by.
    pub listener: Option<SocketId>,
    /// It is in the queue of those that may have something to send; of those of which the application should hear.
    pub queued: bool,
    pub announced: bool,
    /// The application is done with it.
    pub closed: bool,
    /// The deadline that the wheel has.
    pub timer: Time,
}

/// A place of rings, or none, in four bytes: with eight a flow would not fit its cache lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(u32);

impl Slot {
    const NONE: Slot = Slot(u32::MAX);

    pub fn new(number: u32) -> Slot {
        assert_ne!(number, Slot::NONE.0, "a slot of the memory");
        Slot(number)
    }

    pub fn get(self) -> Option<u32> {
        (self.0 != Slot::NONE.0).then_some(self.0)
    }

    pub fn take(&mut self) -> Option<u32> {
        std::mem::replace(self, Slot::NONE).get()
    }
}

/// How often the cache of recent flows had what was looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// It had.
    pub hits: u64,
    /// It had not, and the table was asked.
    pub misses: u64,
}

/// Entries of the cache. A packet after another of the same flow is the common case.
const RECENT: usize = 512;
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Flows {
    flows: Slab<Box<Flow>>,
    by_ends: HashMap<Ends, u32>,
    /// Flows that packets came for, by a cheap hash of their ends.
    recent: Box<[u32; RECENT]>,
    pub cache: CacheCounters,
}

fn cheap_hash((local, remote): &Ends) -> usize {
    let address = match remote.ip() {
        IpAddr::V4(ip) => u64::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits() as u64 ^ (ip.to_bits() >> 64) as u64,
    };
    let ports = u64::from(remote.port()) << 16 | u64::from(local.port());
    let mixed = (address ^ ports << 24).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 48) as usize % RECENT
}

impl Flows {
    pub fn new() -> Flows {
        Flows {
            flows: Slab::new(0),
            by_ends: HashMap::new(),
            recent: Box::new([NONE; RECENT]),
            cache: CacheCounters::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.by_ends.len()
    }

    pub fn insert(&mut self, flow: Flow) -> u32 {
        let ends = flow.ends;
        let index = self.flows.insert(Box::new(flow));
        self.by_ends.insert(ends, index);
        if self.flows.take_queued(index)
            && let Some(flow) = self.flows.get_mut(index)
        {
            flow.queued = true;
        }
        index
    }

    /// The index of a flow that is gone is out of the queue.
    pub fn dequeued(&mut self, index: u32) {
        self.flows.take_queued(index);
    }

    pub fn remove(&mut self, index: u32) -> Option<Box<Flow>> {
        let flow = self.flows.remove(index)?;
        if flow.queued {
            self.flows.leave_queued(index);
        }
        self.by_ends.remove(&flow.ends);
        let recent = &mut self.recent[cheap_hash(&flow.ends)];
        if *recent == index {
            *recent = NONE;
        }
        Some(flow)
    }

    /// The flow of a packet.
    pub fn find(&mut self, ends: &Ends) -> Option<u32> {
        let recent = self.recent[cheap_hash(ends)];
        if let Some(flow) = self.get(recent)
            && flow.ends == *ends
        {
            self.cache.hits += 1;
            return Some(recent);
        }
        let index = *self.by_ends.get(ends)?;
        self.cache.misses += 1;
        self.recent[cheap_hash(ends)] = index;
        Some(index)
    }

    pub fn contains(&self, ends: &Ends) -> bool {
        self.by_ends.contains_key(ends)
    }

    pub fn get(&self, index: u32) -> Option<&Flow> {
        self.flows.get(index).map(Box::as_ref)
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut Flow> {
        self.flows.get_mut(index).map(Box::as_mut)
    }

    pub fn id(&self, index: u32) -> SocketId {
        self.flows.id(index)
    }

    /// The index of a socket that is still there.
    pub fn index(&self, id: SocketId) -> Option<u32> {
        self.flows.index(id)
    }

    pub fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_ends.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a connection takes beside its rings and what is on its way.
    #[test]
    fn a_flow_is_small() {
        let (flow, connection) = (size_of::<Flow>(), size_of::<Connection>());
        assert_eq!(std::mem::offset_of!(Flow, connection), 0);
        println!("{flow} bytes, of which {connection} for the connection");
        assert!(
            flow <= 1024,
            "{flow} bytes, of which {connection} for the connection"
        );
    }
}
