//! The listeners of an application, and connections that it has not taken.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::{Application, Slot, bits};
use crate::engine::{Engine, SocketId};
use crate::entry::Reply;
use crate::server::errors::{of_reason, of_socket};
use crate::server::family::{Change, Family};
use crate::server::pool::Pools;
use crate::time::Time;

/// Listeners of an application at most.
const LISTENERS: usize = 4096;

/// The listeners that an application has.
#[derive(Default)]
pub struct Listeners {
    places: Vec<Place>,
    free: Vec<usize>,
    /// The place of each.
    by_socket: HashMap<SocketId, usize>,
}

/// A place that one listener after another has.
#[derive(Default)]
struct Place {
    listening: Option<Listening>,
    /// How many have had it.
    uses: u32,
}

struct Listening {
    socket: SocketId,
    /// The application said that it accepts, though others may have joined.
    accepts: bool,
}

impl Listeners {
    /// Whether there is no room for another.
    pub fn are_all(&self) -> bool {
        self.by_socket.len() == LISTENERS
    }

    /// Adds one. Returns its number.
    fn add(&mut self, socket: SocketId, accepts: bool) -> u32 {
        let at = self.free.pop().unwrap_or(self.places.len());
        if at == self.places.len() {
            self.places.push(Place::default());
        }
        let place = &mut self.places[at];
        place.listening = Some(Listening { socket, accepts });
        place.uses = place.uses.wrapping_add(1);
        self.by_socket.insert(socket, at);
        self.number(at)
    }

    /// The number of the listener at a place: another one that has the place later has another number, so that the
    /// application may clean up after one.
    fn number(&self, at: usize) -> u32 {
        self.places[at].uses % (1 << 19) * LISTENERS as u32 + at as u32
    }

    fn place(&mut self, number: u32) -> Option<(usize, &mut Place)> {
        let at = number as usize % LISTENERS;
        let is_it = at < self.places.len() && self.number(at) == number;
        is_it.then(|| (at, &mut self.places[at]))
    }

    /// Removes the one of a number.
    pub fn remove(&mut self, number: u32) -> Option<SocketId> {
        let (at, place) = self.place(number)?;
        let socket = place.listening.take()?.socket;
        self.by_socket.remove(&socket);
        self.free.push(at);
        Some(socket)
    }

    /// The application says that it accepts, by the listener of a number.
    pub fn accept(&mut self, number: u32) -> Option<SocketId> {
        let (_, place) = self.place(number)?;
        let listening = place.listening.as_mut()?;
        listening.accepts = true;
        Some(listening.socket)
    }

    /// The number of one.
    pub fn number_of(&self, socket: SocketId) -> Option<u32> {
        Some(self.number(*self.by_socket.get(&socket)?))
    }

    /// Whether the application said that it accepts.
    fn accepts(&self, socket: SocketId) -> bool {
        let place = self.by_socket.get(&socket).map(|&at| &self.places[at]);
        let listening = place.and_then(|place| place.listening.as_ref());
        listening.is_some_and(|listening| listening.accepts)
    }

    /// Removes all.
    pub fn take_all(&mut self) -> Vec<SocketId> {
        let all = std::mem::take(self);
        all.by_socket.into_keys().collect()
    }
}

impl Application {
    pub fn listen(
        &mut self,
        engine: &mut Engine<Pools>,
        local: SocketAddr,
        backlog: u32,
        share: bool,
    ) -> Reply {
        if self.listeners.are_all() {
            return Reply::error(libc::EMFILE);
        }
        match engine.listen(self.owner, local, backlog, self.options, share) {
            Ok(socket) => self.add_listener(engine, socket, false),
            Err(error) => Reply::error(of_socket(error)),
        }
    }

    pub fn add_listener(&mut self, engine: &Engine<Pools>, id: SocketId, accepts: bool) -> Reply {
        Reply {
            number: self.listeners.add(id, accepts),
            local: engine.ends(id).map(|ends| ends.0),
            numbers: [id.index, id.generation, 0, 0, 0, 0],
            ..Reply::default()
        }
    }

    /// The application no longer has a listener. Connections that it has not taken go to another at the same address, or
    /// wait for one if other processes have the listener.
    pub fn unlisten(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        id: SocketId,
    ) {
        let sibling = engine.sibling(id);
        let last = family.release(id);
        if sibling.is_some() || !last {
            for socket in self.give_untaken(id) {
                match sibling {
                    Some(to) => family.changes.push_back(Change::Passed { socket, to }),
                    None => family.wait(id, socket),
                }
            }
        }
        match last {
            true => drop(engine.close(now, id)),
            false => engine.set_accepts(id, false),
        }
    }

    /// Connections of a listener that the application has not taken. It no longer has them.
    fn give_untaken(&mut self, listener: SocketId) -> Vec<SocketId> {
        let mut given = Vec::new();
        for at in 0..self.slots.len() {
            let Slot {
                socket: Some(socket),
                listener: Some(by),
                generation,
                moved: false,
                ..
            } = self.slots[at]
            else {
                continue;
            };
            let slot = at as u32;
            if by == listener && !self.head(slot).is_taken(generation) {
                given.push(socket);
                self.moved(slot, socket);
                self.slots[at].socket = None;
            }
        }
        given
    }

    /// Others joined a listener: connections that the application has not taken, unless it accepts some itself.
    pub fn joined(&mut self, engine: &mut Engine<Pools>, listener: SocketId) -> Vec<SocketId> {
        if self.listeners.accepts(listener) {
            return Vec::new();
        }
        engine.set_accepts(listener, false);
        self.give_untaken(listener)
    }

    /// A connection that another application did not take comes to a listener. False if there is no such listener.
    pub fn receive(
        &mut self,
        engine: &mut Engine<Pools>,
        socket: SocketId,
        listener: SocketId,
    ) -> bool {
        let Some(number) = self.listeners.number_of(listener) else {
            return false;
        };
        let by = Some((number, listener));
        let (past, reason) = engine.past(socket);
        let reply = self.begin(engine, socket, by, bits(past));
        if reply.error == 0 {
            if let Some(reason) = reason {
                self.head(reply.number).tell(bits(past), of_reason(reason));
            }
            self.control.ready().set(reply.number);
            self.news = true;
        }
        reply.error == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sockets_are_of_one_listener() {
        let socket = |index| SocketId {
            index,
            generation: 0,
        };
        let mut listeners = Listeners::default();
        let numbers: Vec<u32> = (0..LISTENERS as u32)
            .map(|index| listeners.add(socket(index), index % 2 == 0))
            .collect();
        assert!(listeners.are_all());
        assert_eq!(listeners.number_of(socket(77)), Some(numbers[77]));
        assert!(listeners.accepts(socket(76)) && !listeners.accepts(socket(77)));
        assert_eq!(listeners.accept(numbers[77]), Some(socket(77)));
        assert!(listeners.accepts(socket(77)));
        assert_eq!(listeners.remove(numbers[77]), Some(socket(77)));
        assert_eq!(listeners.remove(numbers[77]), None);
        assert_eq!(listeners.number_of(socket(77)), None);
        assert!(!listeners.are_all());
        // Another one has the place, and another number.
        let number = listeners.add(socket(9999), false);
        assert!(!numbers.contains(&number));
        assert_eq!(listeners.accept(numbers[77]), None);
        assert!(!listeners.accepts(socket(9999)));
        assert_eq!(listeners.take_all().len(), LISTENERS);
        assert_eq!(listeners.remove(number), None);
    }
}
