//! What an application asks for.

use super::Application;
use crate::engine::Engine;
use crate::entry::{Choice, Reply, Request};
use crate::memory::Corrupt;
use crate::server::errors::{describe, of_socket};
use crate::server::family::Family;
use crate::server::pool::Pools;
use crate::slot::CONNECTED;
use crate::tcp::KeepAlive;
use crate::time::Time;

impl Application {
    /// Does what a request asks for.
    ///
    /// # Errors
    /// The memory says what cannot be.
    pub fn handle(
        &mut self,
        now: Time,
        engine: &mut Engine<Pools>,
        family: &mut Family,
        request: Request,
    ) -> Result<Reply, Corrupt> {
        let done = Reply::default();
        Ok(match request {
            Request::Listen {
                local,
                backlog,
                share,
            } => self.listen(engine, local, backlog, share),
            Request::Unlisten { listener } => match self.listeners.remove(listener) {
                Some(socket) => {
                    self.unlisten(now, engine, family, socket);
                    done
                }
                None => Reply::error(libc::EBADF),
            },
            Request::Connect { local, remote } => {
                match engine.connect(now, self.owner, local, remote, self.options) {
                    Ok(socket) => self.begin(engine, socket, None, 0),
                    Err(error) => Reply::error(of_socket(error)),
                }
            }
            Request::Bind {
                local,
                remote,
                share,
            } => match engine.bind_datagrams(self.owner, local, remote, share) {
                Ok(socket) => self.begin(engine, socket, None, CONNECTED),
                Err(error) => Reply::error(of_socket(error)),
            },
            Request::Reconnect {
                slot,
                local,
                remote,
            } => match self.socket_of(slot) {
                Some(socket) => match engine.reconnect_datagrams(socket, local, remote) {
                    Ok(()) => {
                        self.head(slot).set_addresses([Some(local), remote]);
                        done
                    }
                    Err(error) => Reply::error(of_socket(error)),
                },
                None => Reply::error(libc::EBADF),
            },
            Request::Shutdown { slot } => match self.socket_of(slot) {
                Some(socket) if engine.shutdown(socket) => done,
                Some(_) => return Err(Corrupt),
                None => Reply::error(libc::EBADF),
            },
            Request::Close { slot } => match self.end(slot) {
                Some(socket) => {
                    let last = socket.filter(|&socket| family.release(socket));
                    if last.is_some_and(|socket| !engine.close(now, socket)) {
                        return Err(Corrupt);
                    }
                    done
                }
                None => Reply::error(libc::EBADF),
            },
            Request::Abort { slot } => match self.end(slot) {
                Some(socket) => {
                    if let Some(socket) = socket.filter(|&socket| family.release(socket)) {
                        engine.abort(socket);
                    }
                    done
                }
                None => Reply::error(libc::EBADF),
            },
            Request::Bequeath { key, socket } => match family.heir_of(self.owner, &key) {
                Ok(heir) if self.has(engine, socket) => {
                    family.bequeath(heir, socket);
                    done
                }
                Ok(_) => Reply::error(libc::EBADF),
                Err(error) => Reply::error(error),
            },
            Request::Inherit { key } => match family.inherit(&key) {
                Some(sockets) => {
                    for socket in sockets {
                        // What it had inherited already is counted once.
                        if !self.inherited.insert(socket) {
                            family.let_go(now, engine, socket);
                        }
                    }
                    done
                }
                None => Reply::error(libc::ESRCH),
            },
            Request::Adopt { socket } => self.adopt(engine, family, socket),
            Request::Join { socket } => self.join(engine, family, socket),
            Request::Release { socket } => {
                if self.inherited.remove(&socket) {
                    family.let_go(now, engine, socket);
                }
                done
            }
            Request::Accept { listener } => match self.listeners.accept(listener) {
                Some(socket) => {
                    engine.set_accepts(socket, true);
                    done
                }
                None => Reply::error(libc::EBADF),
            },
            Request::Choose { slot, choice } => match self.socket_of(slot) {
                Some(socket) => {
                    engine.set_options(now, socket, |options| match choice {
                        Choice::NoDelay(on) => options.no_delay = on,
                        Choice::KeepAlive(on) => {
                            options.keep_alive = on.then(KeepAlive::default);
                        }
                    });
                    done
                }
                None => Reply::error(libc::EBADF),
            },
            Request::CloseAtEnd => {
                self.closes_at_end = true;
                done
            }
            Request::Describe { slot } => {
                match self.socket_of(slot).and_then(|socket| engine.info(socket)) {
                    Some(info) => Reply {
                        numbers: describe(&info),
                        ..done
                    },
                    None => Reply::error(libc::ENOTCONN),
                }
            }
        })
    }
}
