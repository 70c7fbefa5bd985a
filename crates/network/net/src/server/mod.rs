//! The applications of an engine.

mod application;
mod errors;
mod family;
mod pool;
#[allow(unsafe_code)]
mod process;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tracing::{debug, warn};

pub use family::Heir;
pub use pool::Pools;

use crate::engine::{Engine, Event, Owner, SocketId, SocketOptions};
use crate::handshake::{answer, create, send_file};
use crate::layout::Layout;
use crate::memory::Region;
use crate::tcp::Reason;
use crate::time::Time;
use application::{Application, Ends};
use family::{Change, Family};

/// Applications at most.
pub const APPLICATIONS: usize = 1024;

/// An application that has its memory, and that no engine serves yet.
#[derive(Debug)]
pub struct Attached {
    socket: UnixStream,
    process: Option<OwnedFd>,
    file: File,
    region: Arc<Region>,
    layout: Layout,
}

impl Attached {
    /// Gives the client of a socket its memory.
    ///
    /// # Errors
    /// The client is gone, or what the operating system says.
    pub fn new(socket: UnixStream, layout: Layout) -> io::Result<Attached> {
        // Without one the end of the socket tells, unless a child has it too.
        let process = process::peer(&socket);
        let (file, region) = create(&layout)?;
        send_file(&socket, &file)?;
        Ok(Attached {
            socket,
            process,
            file,
            region,
            layout,
        })
    }
}

#[cfg(test)]
impl Attached {
    /// One whose process is told of by what cannot be waited for.
    pub fn that_cannot_be_watched(socket: UnixStream, layout: Layout) -> Attached {
        let file = tempfile::tempfile().expect("a file");
        let mut attached = Attached::new(socket, layout).expect("memory");
        attached.process = Some(file.into());
        attached
    }
}

/// The applications of an engine.
#[derive(Default)]
pub struct Applications {
    pools: Pools,
    options: SocketOptions,
    family: Family,
    places: Vec<Place>,
    /// Those that are at fault.
    corrupt: Vec<Owner>,
}

/// A place of an application: another one that has it later is another owner.
#[derive(Default)]
struct Place {
    uses: u32,
    application: Option<Box<Application>>,
}

impl std::fmt::Debug for Applications {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applications")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

/// What tells the loop that an application wants something or is gone.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    /// Readable when the application rang, or is gone.
    pub socket: BorrowedFd<'a>,
    /// Readable when its process has ended.
    pub process: Option<BorrowedFd<'a>>,
}

impl Applications {
    /// None yet. Their connections begin with `options`.
    pub fn new(options: SocketOptions) -> Applications {
        Applications {
            options,
            ..Applications::default()
        }
    }

    /// The memory for their engine.
    pub fn memory(&self) -> Pools {
        self.pools.clone()
    }

    /// How many there are, but for those of which only closed connections are left.
    pub fn count(&self) -> usize {
        let places = self
            .places
            .iter()
            .filter_map(|place| place.application.as_ref());
        places.filter(|found| found.ends.is_some()).count()
    }

    /// Adds one; `None` if there are too many.
    pub fn add(&mut self, attached: Attached) -> Option<Owner> {
        let free = self.places.iter().position(|p| p.application.is_none());
        let at = free.unwrap_or(self.places.len());
        if at == APPLICATIONS {
            return None;
        }
        if free.is_none() {
            self.places.push(Place::default());
        }
        let place = &mut self.places[at];
        place.uses = place.uses.wrapping_add(1);
        let owner = Owner(place.uses.wrapping_mul(APPLICATIONS as u32) + at as u32);
        let Attached {
            socket,
            process,
            file,
            region,
            layout,
        } = attached;
        self.pools.add(owner, file, Arc::clone(&region), layout);
        let ends = Ends { socket, process };
        let memory = (region, layout);
        let application = Application::new(owner, ends, self.pools.clone(), memory, self.options);
        place.application = Some(Box::new(application));
        Some(owner)
    }

    /// What tells of an application.
    pub fn watched(&self, owner: Owner) -> Option<Watched<'_>> {
        let ends = self.get(owner)?.ends.as_ref()?;
        Some(Watched {
            socket: ends.socket.as_fd(),
            process: ends.process.as_ref().map(AsFd::as_fd),
        })
    }

    fn at(owner: Owner) -> usize {
        owner.0 as usize % APPLICATIONS
    }

    fn is_current(place: &Place, owner: Owner) -> bool {
        place.uses.wrapping_mul(APPLICATIONS as u32) == owner.0 - Self::at(owner) as u32
    }

    fn get(&self, owner: Owner) -> Option<&Application> {
        let place = self.places.get(Self::at(owner))?;
        place
            .application
            .as_deref()
            .filter(|_| Self::is_current(place, owner))
    }

    fn get_mut(&mut self, owner: Owner) -> Option<&mut Application> {
        let place = self.places.get_mut(Self::at(owner))?;
        let current = Self::is_current(place, owner);
        place.application.as_deref_mut().filter(|_| current)
    }

    /// All, with their owners.
    fn each(&mut self) -> impl Iterator<Item = (Owner, &mut Application)> {
        self.places
            .iter_mut()
            .enumerate()
            .filter_map(|(at, place)| {
                let owner = Owner(place.uses.wrapping_mul(APPLICATIONS as u32) + at as u32);
                Some((owner, place.application.as_deref_mut()?))
            })
    }

    /// Does what applications ask for. Returns how much that was.
    pub fn poll(&mut self, now: Time, engine: &mut Engine<Pools>) -> usize {
        let mut done = 0;
        let mut over = Vec::new();
        let mut corrupt = std::mem::take(&mut self.corrupt);
        let mut family = std::mem::take(&mut self.family);
        for (owner, application) in self.each() {
            if application.has_left() {
                over.push(owner);
            } else if application.ends.is_some() && application.has_work() {
                match application.poll(now, engine, &mut family) {
                    Ok(n) => done += n,
                    Err(_) => corrupt.push(owner),
                }
            }
        }
        self.family = family;
        self.settle(now, engine);
        over.into_iter().for_each(|owner| self.remove(owner));
        for owner in corrupt {
            self.cut_off(now, engine, owner);
        }
        done
    }

    /// Tells an application of an event.
    pub fn deliver(&mut self, engine: &mut Engine<Pools>, event: Event) {
        if event.reason == Some(Reason::Corrupt) {
            if !self.corrupt.contains(&event.owner) {
                self.corrupt.push(event.owner);
            }
        } else if let Some(application) = self.get_mut(event.owner) {
            application.deliver(engine, event);
        }
    }

    /// Wakes those that sleep and for which something is new.
    pub fn wake(&mut self) {
        self.each().for_each(|(_, application)| application.wake());
    }

    /// Asks all for a wake-up, before the engine sleeps. False if there is something to do.
    pub fn before_sleep(&mut self) -> bool {
        // All are asked, as each may be the one that comes first.
        let sleeps = self.each().fold(true, |sleeps, (_, application)| {
            (application.ends.is_none() || application.before_sleep()) && sleeps
        });
        sleeps && self.corrupt.is_empty()
    }

    /// The engine is awake.
    pub fn after_sleep(&mut self) {
        self.each()
            .for_each(|(_, application)| application.after_sleep());
    }

    /// Gives memory that is not in use back to the system.
    pub fn trim(&self) {
        self.pools.trim();
    }

    /// Something is at the socket of an application: it rang, or it is gone.
    pub fn rang(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        if let Some(application) = self.get(owner)
            && let Some(ends) = &application.ends
            && !answer(&ends.socket)
        {
            self.gone(now, engine, owner);
        }
    }

    /// An application has ended. What it asked for before is done.
    pub fn gone(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        if self.get(owner).is_none_or(|found| found.ends.is_none()) {
            return;
        }
        debug!("an application has ended");
        let mut family = std::mem::take(&mut self.family);
        let application = self.get_mut(owner).expect("it is there");
        let sound = application.poll(now, engine, &mut family).is_ok();
        self.family = family;
        match sound {
            true => self.leave(now, engine, owner),
            false => self.cut_off(now, engine, owner),
        }
    }

    /// An application no longer has what it had.
    fn leave(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        let mut family = std::mem::take(&mut self.family);
        let application = self.get_mut(owner);
        let left = application.is_some_and(|application| {
            application.leave(now, engine, &mut family);
            application.has_left()
        });
        self.family = family;
        self.settle(now, engine);
        if left {
            self.remove(owner);
        }
    }

    /// An application whose memory says what cannot be: what is there is reset, whoever has it.
    fn cut_off(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        if self.get(owner).is_none() {
            return;
        }
        warn!("an application is cut off: its memory says what cannot be");
        self.leave(now, engine, owner);
        engine.release(owner);
        self.remove(owner);
    }

    /// Adds an heir, which gets its key, and returns its number; `None` if it is gone.
    pub fn add_heir(&mut self, heir: Heir) -> Option<u32> {
        self.family.add(heir)
    }

    /// What tells of an heir.
    pub fn watched_heir(&self, number: u32) -> Option<BorrowedFd<'_>> {
        self.family.watched(number)
    }

    /// Something is at the socket of an heir: it no longer has some of what it inherited, or it is gone.
    pub fn heir_rang(&mut self, now: Time, engine: &mut Engine<Pools>, number: u32) {
        for socket in self.family.hear(number).unwrap_or_default() {
            self.family.let_go(now, engine, socket);
        }
    }

    /// Forgets an heir that nothing tells of.
    pub fn forget_heir(&mut self, now: Time, engine: &mut Engine<Pools>, number: u32) {
        for socket in self.family.remove(number) {
            self.family.let_go(now, engine, socket);
        }
    }

    /// Tells applications of what others did.
    fn settle(&mut self, now: Time, engine: &mut Engine<Pools>) {
        while let Some(change) = self.family.changes.pop_front() {
            match change {
                Change::Moved {
                    owner,
                    slot,
                    socket,
                } => {
                    if let Some(application) = self.get_mut(owner) {
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
                    if let Some(application) = self.get_mut(owner) {
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
            && (self.get_mut(owner))
                .is_some_and(|application| application.receive(engine, socket, listener));
        if !passed {
            engine.abort(socket);
        }
    }

    /// Forgets an application of which the engine needs nothing.
    fn remove(&mut self, owner: Owner) {
        if self.get(owner).is_some() {
            self.pools.remove(owner);
            self.places[Self::at(owner)].application = None;
        }
    }
}
