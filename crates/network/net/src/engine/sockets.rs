//! What applications ask for.

use std::net::{IpAddr, SocketAddr};

use super::flows::{Flow, Slot};
use super::listeners::Listener;
use super::{
    Buffers, Engine, Info, Memory, Owner, SocketError, SocketId, SocketOptions, address_for,
};
use crate::tcp::{Connection, Ends, Origin, Rings};
use crate::time::Time;

/// Ports for connections that name none begin here (RFC 6335: the dynamic ones).
const FIRST_PORT: u16 = 49152;
const PORTS: u32 = (u16::MAX - FIRST_PORT) as u32 + 1;

/// Ports that are looked at for one that is free: when nearly all are taken, an application could make each search one
/// through all.
const TRIES: u32 = 1024;

/// Some that may be chosen, each once, beginning somewhere.
fn ports_from(ip: IpAddr, from: u32) -> impl Iterator<Item = SocketAddr> {
    (0..TRIES).map(move |step| {
        let port = FIRST_PORT + ((from + step) % PORTS) as u16;
        SocketAddr::new(ip, port)
    })
}

impl<M: Memory> Engine<M> {
    /// Connections may come to `local`, whose address may be unspecified, and whose port is chosen if it is 0. With `share`
    /// others may listen there too.
    ///
    /// # Errors
    /// [`SocketError::NotLocal`], [`SocketError::InUse`], [`SocketError::NoPort`].
    pub fn listen(
        &mut self,
        owner: Owner,
        local: SocketAddr,
        backlog: u32,
        options: SocketOptions,
        share: bool,
    ) -> Result<SocketId, SocketError> {
        if !local.ip().is_unspecified() && !self.is_local(local.ip()) {
            return Err(SocketError::NotLocal);
        }
        let mut local = local;
        if local.port() == 0 {
            let mut ports = self.ports_at(local.ip());
            local = ports
                .find(|local| !self.listeners.has(local))
                .ok_or(SocketError::NoPort)?;
        }
        self.listeners
            .insert(owner, local, backlog, options, share)
            .ok_or(SocketError::InUse)
    }

    /// Begins to open a connection. If it names no local address, the stack's first of the same family is taken; if no port,
    /// a free one.
    ///
    /// # Errors
    /// All of [`SocketError`].
    pub fn connect(
        &mut self,
        now: Time,
        owner: Owner,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: SocketOptions,
    ) -> Result<SocketId, SocketError> {
        if self.flows.len() >= self.config.flows {
            return Err(SocketError::NoRoom);
        }
        let ends = self.choose_ends(local, remote)?;
        let buffers = self.memory.allocate(owner).ok_or(SocketError::NoRoom)?;
        let origin = self.origin(now, &ends, &options);
        let index = self.add(owner, ends, buffers, None, |rings| {
            Connection::connect(now, options, &origin, rings)
        });
        self.counters.connections += 1;
        self.touched(index);
        Ok(self.flows.id(index))
    }

    fn choose_ends(
        &mut self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
    ) -> Result<Ends, SocketError> {
        let address = match local
            .map(|local| local.ip())
            .filter(|ip| !ip.is_unspecified())
        {
            Some(ip) if self.is_local(ip) => ip,
            Some(_) => return Err(SocketError::NotLocal),
            None => {
                address_for(&self.config.addresses, remote.ip()).ok_or(SocketError::Unreachable)?
            }
        };
        if address.is_ipv4() != remote.is_ipv4() {
            return Err(SocketError::Unreachable);
        }
        let port = local.map_or(0, |local| local.port());
        if port != 0 {
            let ends = (SocketAddr::new(address, port), remote);
            let taken = ends.0 == remote || self.flows.contains(&ends);
            return if taken {
                Err(SocketError::InUse)
            } else {
                Ok(ends)
            };
        }
        // RFC 6056, algorithm 3: from a secret place on, each time from where the last search ended.
        let offset = u32::from(self.cookies.port(&(SocketAddr::new(address, 0), remote), 0));
        ports_from(address, offset + self.next_port)
            .map(|local| {
                self.next_port = (self.next_port + 1) % PORTS;
                (local, remote)
            })
            .find(|ends| {
                ends.0 != remote && !self.flows.contains(ends) && !self.listeners.has(&ends.0)
            })
            .ok_or(SocketError::NoPort)
    }

    /// Some that may be chosen at an address for a socket without a peer, from one that cannot be guessed (RFC 6056,
    /// algorithm 2).
    pub(super) fn ports_at(&mut self, ip: IpAddr) -> impl Iterator<Item = SocketAddr> + use<M> {
        self.ports_chosen += 1;
        let at = SocketAddr::new(ip, 0);
        let from = self.cookies.port(&(at, at), self.ports_chosen);
        ports_from(ip, from.into())
    }

    pub(super) fn is_local(&self, address: IpAddr) -> bool {
        (self.config.addresses.iter()).any(|own| own.address == address)
    }

    pub(super) fn origin(&self, now: Time, ends: &Ends, options: &SocketOptions) -> Origin {
        let (ip, default_mss) = if ends.0.is_ipv4() {
            (20, 536)
        } else {
            (40, 1220)
        };
        let most = self.capabilities.mtu - ip - 20;
        Origin {
            iss: self.cookies.sequence(ends, now),
            timestamp_offset: self.cookies.timestamp_offset(ends),
            mss: options.mss.unwrap_or(most).min(most),
            default_mss,
        }
    }

    pub(super) fn add(
        &mut self,
        owner: Owner,
        ends: Ends,
        buffers: Buffers,
        listener: Option<SocketId>,
        connection: impl FnOnce(Rings) -> Connection,
    ) -> u32 {
        let Buffers {
            send,
            receive,
            slot,
        } = buffers;
        let connection = connection(Rings { send, receive });
        self.flows.insert(Flow {
            connection,
            ends,
            owner,
            slot: Slot::new(slot),
            listener,
            queued: false,
            announced: false,
            timer: Time::NEVER,
            closed: false,
        })
    }

    /// Calls `f` on a connection that is still there.
    fn with<R>(&mut self, socket: SocketId, f: impl FnOnce(&mut Flow) -> R) -> Option<R> {
        let index = self.flows.index(socket)?;
        let result = f(self.flows.get_mut(index)?);
        self.touched(index);
        Some(result)
    }

    /// The application wrote or read. False if its memory is at fault.
    pub fn notify(&mut self, socket: SocketId) -> bool {
        if self.datagrams.has(socket) {
            self.notify_datagrams(socket);
            return true;
        }
        self.with(socket, |flow| flow.connection.notify().is_ok())
            .unwrap_or(true)
    }

    /// The application sends no more than it has written. False if its memory is at fault.
    pub fn shutdown(&mut self, socket: SocketId) -> bool {
        self.with(socket, |flow| flow.connection.shutdown().is_ok())
            .unwrap_or(true)
    }

    /// The application is done with a socket. What it has written to a connection still goes out. False if its memory is at
    /// fault.
    pub fn close(&mut self, now: Time, socket: SocketId) -> bool {
        if self.datagrams.has(socket) {
            self.close_datagrams(socket);
            return true;
        }
        if let Some(listener) = self.listeners.remove(socket) {
            self.forget_requests(&listener);
            return true;
        }
        let closed = self.with(socket, |flow| {
            flow.closed = true;
            flow.connection.close(now).is_ok()
        });
        closed.unwrap_or(true)
    }

    /// The application is done with a connection, and the peer is told at once.
    pub fn abort(&mut self, socket: SocketId) {
        if self.datagrams.has(socket) {
            self.close_datagrams(socket);
            return;
        }
        self.with(socket, |flow| {
            flow.closed = true;
            flow.connection.abort();
        });
    }

    /// The memory of an application is gone: connections that are there are reset, sockets of UDP closed. Its listeners stay.
    pub fn release(&mut self, owner: Owner) {
        self.release_datagrams(owner);
        let gone: Vec<SocketId> = (self.flows.indices())
            .filter(|&index| {
                self.flows
                    .get(index)
                    .is_some_and(|flow| flow.owner == owner)
            })
            .map(|index| self.flows.id(index))
            .collect();
        for socket in gone {
            self.abort(socket);
        }
    }

    fn forget_requests(&mut self, gone: &Listener) {
        let left = &self.listeners;
        self.requests
            .retain(|local| gone.local.port() != local.port() || left.find(local, 0).is_some());
    }

    /// Changes how a connection behaves.
    pub fn set_options(
        &mut self,
        now: Time,
        socket: SocketId,
        change: impl FnOnce(&mut SocketOptions),
    ) {
        self.with(socket, |flow| flow.connection.set_options(now, change));
    }

    /// What may be known of a connection.
    pub fn info(&self, socket: SocketId) -> Option<Info> {
        let index = self.flows.index(socket)?;
        Some(self.flows.get(index)?.connection.info())
    }

    /// The ends of a socket: ours and the peer's, if it has one.
    pub fn ends(&self, socket: SocketId) -> Option<(SocketAddr, Option<SocketAddr>)> {
        if self.datagrams.has(socket) {
            return self.datagram_ends(socket);
        }
        if let Some(listener) = self.listeners.get(socket) {
            return Some((listener.local, None));
        }
        let index = self.flows.index(socket)?;
        let (local, remote) = self.flows.get(index)?.ends;
        Some((local, Some(remote)))
    }

    /// The place of the rings of a socket.
    pub fn slot(&self, socket: SocketId) -> Option<u32> {
        if self.datagrams.has(socket) {
            return self.datagram_slot(socket);
        }
        let index = self.flows.index(socket)?;
        self.flows.get(index)?.slot.get()
    }
}
