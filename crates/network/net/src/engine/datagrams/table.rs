//! The sockets of UDP, and their rings.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use crate::datagram::{LEN, MAX_DATAGRAMS, Record};
use crate::engine::fragment::Fragments;
use crate::engine::slab::Slab;
use crate::engine::{Buffers, Event, Owner, SocketId, unspecified};
use crate::memory::{Corrupt, ReceiveBuffer, SendBuffer};
use crate::tcp::{Happened, Reason};

/// The indices of sockets of UDP begin here, so that no connection has the same. Those of listeners come after.
const FIRST: u32 = 1 << 30;
const AFTER: u32 = 1 << 31;

/// A socket.
#[derive(Debug)]
pub struct Socket {
    pub owner: Owner,
    pub slot: u32,
    pub local: SocketAddr,
    pub remote: Option<SocketAddr>,
    pub send: SendBuffer,
    pub receive: ReceiveBuffer,
    pub sent: u64,
    /// What of `sent` the application was told of.
    pub told: u64,
    /// Bytes of the record at `sent` that went out already; or, if it is larger than a packet, the fragments that did.
    pub partly: usize,
    pub fragments: Fragments,
    pub received: u64,
    pub happened: Happened,
    pub reason: Option<Reason>,
    pub queued: bool,
    pub announced: bool,
    /// The application is done with it: what it has written goes out.
    pub closed: bool,
    /// Others may have the address too.
    pub share: bool,
}

/// All of them.
#[derive(Debug)]
pub struct Datagrams {
    pub sockets: Slab<Box<Socket>>,
    by_local: HashMap<SocketAddr, Place>,
    /// How many have a port.
    ports: HashMap<u16, usize>,
    /// What the fragments of the latest datagram had, once there was one.
    pub identification: Option<u32>,
    pub ready: VecDeque<u32>,
    /// Bytes that the first of those has sent in its turn.
    pub turn: usize,
    /// There was more to send than is sent at a time.
    pub has_more: bool,
    news: VecDeque<u32>,
}

/// The sockets of an address: those that are connected, by their peers, and others.
#[derive(Debug, Default)]
struct Place {
    open: Vec<u32>,
    connected: HashMap<SocketAddr, Vec<u32>>,
}

impl Default for Datagrams {
    fn default() -> Datagrams {
        Datagrams {
            sockets: Slab::new(FIRST),
            by_local: HashMap::new(),
            ports: HashMap::new(),
            identification: None,
            ready: VecDeque::new(),
            turn: 0,
            has_more: false,
            news: VecDeque::new(),
        }
    }
}

impl Place {
    fn first(&self) -> Option<u32> {
        let mut all = self.open.iter().chain(self.connected.values().flatten());
        all.next().copied()
    }

    /// Whether the socket was there.
    fn remove(&mut self, remote: Option<SocketAddr>, index: u32) -> bool {
        let of = match remote {
            Some(remote) => self.connected.get_mut(&remote),
            None => Some(&mut self.open),
        };
        let Some(of) = of else {
            return false;
        };
        let before = of.len();
        of.retain(|&other| other != index);
        let was_there = of.len() < before;
        if let Some(remote) = remote.filter(|_| of.is_empty()) {
            self.connected.remove(&remote);
        }
        was_there
    }

    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.connected.is_empty()
    }
}

impl Datagrams {
    /// Whether a socket is one of UDP.
    pub fn has(&self, socket: SocketId) -> bool {
        (FIRST..AFTER).contains(&socket.index)
    }

    /// The socket for what comes from `remote` to `local`: one that is connected to it, or else one that is not connected. Of
    /// several one by a hash of the two.
    pub fn find(
        &self,
        local: &SocketAddr,
        remote: &SocketAddr,
        hash: impl FnOnce() -> u64,
    ) -> Option<u32> {
        let places = [*local, unspecified(local)].map(|local| self.by_local.get(&local));
        let mut places = places.iter().flatten();
        let connected = (places.clone()).find_map(|place| place.connected.get(remote));
        let open = || places.find_map(|place| Some(&place.open).filter(|open| !open.is_empty()));
        let found = connected.or_else(open)?;
        let at = match found.len() {
            1 => 0,
            several => hash() % several as u64,
        };
        found.get(at as usize).copied()
    }

    /// Whether a socket has a port, at whatever address: one that is free is so at each.
    pub fn has_port(&self, port: u16) -> bool {
        self.ports.contains_key(&port)
    }

    /// Whether another socket may have an address: all that have it share it, or one has it alone.
    pub fn may_share(&self, local: &SocketAddr, share: bool) -> bool {
        let there = self.by_local.get(local).and_then(Place::first);
        let there = there.and_then(|index| self.sockets.get(index));
        there.is_none_or(|other| share && other.share)
    }

    pub fn touched(&mut self, index: u32) {
        let Some(socket) = self.sockets.get_mut(index) else {
            return;
        };
        if !socket.queued {
            socket.queued = true;
            self.ready.push_back(index);
        }
    }

    pub fn announce(&mut self, index: u32, happened: Happened) {
        let Some(socket) = self.sockets.get_mut(index) else {
            return;
        };
        socket.happened.add(happened);
        if !socket.announced && !socket.closed {
            socket.announced = true;
            self.news.push_back(index);
        }
    }

    /// What happened to a socket since this was last asked of it.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let index = self.news.pop_front()?;
            let id = self.sockets.id(index);
            let Some(socket) = self.sockets.get_mut(index) else {
                continue;
            };
            socket.announced = false;
            if socket.closed {
                continue;
            }
            return Some(Event {
                owner: socket.owner,
                socket: id,
                slot: socket.slot,
                listener: None,
                happened: std::mem::take(&mut socket.happened),
                reason: socket.reason,
            });
        }
    }

    /// The application that has a socket, and the slot.
    pub fn place(&self, socket: SocketId) -> Option<(Owner, u32)> {
        let socket = self.sockets.get(self.sockets.index(socket)?)?;
        Some((socket.owner, socket.slot))
    }

    /// A socket is another application's from now on. Who had it, and where; none if that memory is at fault.
    pub fn pass(&mut self, socket: SocketId, to: Owner, buffers: Buffers) -> Option<(Owner, u32)> {
        let socket = self.sockets.get_mut(self.sockets.index(socket)?)?;
        let Buffers {
            mut send,
            mut receive,
            slot,
        } = buffers;
        send.succeed(&mut socket.send).ok()?;
        receive.succeed(&mut socket.receive, 0).ok()?;
        (socket.send, socket.receive) = (send, receive);
        let before = (socket.owner, socket.slot);
        (socket.owner, socket.slot) = (to, slot);
        Some(before)
    }

    /// Nothing more comes for a socket.
    pub fn unbind(&mut self, index: u32) {
        let Some(socket) = self.sockets.get(index) else {
            return;
        };
        let Some(place) = self.by_local.get_mut(&socket.local) else {
            return;
        };
        if !place.remove(socket.remote, index) {
            return;
        }
        if place.is_empty() {
            self.by_local.remove(&socket.local);
        }
        let port = socket.local.port();
        if let Some(count) = self.ports.get_mut(&port) {
            *count -= 1;
            if *count == 0 {
                self.ports.remove(&port);
            }
        }
    }

    fn bind(&mut self, index: u32, local: SocketAddr, remote: Option<SocketAddr>) {
        let place = self.by_local.entry(local).or_default();
        match remote {
            Some(remote) => place.connected.entry(remote).or_default().push(index),
            None => place.open.push(index),
        }
        *self.ports.entry(local.port()).or_default() += 1;
    }

    /// Adds a socket, and returns its number.
    pub fn insert(&mut self, socket: Socket) -> SocketId {
        let (local, remote) = (socket.local, socket.remote);
        let index = self.sockets.insert(Box::new(socket));
        if self.sockets.take_queued(index)
            && let Some(socket) = self.sockets.get_mut(index)
        {
            socket.queued = true;
        }
        self.bind(index, local, remote);
        self.sockets.id(index)
    }

    /// Removes a socket, for which nothing comes any more.
    pub fn remove(&mut self, index: u32) -> Option<Box<Socket>> {
        let socket = self.sockets.remove(index)?;
        if socket.queued {
            self.sockets.leave_queued(index);
        }
        Some(socket)
    }

    /// A socket has other ends from now on. False if it is no more.
    pub fn rebind(&mut self, index: u32, local: SocketAddr, remote: Option<SocketAddr>) -> bool {
        self.unbind(index);
        let Some(socket) = self.sockets.get_mut(index) else {
            return false;
        };
        (socket.local, socket.remote) = (local, remote);
        self.bind(index, local, remote);
        true
    }
}

impl Socket {
    /// The next record that is whole, and where its payload begins.
    pub fn next(&mut self) -> Result<Option<(Record, u64)>, Corrupt> {
        let written = self.send.written()?;
        if written - self.sent < LEN as u64 {
            return Ok(None);
        }
        let mut header = [0; LEN];
        let [first, second] = self.send.slices(self.sent, LEN)?;
        first.copy_to(&mut header[..first.len()]);
        second.copy_to(&mut header[first.len()..]);
        let record = Record::decode(&header)?;
        if record.room() as u64 > self.send.size() || record.datagrams() > MAX_DATAGRAMS {
            return Err(Corrupt);
        }
        if written - self.sent < record.room() as u64 {
            return Ok(None);
        }
        Ok(Some((record, self.sent + LEN as u64)))
    }

    pub fn sent(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.sent += record.room() as u64;
        self.send.free(self.sent)
    }

    /// Whether the application is to be told of room: when there is more by a third than it knows of, or when `all` is sent.
    pub fn tells_of_room(&mut self, all: bool) -> bool {
        let more = self.sent - self.told;
        let tells = more >= self.send.size() / 3 || all && more > 0;
        if tells {
            self.told = self.sent;
        }
        tells
    }

    /// False if there is no room.
    pub fn deliver(&mut self, record: &Record, payload: &[u8]) -> Result<bool, Corrupt> {
        let used = self.received - self.receive.consumed()?;
        if used + record.room() as u64 > self.receive.size() {
            return Ok(false);
        }
        self.receive.put(self.received, &record.encode())?;
        self.receive.put(self.received + LEN as u64, payload)?;
        self.received += record.room() as u64;
        self.receive.publish(self.received)?;
        Ok(true)
    }
}
