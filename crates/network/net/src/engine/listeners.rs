//! Ports that connections may come to.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::slab::Slab;
use super::{Owner, SocketId, SocketOptions, unspecified};

/// The indices of listeners begin here, so that no other socket has the same.
const FIRST: u32 = 1 << 31;
/// Connections that may be on their way to a listener at most, as Linux's `somaxconn`: a backlog is memory that peers fill.
const MAX_BACKLOG: u32 = 4096;

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

/// The listeners of an address: those that connections come to, and others. All share it, or the first has it alone and the
/// others joined that.
#[derive(Debug, Default)]
struct Place {
    accepting: Vec<u32>,
    others: Vec<u32>,
}

impl Place {
    fn first(&self) -> Option<u32> {
        self.accepting.first().or(self.others.first()).copied()
    }

    fn remove(&mut self, index: u32) {
        for part in [&mut self.accepting, &mut self.others] {
            part.retain(|&other| other != index);
        }
    }
}

/// Several may have one address if they say so: connections go to one by a hash of their ends.
#[derive(Debug)]
pub(super) struct Listeners {
    listeners: Slab<Listener>,
    by_address: HashMap<SocketAddr, Place>,
}

impl Default for Listeners {
    fn default() -> Listeners {
        Listeners {
            listeners: Slab::new(FIRST),
            by_address: HashMap::new(),
        }
    }
}

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
        let there = self.by_address.get(&local).and_then(Place::first);
        let there = there.and_then(|index| self.listeners.get(index));
        if there.is_some_and(|other| !(share && other.share)) {
            return None;
        }
        Some(self.add(|id| Listener {
            id,
            owner,
            local,
            backlog: backlog.min(MAX_BACKLOG),
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
        let listener = listener(self.listeners.next());
        let index = self.listeners.insert(listener);
        let place = self.by_address.entry(listener.local).or_default();
        place.accepting.push(index);
        listener.id
    }

    pub fn set_accepts(&mut self, id: SocketId, on: bool) {
        let index = self.listeners.index(id);
        let Some(listener) = index.and_then(|index| self.listeners.get_mut(index)) else {
            return;
        };
        listener.accepts = on;
        if let Some(place) = self.by_address.get_mut(&listener.local) {
            place.remove(id.index);
            match on {
                true => place.accepting.push(id.index),
                false => place.others.push(id.index),
            }
        }
    }

    /// Another listener at the same address to which connections come, and its owner.
    pub fn sibling(&self, id: SocketId) -> Option<(SocketId, Owner)> {
        let place = self.by_address.get(&self.get(id)?.local)?;
        let other = place.accepting.iter().find(|&&other| other != id.index)?;
        let other = self.listeners.get(*other)?;
        Some((other.id, other.owner))
    }

    /// The listener for a connection to `local` whose ends have this hash: one to which connections come, if there is one.
    pub fn find(&self, local: &SocketAddr, hash: u64) -> Option<&Listener> {
        let place =
            (self.by_address.get(local)).or_else(|| self.by_address.get(&unspecified(local)))?;
        let index = match place.accepting.len() as u64 {
            0 => place.first()?,
            count => place.accepting[(hash % count) as usize],
        };
        self.listeners.get(index)
    }

    /// Whether an address is taken.
    pub fn has(&self, local: &SocketAddr) -> bool {
        self.by_address.contains_key(local)
    }

    pub fn get(&self, id: SocketId) -> Option<&Listener> {
        self.listeners.get(self.listeners.index(id)?)
    }

    pub fn remove(&mut self, id: SocketId) -> Option<Listener> {
        let removed = self.listeners.remove(self.listeners.index(id)?)?;
        if let Some(place) = self.by_address.get_mut(&removed.local) {
            place.remove(id.index);
            if place.first().is_none() {
                self.by_address.remove(&removed.local);
            }
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that an application had must not name one that another has later.
    #[test]
    fn a_listener_has_a_number_of_its_own() {
        let mut listeners = Listeners::default();
        let local = "10.0.0.1:80".parse().unwrap();
        let mut listen = |owner| {
            let options = SocketOptions::default();
            let id = listeners.insert(Owner(owner), local, u32::MAX, options, false);
            let id = id.unwrap();
            let backlog = listeners.get(id).unwrap().backlog;
            assert_eq!(backlog, MAX_BACKLOG);
            assert!(
                listeners
                    .insert(Owner(9), local, 1, options, true)
                    .is_none()
            );
            listeners.remove(id).unwrap();
            assert!(listeners.get(id).is_none() && !listeners.has(&local));
            id
        };
        let first = listen(1);
        // Indices are used again, numbers are not, whatever the generation.
        let second = listen(2);
        assert_eq!(first.index, second.index);
        assert_ne!(first, second);
    }

    #[test]
    fn connections_go_to_those_that_accept() {
        let mut listeners = Listeners::default();
        let local: SocketAddr = "10.0.0.1:80".parse().unwrap();
        let options = SocketOptions::default();
        let ids: Vec<SocketId> = (0..3)
            .map(|owner| listeners.insert(Owner(owner), local, 1, options, true))
            .map(Option::unwrap)
            .collect();
        let found = |listeners: &Listeners| {
            let mut found: Vec<u32> = (0..10)
                .map(|hash| listeners.find(&local, hash).unwrap().owner.0)
                .collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        assert_eq!(found(&listeners), [0, 1, 2]);
        listeners.set_accepts(ids[1], false);
        assert_eq!(found(&listeners), [0, 2]);
        assert_eq!(listeners.sibling(ids[0]), Some((ids[2], Owner(2))));
        listeners.set_accepts(ids[0], false);
        listeners.set_accepts(ids[2], false);
        assert_eq!(found(&listeners).len(), 1);
        assert_eq!(listeners.sibling(ids[0]), None);
        listeners.set_accepts(ids[1], true);
        assert_eq!(found(&listeners), [1]);
    }
}
