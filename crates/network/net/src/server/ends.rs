//! Applications that end, in order or not.

use tracing::{debug, warn};

use super::{Applications, Pools};
use crate::engine::{Engine, Owner};
use crate::handshake::answer;
use crate::time::Time;

impl Applications {
    /// Something is at the socket of an application: it rang, or it is gone.
    pub fn rang(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        if let Some(application) = self.places.get(owner)
            && let Some(ends) = &application.ends
            && !answer(&ends.socket)
        {
            self.gone(now, engine, owner);
        }
    }

    /// An application has ended. What it asked for before is done.
    pub fn gone(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        let application = self.places.get_mut(owner);
        let Some(application) = application.filter(|found| found.ends.is_some()) else {
            return;
        };
        debug!("an application has ended");
        match application.poll(now, engine, &mut self.family) {
            Ok(_) => self.leave(now, engine, owner),
            Err(_) => self.cut_off(now, engine, owner),
        }
    }

    /// An application whose memory says what cannot be: what is there is reset, whoever has it.
    pub(super) fn cut_off(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        if self.places.get(owner).is_none() {
            return;
        }
        warn!("an application is cut off: its memory says what cannot be");
        self.leave(now, engine, owner);
        engine.release(owner);
        self.remove(owner);
    }

    /// An application no longer has what it had.
    fn leave(&mut self, now: Time, engine: &mut Engine<Pools>, owner: Owner) {
        let application = self.places.get_mut(owner);
        let left = application.is_some_and(|application| {
            application.leave(now, engine, &mut self.family);
            application.has_left()
        });
        self.settle(now, engine);
        if left {
            self.remove(owner);
        }
    }

    /// Forgets an application of which the engine needs nothing.
    pub(super) fn remove(&mut self, owner: Owner) {
        if self.places.remove(owner) {
            self.pools.remove(owner);
        }
    }
}
