//! The applications of an engine.

mod application;
mod attached;
mod changes;
mod ends;
mod errors;
mod family;
mod places;
mod pool;
#[allow(unsafe_code)]
mod process;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

pub use attached::Attached;
pub use family::Heir;
pub use places::APPLICATIONS;
pub use pool::Pools;

use crate::engine::{Engine, Event, Owner, SocketOptions};
use crate::tcp::Reason;
use crate::time::Time;
use application::{Application, Ends};
use family::Family;
use places::Places;

/// The applications of an engine.
#[derive(Default)]
pub struct Applications {
    pools: Pools,
    options: SocketOptions,
    family: Family,
    places: Places,
    /// Those that are at fault.
    corrupt: Vec<Owner>,
}

/// What a round over all applications came to.
#[derive(Default)]
struct Round {
    done: usize,
    /// Those of which the engine has nothing any more.
    left: Vec<Owner>,
    /// Those whose memory says what cannot be.
    corrupt: Vec<Owner>,
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
        self.places.count()
    }

    /// Adds one; `None` if there are too many.
    pub fn add(&mut self, attached: Attached) -> Option<Owner> {
        let Attached {
            socket,
            process,
            file,
            region,
            layout,
        } = attached;
        self.places.add(|owner| {
            self.pools.add(owner, file, Arc::clone(&region), layout);
            let ends = Ends { socket, process };
            let memory = (region, layout);
            Application::new(owner, ends, self.pools.clone(), memory, self.options)
        })
    }

    /// What tells of an application.
    pub fn watched(&self, owner: Owner) -> Option<Watched<'_>> {
        let ends = self.places.get(owner)?.ends.as_ref()?;
        Some(Watched {
            socket: ends.socket.as_fd(),
            process: ends.process.as_ref().map(AsFd::as_fd),
        })
    }

    /// Does what applications ask for. Returns how much that was.
    pub fn poll(&mut self, now: Time, engine: &mut Engine<Pools>) -> usize {
        let Round {
            done,
            left,
            corrupt,
        } = self.serve(now, engine);
        self.settle(now, engine);
        left.into_iter().for_each(|owner| self.remove(owner));
        for owner in corrupt {
            self.cut_off(now, engine, owner);
        }
        done
    }

    /// Does what each application asks for by itself.
    fn serve(&mut self, now: Time, engine: &mut Engine<Pools>) -> Round {
        let mut round = Round {
            corrupt: std::mem::take(&mut self.corrupt),
            ..Round::default()
        };
        for (owner, application) in self.places.each() {
            if application.has_left() {
                round.left.push(owner);
            } else if application.ends.is_some() && application.has_work() {
                match application.poll(now, engine, &mut self.family) {
                    Ok(n) => round.done += n,
                    Err(_) => round.corrupt.push(owner),
                }
            }
        }
        round
    }

    /// Tells an application of an event.
    pub fn deliver(&mut self, engine: &mut Engine<Pools>, event: Event) {
        if event.reason == Some(Reason::Corrupt) {
            if !self.corrupt.contains(&event.owner) {
                self.corrupt.push(event.owner);
            }
        } else if let Some(application) = self.places.get_mut(event.owner) {
            application.deliver(engine, event);
        }
    }

    /// Wakes those that sleep and for which something is new.
    pub fn wake(&mut self) {
        self.places
            .each()
            .for_each(|(_, application)| application.wake());
    }

    /// Asks all for a wake-up, before the engine sleeps. False if there is something to do.
    pub fn before_sleep(&mut self) -> bool {
        // All are asked, as each may be the one that comes first.
        let sleeps = self.places.each().fold(true, |sleeps, (_, application)| {
            (application.ends.is_none() || application.before_sleep()) && sleeps
        });
        sleeps && self.corrupt.is_empty()
    }

    /// The engine is awake.
    pub fn after_sleep(&mut self) {
        self.places
            .each()
            .for_each(|(_, application)| application.after_sleep());
    }

    /// Gives memory that is not in use back to the system.
    pub fn trim(&self) {
        self.pools.trim();
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
}
