//! Processes that forked, and which of them have a socket.
//!
//! A process that is about to fork bequeaths what it has to an *heir*: a Unix socket that only the child keeps. The heir
//! becomes an application when the child attaches, or the socket tells that the child is gone. A socket is closed when the
//! last process that has it has closed it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvFlags, SendFlags};

use super::pool::Pools;
use crate::engine::{Engine, Owner, SocketId};
use crate::entry::KEY;
use crate::handshake::RELEASE;
use crate::time::Time;

/// How many heirs there are at most.
#[derive(Debug)]
struct Bounds {
    /// To which no application has bequeathed anything: the oldest makes room for another.
    without: usize,
    /// Of an application.
    each: usize,
    /// Of all applications.
    all: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            without: 256,
            each: 1024,
            all: 4096,
        }
    }
}

/// An heir to be, which knows its key and has nothing yet.
#[derive(Debug)]
pub struct Heir {
    life: UnixStream,
    key: [u8; KEY],
    /// None before an application has bequeathed it something.
    bequest: Option<Bequest>,
    /// What came of its next message.
    part: Vec<u8>,
}

/// What an heir has.
#[derive(Debug)]
struct Bequest {
    /// Whose heir it is.
    by: Owner,
    sockets: HashSet<SocketId>,
}

impl Heir {
    /// At the other end of a socket.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new(life: UnixStream) -> io::Result<Heir> {
        let mut key = [0; KEY];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Heir {
            life,
            key,
            bequest: None,
            part: Vec::new(),
        })
    }

    /// What it had, of an heir that is no more.
    fn into_sockets(self) -> HashSet<SocketId> {
        self.bequest
            .map_or_else(HashSet::new, |bequest| bequest.sockets)
    }
}

/// What an application is to hear because of another.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// A connection is no longer in a slot of this application.
    Moved {
        owner: Owner,
        slot: u32,
        socket: SocketId,
    },
    /// The listener `new` of the application `by` joined another of `owner`.
    Joined {
        owner: Owner,
        listener: SocketId,
        by: Owner,
        new: SocketId,
    },
    /// A connection that was not taken goes to another listener.
    Passed {
        socket: SocketId,
        to: (SocketId, Owner),
    },
}

/// Processes that share sockets.
#[derive(Debug, Default)]
pub struct Family {
    heirs: HashMap<u32, Heir>,
    /// The numbers of heirs.
    by_key: HashMap<[u8; KEY], u32>,
    numbers: u32,
    bounds: Bounds,
    /// How many processes have a socket, if more than one has.
    shared: HashMap<SocketId, u32>,
    /// Connections that were not taken, and the listener, which a process that is yet to join it has.
    waiting: Vec<(SocketId, SocketId)>,
    pub changes: VecDeque<Change>,
}

impl Family {
    /// Adds an heir, which gets its key. Its number; none if it is gone.
    pub fn add(&mut self, heir: Heir) -> Option<u32> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        rustix::net::send(&heir.life, &heir.key, flags).ok()?;
        let without = self.heirs.iter().filter(|(_, heir)| heir.bequest.is_none());
        let without: Vec<u32> = without.map(|(&number, _)| number).collect();
        if without.len() >= self.bounds.without {
            // Numbers begin again after the last.
            let age = |number: &u32| self.numbers.wrapping_sub(*number);
            let oldest = without.into_iter().max_by_key(age);
            oldest.map(|number| self.remove(number));
        }
        self.numbers = self.numbers.wrapping_add(1);
        while self.heirs.contains_key(&self.numbers) {
            self.numbers = self.numbers.wrapping_add(1);
        }
        self.by_key.insert(heir.key, self.numbers);
        self.heirs.insert(self.numbers, heir);
        Some(self.numbers)
    }

    /// Forgets an heir, which finds that out by its socket.
    pub fn remove(&mut self, number: u32) -> HashSet<SocketId> {
        let Some(heir) = self.heirs.remove(&number) else {
            return HashSet::new();
        };
        self.by_key.remove(&heir.key);
        heir.into_sockets()
    }

    /// What tells of an heir.
    pub fn watched(&self, number: u32) -> Option<BorrowedFd<'_>> {
        self.heirs.get(&number).map(|heir| heir.life.as_fd())
    }

    /// Another process has a socket.
    pub fn share(&mut self, socket: SocketId) {
        *self.shared.entry(socket).or_insert(1) += 1;
    }

    /// A process no longer has a socket. Whether it was the last.
    pub fn release(&mut self, socket: SocketId) -> bool {
        let Some(count) = self.shared.get_mut(&socket) else {
            return true;
        };
        *count -= 1;
        if *count == 1 {
            self.shared.remove(&socket);
        }
        false
    }

    /// An application has a bequest for the heir with a key, of which [`bequeath`](Family::bequeath) says what it is.
    ///
    /// # Errors
    /// `ESRCH`: there is none, or it is the heir of another. `EMFILE`: the application has too many heirs. `ENFILE`: there are too
    /// many of all applications.
    pub fn heir_of(&mut self, by: Owner, key: &[u8; KEY]) -> Result<u32, c_int> {
        let number = *self.by_key.get(key).ok_or(libc::ESRCH)?;
        let of = |heir: &Heir| heir.bequest.as_ref().map(|bequest| bequest.by);
        match self.heirs.get(&number).and_then(of) {
            Some(other) if other == by => return Ok(number),
            Some(_) => return Err(libc::ESRCH),
            None => {}
        }
        let givers = self.heirs.values().filter_map(of);
        let (all, each) = givers.fold((0, 0), |(all, each), giver| {
            (all + 1, each + usize::from(giver == by))
        });
        if each >= self.bounds.each {
            return Err(libc::EMFILE);
        }
        if all >= self.bounds.all {
            return Err(libc::ENFILE);
        }
        if let Some(heir) = self.heirs.get_mut(&number) {
            let sockets = HashSet::new();
            heir.bequest = Some(Bequest { by, sockets });
        }
        Ok(number)
    }

    /// An heir has a socket, too.
    pub fn bequeath(&mut self, number: u32, socket: SocketId) {
        let heir = self.heirs.get_mut(&number);
        if let Some(bequest) = heir.and_then(|heir| heir.bequest.as_mut())
            && bequest.sockets.insert(socket)
        {
            self.share(socket);
        }
    }

    /// What the heir with a key has: it is none any more.
    pub fn inherit(&mut self, key: &[u8; KEY]) -> Option<HashSet<SocketId>> {
        let number = *self.by_key.get(key)?;
        Some(self.remove(number))
    }

    /// Something came from an heir, or it is gone: what it no longer has.
    pub fn hear(&mut self, number: u32) -> Option<HashSet<SocketId>> {
        let heir = self.heirs.get_mut(&number)?;
        let mut bytes = [0; 4096];
        let n = match rustix::net::recv(&heir.life, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((n, _)) => n,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return None,
            Err(_) => 0,
        };
        if n == 0 {
            return Some(self.remove(number));
        }
        heir.part.extend_from_slice(&bytes[..n]);
        let whole = heir.part.len() / RELEASE * RELEASE;
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let released = heir.part.drain(..whole).collect::<Vec<u8>>();
        let mut gone = HashSet::new();
        for message in released.chunks_exact(RELEASE) {
            let socket = SocketId {
                index: word(&message[..4]),
                generation: word(&message[4..]),
            };
            if let Some(Bequest { sockets, .. }) = &mut heir.bequest
                && sockets.remove(&socket)
            {
                gone.insert(socket);
            }
        }
        Some(gone)
    }

    /// A connection waits until a process joins its listener.
    pub fn wait(&mut self, listener: SocketId, socket: SocketId) {
        self.waiting.push((listener, socket));
    }

    /// A process no longer has what it did not use. It is closed if that was the last, and connections that waited for a
    /// listener are reset.
    pub fn let_go(&mut self, now: Time, engine: &mut Engine<Pools>, socket: SocketId) {
        if self.release(socket) {
            (self.waiting(socket).into_iter()).for_each(|waiting| engine.abort(waiting));
            engine.close(now, socket);
        }
    }

    /// The connections that wait for a listener.
    pub fn waiting(&mut self, listener: SocketId) -> Vec<SocketId> {
        let gone = self.waiting.extract_if(.., |(of, _)| *of == listener);
        gone.map(|(_, socket)| socket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> Family {
        Family {
            bounds: Bounds {
                without: 3,
                each: 4,
                all: 6,
            },
            ..Family::default()
        }
    }

    /// The key of another heir, its number, and what stays open while it is there.
    fn add(family: &mut Family) -> ([u8; KEY], u32, UnixStream) {
        let (life, mut end) = UnixStream::pair().unwrap();
        let number = family.add(Heir::new(life).unwrap()).unwrap();
        let mut key = [0; KEY];
        end.read_exact(&mut key).unwrap();
        (key, number, end)
    }

    #[test]
    fn an_application_does_not_take_the_heirs_of_others() {
        let mut family = family();
        let bequeath = |family: &mut Family, by| {
            let (key, number, end) = add(family);
            let done = family.heir_of(Owner(by), &key);
            done.map(|_| (number, end))
        };
        let mut ends: Vec<_> = (0..4).map(|_| bequeath(&mut family, 1).unwrap()).collect();
        assert_eq!(bequeath(&mut family, 1).unwrap_err(), libc::EMFILE);
        ends.push(bequeath(&mut family, 2).unwrap());
        ends.push(bequeath(&mut family, 2).unwrap());
        assert_eq!(bequeath(&mut family, 2).unwrap_err(), libc::ENFILE);
        // One that is gone makes room.
        let (number, end) = ends.remove(0);
        drop(end);
        assert_eq!(family.hear(number), Some(HashSet::new()));
        bequeath(&mut family, 1).unwrap();
    }

    #[test]
    fn an_heir_that_is_forgotten_has_nothing() {
        let mut family = family();
        let (key, number, mut end) = add(&mut family);
        assert_eq!(family.remove(number), HashSet::new());
        assert_eq!(end.read(&mut [0]).unwrap(), 0);
        assert_eq!(family.heir_of(Owner(1), &key), Err(libc::ESRCH));
        assert_eq!(family.inherit(&key), None);
    }

    #[test]
    fn heirs_without_a_bequest_make_room_for_others() {
        let mut family = Family {
            numbers: u32::MAX - 2,
            ..family()
        };
        let heirs: Vec<_> = (0..5).map(|_| add(&mut family)).collect();
        let mut bequeathed = heirs
            .iter()
            .map(|(key, number, _)| (family.heir_of(Owner(1), key), *number));
        for _ in 0..2 {
            assert_eq!(bequeathed.next().unwrap().0, Err(libc::ESRCH));
        }
        assert!(bequeathed.all(|(done, number)| done == Ok(number)));
        // Another has no use for a key.
        assert_eq!(family.heir_of(Owner(2), &heirs[4].0), Err(libc::ESRCH));
    }
}
