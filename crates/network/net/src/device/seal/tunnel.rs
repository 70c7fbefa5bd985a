//! The sessions of a tunnel, and how two ends come to them. It has no clock, and sends and receives nothing itself.
//!
//! - **A session has a salt of each end, and each direction a key of both** (HKDF). A salt is used for one session. So a key
//!   is new if one of the salts is, and no nonce is used twice, whatever is replayed.
//! - **An end takes a session only when its own salt comes back in an authenticated message.** So a message that is
//!   replayed makes none.
//! - **An end that has asked goes on with the session before until something came in the new one.** So nothing is lost where
//!   sessions change.

use std::sync::Arc;
use std::time::Duration;

use evener_crypt::chosen::GCM;
use evener_crypt::gcm::Gcm;
use evener_crypt::keys::{expand, extract};
use zeroize::Zeroizing;

use super::message::{Kind, MESSAGE, Message, Salt};
use super::window::Window;
use crate::time::Time;

/// How long an end waits for an answer.
const AGAIN: Duration = Duration::from_millis(250);
/// How often a session is confirmed before it is given up.
const ATTEMPTS: u32 = 20;
/// Sessions that are kept: the one before may still have packets on their way.
const KEPT: usize = 3;
/// Packets of a session after which another is asked for, and those that it has at most: 2^23 packets keep the chance to
/// tell AES-GCM from chance below 2^-60 (RFC 9001, 6.6).
const RENEW_AFTER: u64 = 1 << 22;
const MOST: u64 = 1 << 23;

/// A session, for packets both ways.
pub(super) struct Session {
    own: Salt,
    peer: Salt,
    pub seals: Direction,
    pub opens: Direction,
    /// The number of the next packet.
    next: u64,
    window: Window,
    /// The peer has it, too.
    confirmed: bool,
    attempts: u32,
}

/// What the packets of one direction have in common.
#[derive(Clone)]
pub(super) struct Direction {
    /// In their headers.
    pub name: u32,
    pub key: Arc<Gcm>,
}

impl Direction {
    fn new(secret: &[u8], sender: &Salt, receiver: &Salt) -> Direction {
        let key = extract(&[&sender[..], receiver].concat(), secret);
        let mut bytes = Zeroizing::new([0; 36]);
        expand(&*key, &[b"evener tunnel 1 packets"], &mut *bytes);
        let (key, name) = bytes.split_at(32);
        Direction {
            name: u32::from_be_bytes(std::array::from_fn(|at| name[at])),
            key: Arc::new(Gcm::new(key, GCM.level())),
        }
    }
}

/// Where salts come from.
pub(super) type Salts = Box<dyn FnMut() -> Salt + Send>;

/// One end.
pub(super) struct Tunnel {
    secret: Zeroizing<[u8; 32]>,
    /// The key that messages are authenticated with.
    messages: Zeroizing<[u8; 64]>,
    salts: Salts,
    /// Of the next session.
    salt: Salt,
    sessions: Vec<Session>,
    /// The session that packets are sealed in, by its own salt.
    sealing: Option<Salt>,
    /// When to ask or to confirm again.
    again: Time,
    /// Messages that were made with another key.
    pub rejected: u64,
}

impl Tunnel {
    pub(super) fn new(secret: &[u8; 32], mut salts: Salts) -> Tunnel {
        let mut messages = Zeroizing::new([0; 64]);
        let key = extract(b"", secret);
        expand(&*key, &[b"evener tunnel 1 messages"], &mut *messages);
        Tunnel {
            secret: Zeroizing::new(*secret),
            messages,
            salt: salts(),
            salts,
            sessions: Vec::new(),
            sealing: None,
            again: Time::ZERO,
            rejected: 0,
        }
    }

    /// Numbers for `count` packets, and what to seal them with. None if there is no session.
    pub(super) fn seal(&mut self, count: u64) -> Option<(Direction, u64)> {
        let session = self.sealing()?;
        let first = session.next;
        if first + count > MOST {
            return None;
        }
        session.next += count;
        let renew = first < RENEW_AFTER && session.next >= RENEW_AFTER;
        let direction = session.seals.clone();
        if renew {
            self.again = Time::ZERO;
        }
        Some((direction, first))
    }

    fn sealing(&mut self) -> Option<&mut Session> {
        let salt = self.sealing?;
        (self.sessions.iter_mut()).find(|session| session.own == salt)
    }

    /// What the packets of each session are opened with.
    pub(super) fn opens(&self) -> Vec<Direction> {
        let sessions = self.sessions.iter();
        sessions.map(|session| session.opens.clone()).collect()
    }

    /// A packet of a session was genuine. False if it came before.
    pub(super) fn opened(&mut self, name: u32, number: u64) -> bool {
        let mut sessions = self.sessions.iter_mut();
        let Some(session) = sessions.find(|session| session.opens.name == name) else {
            return false;
        };
        let is_new = session.window.take(number);
        if is_new && !session.confirmed {
            session.confirmed = true;
            self.sealing = Some(session.own);
        }
        is_new
    }

    /// A message came. Returns what is answered, and whether an empty packet is to be sent, which confirms a session.
    pub(super) fn receive(
        &mut self,
        now: Time,
        bytes: &[u8; MESSAGE],
    ) -> (Option<[u8; MESSAGE]>, bool) {
        let Some(message) = Message::decode(bytes, &*self.messages) else {
            self.rejected += 1;
            return (None, false);
        };
        let is_ours = message.receiver == self.salt && message.sender != self.salt;
        match message.kind {
            Kind::Hello => (self.message(Kind::Answer, self.salt, message.sender), false),
            Kind::Answer if is_ours => {
                let own = self.begin(message.sender, false);
                self.again = now + AGAIN;
                (self.message(Kind::Confirmation, own, message.sender), false)
            }
            Kind::Answer => (None, false),
            Kind::Confirmation => {
                if is_ours {
                    let own = self.begin(message.sender, true);
                    self.sealing = Some(own);
                }
                let is_there = |session: &Session| {
                    session.own == message.receiver && session.peer == message.sender
                };
                (None, self.sessions.iter().any(is_there))
            }
        }
    }

    fn message(&self, kind: Kind, sender: Salt, receiver: Salt) -> Option<[u8; MESSAGE]> {
        let message = Message {
            kind,
            sender,
            receiver,
        };
        Some(message.encode(&*self.messages))
    }

    /// Begins a session with the salt that was waiting, and returns that.
    fn begin(&mut self, peer: Salt, confirmed: bool) -> Salt {
        let own = std::mem::replace(&mut self.salt, (self.salts)());
        self.sessions.push(Session {
            own,
            peer,
            seals: Direction::new(&*self.secret, &own, &peer),
            opens: Direction::new(&*self.secret, &peer, &own),
            next: 0,
            window: Window::new(),
            confirmed,
            attempts: 0,
        });
        self.sealing.get_or_insert(own);
        while self.sessions.len() > KEPT {
            let sealing = self.sealing;
            let oldest = self
                .sessions
                .iter()
                .position(|old| Some(old.own) != sealing);
            self.sessions.remove(oldest.expect("one is sealed in"));
        }
        own
    }

    /// What is due by now: a message to send.
    pub(super) fn advance(&mut self, now: Time) -> Option<[u8; MESSAGE]> {
        if self.next_deadline() > now {
            return None;
        }
        self.again = now + AGAIN;
        let last = self.sessions.last_mut();
        if let Some(last) = last.filter(|last| !last.confirmed) {
            last.attempts += 1;
            if last.attempts <= ATTEMPTS {
                let (own, peer) = (last.own, last.peer);
                return self.message(Kind::Confirmation, own, peer);
            }
            let given_up = self.sessions.pop().expect("it is there");
            if self.sealing == Some(given_up.own) {
                self.sealing = None;
            }
        }
        self.message(Kind::Hello, self.salt, Salt::default())
    }

    /// When something is due.
    pub(super) fn next_deadline(&self) -> Time {
        let waits = match self.sessions.last() {
            None => true,
            Some(last) => !last.confirmed || last.next >= RENEW_AFTER,
        };
        if waits { self.again } else { Time::NEVER }
    }
}

#[cfg(test)]
mod tests;
