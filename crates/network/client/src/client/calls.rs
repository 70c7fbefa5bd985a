//! Requests to the engine, and the replies.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;

use super::Shared;
use super::wait::{Key, lock};
use crate::entry::{Reply, Request};
use crate::flags::must_wake;
use crate::handshake::ring;
use crate::layout::ENTRIES;

/// The requests of an application. The lock around it makes its threads one producer.
#[derive(Debug, Default)]
pub struct Calls {
    submitted: u64,
    /// Replies whose places in memory may be used again.
    collected: u64,
    /// Those that a thread waits for.
    wanted: HashMap<u64, Option<Reply>>,
}

impl Shared {
    /// Makes a request, and returns its number. `wanted` if the reply is asked for.
    ///
    /// # Errors
    /// The engine is gone.
    fn submit(&self, request: Request, wanted: bool) -> io::Result<u64> {
        loop {
            let mut calls = lock(&self.calls);
            self.collect(&mut calls);
            if calls.submitted - calls.collected < ENTRIES {
                let number = calls.submitted;
                self.control.set_request(number, &request.encode());
                calls.submitted += 1;
                if wanted {
                    calls.wanted.insert(number, None);
                }
                let submitted = self.control.submitted();
                submitted.store(calls.submitted, Ordering::Release);
                drop(calls);
                self.wake_engine();
                return Ok(number);
            }
            let collected = calls.collected;
            drop(calls);
            self.wait(Key::Reply, None, || {
                self.control.replied().load(Ordering::Acquire) != collected
            })?;
        }
    }

    fn collect(&self, calls: &mut Calls) {
        let replied = self.control.replied().load(Ordering::Acquire);
        let replied = replied.min(calls.submitted);
        while calls.collected < replied {
            let number = calls.collected;
            if let Some(reply) = calls.wanted.get_mut(&number) {
                *reply = Some(Reply::decode(&self.control.reply(number)));
            }
            calls.collected += 1;
        }
    }

    /// Makes a request and waits for the reply.
    ///
    /// # Errors
    /// What the engine answers, or that it is gone.
    pub fn call(&self, request: Request) -> io::Result<Reply> {
        let number = self.submit(request, true)?;
        let mut reply = None;
        let waited = self.wait(Key::Reply, None, || {
            let mut calls = lock(&self.calls);
            self.collect(&mut calls);
            if let Some(Some(_)) = calls.wanted.get(&number) {
                reply = calls.wanted.remove(&number).flatten();
            }
            reply.is_some()
        });
        match reply {
            Some(reply) if reply.error == 0 => Ok(reply),
            Some(reply) => Err(io::Error::from_raw_os_error(reply.error)),
            None => {
                lock(&self.calls).wanted.remove(&number);
                waited?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
    }

    /// Makes a request whose reply does not matter.
    pub fn tell(&self, request: Request) {
        // An engine that is gone has forgotten what this is about.
        let _ = self.submit(request, false);
    }

    /// The engine is to look at the rings of a connection.
    pub fn notify(&self, slot: u32) {
        self.control.notified().set(slot);
        self.wake_engine();
    }

    fn wake_engine(&self) {
        if must_wake(self.control.engine_asleep()) && !ring(&self.socket) {
            self.mark_gone();
        }
    }
}
