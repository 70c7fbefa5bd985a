//! What applications hear of one another.

use super::family::Change;
use super::{Applications, Pools};
use crate::engine::{Engine, Owner, SocketId};
use crate::time::Time;

impl Applications {
    /// Tells applications of what others did.
    pub(super) fn settle(&mut self, now: Time, engine: &mut Engine<Pools>) {
        while let Some(change) = self.family.changes.pop_front() {
            match change {
                Change::Moved {
                    owner,
                    slot,
                    socket,
                } => {
                    if let Some(application) = self.places.get_mut(owner) {
                        application.moved(slot, socket);
                    }
                }
                Change::Joined {
                    owner,
                    listener,
                    by,
                    new,
                } => {
                    let mut untaken = self.family.waiting(listener);
                    if let Some(application) = self.places.get_mut(owner) {
                        untaken.extend(application.joined(engine, listener));
                    }
                    for socket in untaken {
                        self.pass(engine, socket, (new, by));
                    }
                    if self.family.release(listener) {
                        engine.close(now, listener);
                    }
                }
                Change::Passed { socket, to } => self.pass(engine, socket, to),
            }
        }
    }

    /// A connection that was not taken goes to another listener.
    fn pass(
        &mut self,
        engine: &mut Engine<Pools>,
        socket: SocketId,
        (listener, owner): (SocketId, Owner),
    ) {
        let passed = engine.pass(socket, owner).is_ok()
            && (self.places.get_mut(owner))
                .is_some_and(|application| application.receive(engine, socket, listener));
        if !passed {
            engine.abort(socket);
        }
    }
}
