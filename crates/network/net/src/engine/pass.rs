//! Sockets that pass from one application to another: a child takes what it has from its parent.

use super::flows::Slot;
use super::{Buffers, Engine, Memory, Owner, SocketError, SocketId};
use crate::tcp::{Happened, Reason, Rings};

impl<M: Memory> Engine<M> {
    /// A connection or a socket of UDP is the application `to`'s from now on, in a slot of its own: with all that was written
    /// and is not acknowledged, and all that came and was not read.
    ///
    /// # Errors
    /// It is no more, there is no room, or the memory of the application before is at fault. Then the connection is reset.
    pub fn pass(&mut self, socket: SocketId, to: Owner) -> Result<(), SocketError> {
        if self.place(socket).is_none() {
            return Err(SocketError::Gone);
        }
        let buffers = self.memory.allocate(to).ok_or(SocketError::NoRoom)?;
        let slot = buffers.slot;
        let before = match self.datagrams.has(socket) {
            true => self.datagrams.pass(socket, to, buffers),
            false => self.pass_connection(socket, to, buffers),
        };
        match before {
            Some((owner, slot)) => {
                self.memory.release(owner, slot);
                Ok(())
            }
            None => {
                self.memory.release(to, slot);
                self.abort(socket);
                Err(SocketError::Gone)
            }
        }
    }

    fn pass_connection(
        &mut self,
        socket: SocketId,
        to: Owner,
        buffers: Buffers,
    ) -> Option<(Owner, u32)> {
        let index = self.flows.index(socket)?;
        let flow = self.flows.get_mut(index)?;
        let before = (flow.owner, flow.slot.get()?);
        let Buffers {
            send,
            receive,
            slot,
        } = buffers;
        flow.connection.move_rings(Rings { send, receive }).ok()?;
        (flow.owner, flow.slot, flow.listener) = (to, Slot::new(slot), None);
        self.touched(index);
        Some(before)
    }

    /// The application that has a connection or a socket of UDP, and the slot.
    pub fn place(&self, socket: SocketId) -> Option<(Owner, u32)> {
        if self.datagrams.has(socket) {
            return self.datagrams.place(socket);
        }
        let flow = self.flows.get(self.flows.index(socket)?)?;
        Some((flow.owner, flow.slot.get()?))
    }

    /// All that has happened to a connection so far, for an application that did not hear of it, and why it ended.
    pub fn past(&self, socket: SocketId) -> (Happened, Option<Reason>) {
        if self.datagrams.has(socket) {
            return (Happened::CONNECTED, None);
        }
        let flow = self.flows.index(socket).and_then(|at| self.flows.get(at));
        flow.map_or((Happened::CLOSED, Some(Reason::Aborted)), |flow| {
            (flow.connection.past(), flow.connection.reason())
        })
    }

    /// Another listener of `owner` at the address of a listener, for the same connections. Also whose the other is.
    ///
    /// # Errors
    /// The listener is no more.
    pub fn join(
        &mut self,
        listener: SocketId,
        owner: Owner,
    ) -> Result<(SocketId, Owner), SocketError> {
        let found = *self.listeners.get(listener).ok_or(SocketError::Gone)?;
        let new = self.listeners.join(&found, owner);
        Ok((new, found.owner))
    }

    /// Whether connections come to a listener while there are others at its address.
    pub fn set_accepts(&mut self, listener: SocketId, on: bool) {
        self.listeners.set_accepts(listener, on);
    }

    /// Another listener at the address of one, to which connections come, and its owner.
    pub fn sibling(&self, listener: SocketId) -> Option<(SocketId, Owner)> {
        self.listeners.sibling(listener)
    }
}
