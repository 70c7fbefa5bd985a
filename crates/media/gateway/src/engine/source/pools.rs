//! The pools of all engines, which share them with the thread that sends probes. Packets do not go through here: a pool is
//! asked when a session begins, fails or ends.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use evener_files::lock;
use rustix::event::{EventfdFlags, eventfd};
use serde::Serialize;
use tracing::{info, warn};

use crate::pool::{Member, OriginId, OriginStatus, Pool, State, Unavailable};
use crate::rtsp::Url;

/// Pools by name.
#[derive(Debug)]
pub struct Pools {
    by_name: Mutex<BTreeMap<String, Pool>>,
    /// Readable when a probe may be due earlier than it was.
    bell: OwnedFd,
    stops: AtomicBool,
}

/// What is known of a pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolStatus {
    /// What clients ask for, as `/pool/NAME/PATH`.
    pub name: String,
    /// Its origins.
    pub origins: Vec<OriginStatus>,
}

/// Why a pool gives no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOrigin {
    /// There is no such pool.
    #[error("there is no pool '{0}'")]
    Unknown(String),
    /// None of its origins can be asked.
    #[error("pool '{0}': {1}")]
    Unavailable(String, Unavailable),
}

impl Pools {
    /// Pools of these origins, by name.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new(pools: Vec<(String, Vec<Member>)>) -> io::Result<Pools> {
        let made = Pools {
            by_name: Mutex::default(),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            stops: AtomicBool::new(false),
        };
        made.configure(pools, Instant::now());
        Ok(made)
    }

    /// Has these pools from now on. Sessions go on, those of origins and pools that are gone as well.
    pub fn configure(&self, pools: Vec<(String, Vec<Member>)>, now: Instant) {
        let mut by_name = self.by_name();
        for (name, pool) in by_name.iter_mut() {
            if !pools.iter().any(|(other, _)| other == name) {
                pool.configure(Vec::new(), now);
            }
        }
        for (name, members) in pools {
            match by_name.get_mut(&name) {
                Some(pool) => pool.configure(members, now),
                None => drop(by_name.insert(name, Pool::new(members, now))),
            }
        }
        by_name.retain(|_, pool| !pool.is_empty());
        self.ring();
    }

    /// Takes an origin for a session of the stream `key`; see [`Pool::place`].
    ///
    /// # Errors
    /// There is none.
    pub fn place(
        &self,
        name: &str,
        key: &str,
        tried: &[OriginId],
        now: Instant,
    ) -> Result<(OriginId, Url), NoOrigin> {
        let mut by_name = self.by_name();
        let pool = by_name.get_mut(name);
        let pool = pool.ok_or_else(|| NoOrigin::Unknown(name.to_owned()))?;
        pool.place(key, tried, now)
            .map_err(|error| NoOrigin::Unavailable(name.to_owned(), error))
    }

    /// Whether there is a pool of that name.
    pub fn has(&self, name: &str) -> bool {
        self.by_name().contains_key(name)
    }

    /// Whether an address is at the host and port of an origin of any pool.
    pub fn has_origin(&self, url: &Url) -> bool {
        self.by_name().values().any(|pool| pool.has_origin(url))
    }

    /// A session is over.
    pub fn release(&self, name: &str, id: OriginId) {
        let mut by_name = self.by_name();
        if let Some(pool) = by_name.get_mut(name) {
            pool.release(id);
            if pool.is_empty() {
                by_name.remove(name);
            }
        }
    }

    /// A session failed in a way that puts its origin under suspicion.
    pub fn session_failed(&self, name: &str, id: OriginId, reason: &str, now: Instant) {
        if let Some(pool) = self.by_name().get_mut(name) {
            pool.session_failed(id, reason, now);
        }
        self.ring();
    }

    /// What is known of all.
    pub fn status(&self, now: Instant) -> Vec<PoolStatus> {
        let by_name = self.by_name();
        let status = by_name.iter().map(|(name, pool)| PoolStatus {
            name: name.clone(),
            origins: pool.status(now),
        });
        status.collect()
    }

    /// Ends the thread that sends probes.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Release);
        self.ring();
    }

    pub(in crate::engine) fn has_stopped(&self) -> bool {
        self.stops.load(Ordering::Acquire)
    }

    /// The probes that are to be sent now.
    pub(in crate::engine) fn probes(&self, now: Instant) -> Vec<(String, OriginId, Url)> {
        let mut due = Vec::new();
        for (name, pool) in self.by_name().iter_mut() {
            let probes = pool.probes(now).into_iter();
            due.extend(probes.map(|(id, url)| (name.clone(), id, url)));
        }
        due
    }

    /// When the next are.
    pub(in crate::engine) fn next_probe(&self) -> Option<Instant> {
        self.by_name().values().filter_map(Pool::next_probe).min()
    }

    pub(in crate::engine) fn probed(
        &self,
        name: &str,
        id: OriginId,
        result: Result<(), &str>,
        now: Instant,
    ) {
        if let Some(pool) = self.by_name().get_mut(name)
            && let Some((url, state)) = pool.probed(id, result, now)
        {
            match (state, result) {
                (State::Down, Err(reason)) => {
                    warn!("pool '{name}': origin {url} is down: {reason}");
                }
                (State::Up, _) => info!("pool '{name}': origin {url} is up"),
                _ => {}
            }
        }
    }

    /// All that was rung for is seen.
    pub(in crate::engine) fn quiet(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }

    /// Wakes the thread that sends probes.
    pub(in crate::engine) fn ring(&self) {
        // If the counter is full, the bell rings anyway.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, Pool>> {
        lock(&self.by_name)
    }
}

impl AsFd for Pools {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
