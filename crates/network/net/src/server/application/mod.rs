//! An application, as the engine has it: its memory, and the connections there.

mod inherited;
mod listeners;
mod requests;

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::errors::of_reason;
use super::family::Family;
use super::pool::Pools;
use crate::engine::{Engine, Event, Owner, SocketId, SocketOptions};
use crate::entry::Reply;
use crate::flags::{fall_asleep, must_wake};
use crate::handshake::ring;
use crate::layout::{Control, Layout};
use crate::memory::{Region, Span};
use crate::slot::{CLOSED, CONNECTED, FINISHED, Head};
use crate::tcp::Happened;
use crate::time::Time;
use listeners::Listeners;

/// An application that is attached.
pub struct Application {
    owner: Owner,
    /// None once it is gone.
    pub ends: Option<Ends>,
    pools: Pools,
    region: Arc<Region>,
    layout: Layout,
    control: Control,
    /// What its connections begin with.
    options: SocketOptions,
    /// Requests that were replied to.
    handled: u64,
    slots: Vec<Slot>,
    listeners: Listeners,
    /// What it has from the process that forked it, and has not used.
    inherited: HashSet<SocketId>,
    /// The end of its process closes what it has.
    closes_at_end: bool,
    /// Something was published since the application was last woken.
    news: bool,
}

/// What tells of the application.
pub struct Ends {
    pub socket: UnixStream,
    /// Readable when the process has ended.
    pub process: Option<OwnedFd>,
}

impl Drop for Application {
    /// The application finds out at its next call, and where it sleeps by its socket.
    fn drop(&mut self) {
        self.control.ended().store(1, Ordering::Release);
    }
}

/// A slot that the application has.
#[derive(Clone, Copy, Default)]
struct Slot {
    used: bool,
    /// The connection; none if other applications alone have it.
    socket: Option<SocketId>,
    /// It is in the memory of another application.
    moved: bool,
    /// The listener that it came by, and which connection of the slot it is.
    listener: Option<SocketId>,
    generation: u32,
    state: u32,
}

/// The bits of what happened.
fn bits(happened: Happened) -> u32 {
    let bit = |what, bit| if happened.has(what) { bit } else { 0 };
    bit(Happened::CONNECTED, CONNECTED)
        | bit(Happened::FINISHED, FINISHED)
        | bit(Happened::CLOSED, CLOSED)
}

impl Application {
    pub fn new(
        owner: Owner,
        ends: Ends,
        pools: Pools,
        (region, layout): (Arc<Region>, Layout),
        options: SocketOptions,
    ) -> Application {
        let start = Span::new(&region, 0, layout.slots().start);
        Application {
            owner,
            ends: Some(ends),
            pools,
            control: Control::new(start, layout),
            region,
            layout,
            options,
            handled: 0,
            slots: Vec::new(),
            listeners: Listeners::default(),
            inherited: HashSet::new(),
            closes_at_end: false,
            news: false,
        }
    }

    fn head(&self, slot: u32) -> Head {
        Head::new(self.layout.slots().head(&self.region, slot))
    }

    fn slot(&mut self, slot: u32) -> &mut Slot {
        let at = slot as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
        }
        &mut self.slots[at]
    }

    /// The connection of a slot that the application named.
    fn socket_of(&self, slot: u32) -> Option<SocketId> {
        let slot = self.slots.get(slot as usize)?;
        slot.socket.filter(|_| !slot.moved)
    }

    /// Whether there is anything to do for it.
    pub fn has_work(&self) -> bool {
        self.control.submitted().load(Ordering::Relaxed) != self.handled
            || self.control.notified().any()
    }

    /// Hands a connection to the application.
    fn begin(
        &mut self,
        engine: &mut Engine<Pools>,
        socket: SocketId,
        listener: Option<(u32, SocketId)>,
        state: u32,
    ) -> Reply {
        let slot = engine.slot(socket);
        let found = slot.and_then(|slot| Some((slot, self.pools.hand_over(self.owner, slot)?)));
        let Some((slot, generation)) = found else {
            return Reply::error(libc::ECONNABORTED);
        };
        let (number, listener) = listener.unzip();
        *self.slot(slot) = Slot {
            used: true,
            socket: Some(socket),
            moved: false,
            listener,
            generation,
            state,
        };
        let (local, remote) = engine.ends(socket).unzip();
        let addresses = [local, remote.flatten()];
        self.head(slot)
            .begin(generation, socket, number, state, addresses);
        Reply {
            number: slot,
            generation,
            local,
            ..Reply::default()
        }
    }

    /// The application no longer has a slot, if it had it: what was there, unless others alone have that.
    fn end(&mut self, slot: u32) -> Option<Option<SocketId>> {
        let found = self.slots.get_mut(slot as usize).filter(|slot| slot.used)?;
        found.used = false;
        let socket = found.socket.take();
        self.pools.take_back(self.owner, slot);
        Some(socket)
    }

    /// Tells the application of an event.
    pub fn deliver(&mut self, engine: &mut Engine<Pools>, event: Event) {
        if self.ends.is_none() {
            return;
        }
        let has = |what| event.happened.has(what);
        let slot = event.slot;
        if let Some(listener) = event.listener
            && has(Happened::CONNECTED)
        {
            let Some(number) = self.listeners.number_of(listener) else {
                return engine.abort(event.socket);
            };
            let by = Some((number, listener));
            self.begin(engine, event.socket, by, CONNECTED);
        }
        if self.socket_of(slot) != Some(event.socket) {
            return;
        }
        let bits = bits(event.happened);
        let state = self.slot(slot);
        if state.state | bits != state.state {
            state.state |= bits;
            let state = state.state;
            let error = event.reason.map_or(0, of_reason);
            self.head(slot).tell(state, error);
        }
        self.control.ready().set(slot);
        self.news = true;
    }

    /// Wakes the application if it sleeps and something is new.
    pub fn wake(&mut self) {
        if std::mem::take(&mut self.news)
            && must_wake(self.control.application_asleep())
            && let Some(ends) = &self.ends
        {
            ring(&ends.socket);
        }
    }

    /// Asks it for a wake-up. False if there is something to do.
    pub fn before_sleep(&self) -> bool {
        fall_asleep(self.control.engine_asleep());
        !self.has_work()
    }

    /// The engine is awake.
    pub fn after_sleep(&self) {
        self.control.engine_asleep().store(0, Ordering::Relaxed);
    }

    /// Its process is gone: what it has closed in order is sent to the end, and all else is closed now, or reset.
    pub fn leave(&mut self, now: Time, engine: &mut Engine<Pools>, family: &mut Family) {
        for socket in self.listeners.take_all() {
            self.unlisten(now, engine, family, socket);
        }
        for socket in std::mem::take(&mut self.inherited) {
            family.let_go(now, engine, socket);
        }
        self.ends = None;
        for slot in 0..self.slots.len() as u32 {
            if let Some(Some(socket)) = self.end(slot)
                && family.release(socket)
                && !(self.closes_at_end && engine.close(now, socket))
            {
                engine.abort(socket);
            }
        }
    }

    /// Whether the engine has nothing of it any more.
    pub fn has_left(&self) -> bool {
        self.ends.is_none() && self.pools.held(self.owner) == 0
    }
}
