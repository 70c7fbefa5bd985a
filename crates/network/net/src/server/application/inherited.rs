//! What an application has from the process that forked it, and what moves from one application to another.

use super::{Application, Slot, bits};
use crate::engine::{Engine, SocketId};
use crate::entry::Reply;
use crate::server::errors::{of_reason, of_socket};
use crate::server::family::{Change, Family};
use crate::server::pool::Pools;
use crate::slot::{CLOSED, MOVED};

impl Application {
    /// Whether the application has a socket, here or elsewhere. It may not know of connections that it has not taken.
    pub fn has(&self, engine: &Engine<Pools>, socket: SocketId) -> bool {
        let in_slot = |slot: &Slot| slot.socket == Some(socket);
        // Most are where the engine has them.
        let here = engine
            .place(socket)
            .filter(|&(owner, _)| owner == self.owner);
        here.is_some_and(|(_, slot)| self.slots.get(slot as usize).is_some_and(in_slot))
            || self.inherited.contains(&socket)
            || self.listeners.number_of(socket).is_some()
            || self.slots.iter().any(in_slot)
    }

    pub fn adopt(
        &mut self,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        socket: SocketId,
    ) -> Reply {
        let inherited = self.inherited.contains(&socket);
        let had = |slot: &Slot| slot.moved && slot.socket == Some(socket);
        if !inherited && !self.slots.iter().any(had) {
            return Reply::error(libc::EBADF);
        }
        let Some((owner, slot)) = engine.place(socket) else {
            return Reply::error(libc::ECONNRESET);
        };
        if let Err(error) = engine.pass(socket, self.owner) {
            return Reply::error(of_socket(error));
        }
        // A slot that it moved from is closed on its own.
        if !self.inherited.remove(&socket) {
            family.share(socket);
        }
        family.changes.push_back(Change::Moved {
            owner,
            slot,
            socket,
        });
        let (past, reason) = engine.past(socket);
        let reply = self.begin(engine, socket, None, bits(past));
        if let Some(reason) = reason {
            self.head(reply.number).tell(bits(past), of_reason(reason));
        }
        reply
    }

    pub fn join(
        &mut self,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        listener: SocketId,
    ) -> Reply {
        if self.listeners.are_all() {
            return Reply::error(libc::EMFILE);
        }
        if !self.inherited.contains(&listener) {
            return Reply::error(libc::EBADF);
        }
        match engine.join(listener, self.owner) {
            Ok((new, owner)) => {
                self.inherited.remove(&listener);
                family.changes.push_back(Change::Joined {
                    owner,
                    listener,
                    by: self.owner,
                    new,
                });
                self.add_listener(engine, new, true)
            }
            Err(error) => Reply::error(of_socket(error)),
        }
    }

    /// A connection is in the memory of another application.
    pub fn moved(&mut self, slot: u32, socket: SocketId) {
        if self.socket_of(slot) != Some(socket) {
            return;
        }
        let state = self.slot(slot);
        state.moved = true;
        state.state |= MOVED | CLOSED;
        let state = state.state;
        self.head(slot).tell(state, libc::ECONNRESET);
        self.control.ready().set(slot);
        self.news = true;
    }
}
