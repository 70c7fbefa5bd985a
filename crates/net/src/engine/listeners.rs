//! Ports that connections may come to.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::{Owner, SocketId, SocketOptions, unspecified};

#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    pub id: SocketId,
    pub owner: Owner,
    pub local: SocketAddr,
    /// Connections that may be on their way at a time; more are asked to show that they are there (SYN cookies).
    pub backlog: u32,
    pub options: SocketOptions,
    /// Others may have the address too.
    pub share: bool,
    /// Connections come to it. They wait to be tried again where they come to none at an address.
    pub accepts: bool,
}

/// Several may have one address if they say so: connections go to one by a hash of their ends.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    by_address: HashMap<SocketAddr, Vec<Listener>>,
    addresses: HashMap<SocketId, SocketAddr>,
    numbers: u32,
}

/// The numbers of listeners begin here, so that no connection has the same.
const FIRST: u32 = 1 << 31;

impl Listeners {
    /// None if the address is taken, unless all who have it share it.
    pub fn insert(
        &mut self,
        owner: Owner,
        local: SocketAddr,
        backlog: u32,
        options: SocketOptions,
        share: bool,
    ) -> Option<SocketId> {
        let mut there = self.by_address.get(&local).into_iter().flatten();
        if there.any(|other| !(share && other.share)) {
            return None;
        }
        Some(self.add(|id| Listener {
            id,
            owner,
            local,
            backlog,
            options,
            share,
            accepts: true,
        }))
    }

    /// Another listener for the same connections as one that is there.
    pub fn join(&mut self, other: &Listener, owner: Owner) -> SocketId {
        self.add(|id| Listener {
            id,
            owner,
            accepts: true,
            ..*other
        })
    }

    fn add(&mut self, listener: impl FnOnce(SocketId) -> Listener) -> SocketId {
        self.numbers += 1;
        let id = SocketId {
            index: FIRST | self.numbers,
            generation: 0,
        };
        let listener = listener(id);
        self.addresses.insert(id, listener.local);
        let there = self.by_address.entry(listener.local).or_default();
        there.push(listener);
        id
    }

    pub fn set_accepts(&mut self, id: SocketId, on: bool) {
        let there = self.addresses.get(&id);
        let there = there.and_then(|local| self.by_address.get_mut(local));
        for listener in there.into_iter().flatten().filter(|found| found.id == id) {
            listener.accepts = on;
        }
    }

    /// Another listener at the same address to which connections come, and its owner.
    pub fn sibling(&self, id: SocketId) -> Option<(SocketId, Owner)> {
        let there = self.by_address.get(&self.get(id)?.local)?;
        let mut others = there.iter().filter(|other| other.accepts && other.id != id);
        others.next().map(|other| (other.id, other.owner))
    }

    /// The listener for a connection to `local` whose ends have this hash: one to which connections come, if there is one.
    pub fn find(&self, local: &SocketAddr, hash: u64) -> Option<&Listener> {
        let found =
            (self.by_address.get(local)).or_else(|| self.by_address.get(&unspecified(local)))?;
        let all = || found.iter().filter(|listener| listener.accepts);
        match all().count() as u64 {
            0 => found.first(),
            count => all().nth((hash % count) as usize),
        }
    }

    /// Whether an address is taken.
    pub fn has(&self, local: &SocketAddr) -> bool {
        self.by_address.contains_key(local)
    }

    /// Where a listener is; of a connection at once none.
    fn address(&self, id: SocketId) -> Option<SocketAddr> {
        let is_listener = id.index >= FIRST;
        is_listener.then(|| self.addresses.get(&id).copied())?
    }

    pub fn get(&self, id: SocketId) -> Option<&Listener> {
        let there = self.by_address.get(&self.address(id)?)?;
        there.iter().find(|listener| listener.id == id)
    }

    pub fn remove(&mut self, id: SocketId) -> Option<Listener> {
        let local = self.address(id)?;
        self.addresses.remove(&id);
        let there = self.by_address.get_mut(&local)?;
        let at = there.iter().position(|listener| listener.id == id)?;
        let removed = there.remove(at);
        if there.is_empty() {
            self.by_address.remove(&local);
        }
        Some(removed)
    }
}
