//! What an application asks for.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::Application;
use crate::engine::{Engine, SocketId};
use crate::entry::{Choice, KEY, Reply, Request};
use crate::layout::ENTRIES;
use crate::memory::Corrupt;
use crate::server::errors::{describe, of_socket};
use crate::server::family::Family;
use crate::server::pool::Pools;
use crate::slot::CONNECTED;
use crate::tcp::KeepAlive;
use crate::time::Time;

impl Application {
    /// Does what it asked for. Returns how much that was.
    ///
    /// # Errors
    /// Its memory says what cannot be.
    pub fn poll(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
    ) -> Result<usize, Corrupt> {
        let notices = self.take_notices(engine)?;
        Ok(notices + self.take_requests(now, engine, family)?)
    }

    /// Tells the engine of connections whose rings the application has changed.
    fn take_notices(&mut self, engine: &mut Engine<Pools>) -> Result<usize, Corrupt> {
        let (mut done, mut sound) = (0, true);
        self.control.notified().take(|slot| {
            if let Some(socket) = self.socket_of(slot) {
                sound &= engine.notify(socket);
            }
            done += 1;
        });
        sound.then_some(done).ok_or(Corrupt)
    }

    /// Does what it submitted, and replies.
    fn take_requests(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
    ) -> Result<usize, Corrupt> {
        let submitted = self.control.submitted().load(Ordering::Acquire);
        let count = submitted.wrapping_sub(self.handled);
        if count > ENTRIES {
            return Err(Corrupt);
        }
        while self.handled != submitted {
            let request = Request::decode(&self.control.request(self.handled)).ok_or(Corrupt)?;
            let reply = self.handle(now, engine, family, request)?;
            self.control.set_reply(self.handled, &reply.encode());
            self.handled += 1;
            self.control
                .replied()
                .store(self.handled, Ordering::Release);
            self.news = true;
        }
        Ok(count as usize)
    }

    /// Does what a request asks for.
    ///
    /// # Errors
    /// The memory says what cannot be.
    fn handle(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        request: Request,
    ) -> Result<Reply, Corrupt> {
        // None where the application has no such slot or listener.
        let reply = match request {
            Request::Listen {
                local,
                backlog,
                share,
            } => Some(self.listen(engine, local, backlog, share)),
            Request::Unlisten { listener } => self.listeners.remove(listener).map(|socket| {
                self.unlisten(now, engine, family, socket);
                Reply::default()
            }),
            Request::Accept { listener } => self.listeners.accept(listener).map(|socket| {
                engine.set_accepts(socket, true);
                Reply::default()
            }),
            Request::Connect { local, remote } => Some(self.connect(now, engine, local, remote)),
            Request::Bind {
                local,
                remote,
                share,
            } => Some(self.bind(engine, local, remote, share)),
            Request::Reconnect {
                slot,
                local,
                remote,
            } => self.reconnect(engine, slot, local, remote),
            Request::Shutdown { slot } => self.shutdown(engine, slot)?,
            Request::Close { slot } => self.close(now, engine, family, slot)?,
            Request::Abort { slot } => self.abort(engine, family, slot),
            Request::Choose { slot, choice } => self.choose(now, engine, slot, choice),
            Request::Describe { slot } => Some(self.describe(engine, slot)),
            Request::Bequeath { key, socket } => self.bequeath(engine, family, &key, socket),
            Request::Inherit { key } => Some(self.inherit(now, engine, family, &key)),
            Request::Adopt { socket } => Some(self.adopt(engine, family, socket)),
            Request::Join { socket } => Some(self.join(engine, family, socket)),
            Request::Release { socket } => {
                if self.inherited.remove(&socket) {
                    family.let_go(now, engine, socket);
                }
                Some(Reply::default())
            }
            Request::CloseAtEnd => {
                self.closes_at_end = true;
                Some(Reply::default())
            }
        };
        Ok(reply.unwrap_or_else(|| Reply::error(libc::EBADF)))
    }

    fn connect(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        local: Option<SocketAddr>,
        remote: SocketAddr,
    ) -> Reply {
        match engine.connect(now, self.owner, local, remote, self.options) {
            Ok(socket) => self.begin(engine, socket, None, 0),
            Err(error) => Reply::error(of_socket(error)),
        }
    }

    fn bind(
        &mut self,
        engine: &mut Engine<Pools>,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        share: bool,
    ) -> Reply {
        match engine.bind_datagrams(self.owner, local, remote, share) {
            Ok(socket) => self.begin(engine, socket, None, CONNECTED),
            Err(error) => Reply::error(of_socket(error)),
        }
    }

    fn reconnect(
        &mut self,
        engine: &mut Engine<Pools>,
        slot: u32,
        local: SocketAddr,
        remote: Option<SocketAddr>,
    ) -> Option<Reply> {
        let socket = self.socket_of(slot)?;
        Some(match engine.reconnect_datagrams(socket, local, remote) {
            Ok(()) => {
                self.head(slot).set_addresses([Some(local), remote]);
                Reply::default()
            }
            Err(error) => Reply::error(of_socket(error)),
        })
    }

    fn shutdown(
        &mut self,
        engine: &mut Engine<Pools>,
        slot: u32,
    ) -> Result<Option<Reply>, Corrupt> {
        match self.socket_of(slot) {
            Some(socket) if engine.shutdown(socket) => Ok(Some(Reply::default())),
            Some(_) => Err(Corrupt),
            None => Ok(None),
        }
    }

    fn close(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        slot: u32,
    ) -> Result<Option<Reply>, Corrupt> {
        let Some(socket) = self.end(slot) else {
            return Ok(None);
        };
        let last = socket.filter(|&socket| family.release(socket));
        match last.is_none_or(|socket| engine.close(now, socket)) {
            true => Ok(Some(Reply::default())),
            false => Err(Corrupt),
        }
    }

    fn abort(
        &mut self,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        slot: u32,
    ) -> Option<Reply> {
        if let Some(socket) = self.end(slot)?
            && family.release(socket)
        {
            engine.abort(socket);
        }
        Some(Reply::default())
    }

    fn choose(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        slot: u32,
        choice: Choice,
    ) -> Option<Reply> {
        let socket = self.socket_of(slot)?;
        engine.set_options(now, socket, |options| match choice {
            Choice::NoDelay(on) => options.no_delay = on,
            Choice::KeepAlive(on) => options.keep_alive = on.then(KeepAlive::default),
        });
        Some(Reply::default())
    }

    fn describe(&self, engine: &Engine<Pools>, slot: u32) -> Reply {
        match self.socket_of(slot).and_then(|socket| engine.info(socket)) {
            Some(info) => Reply {
                numbers: describe(&info),
                ..Reply::default()
            },
            None => Reply::error(libc::ENOTCONN),
        }
    }

    fn bequeath(
        &self,
        engine: &Engine<Pools>,
        family: &mut Family,
        key: &[u8; KEY],
        socket: SocketId,
    ) -> Option<Reply> {
        match family.heir_of(self.owner, key) {
            Ok(heir) if self.has(engine, socket) => {
                family.bequeath(heir, socket);
                Some(Reply::default())
            }
            Ok(_) => None,
            Err(error) => Some(Reply::error(error)),
        }
    }

    fn inherit(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        key: &[u8; KEY],
    ) -> Reply {
        let Some(sockets) = family.inherit(key) else {
            return Reply::error(libc::ESRCH);
        };
        for socket in sockets {
            // What it had inherited already is counted once.
            if !self.inherited.insert(socket) {
                family.let_go(now, engine, socket);
            }
        }
        Reply::default()
    }
}
