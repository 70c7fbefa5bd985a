//! A processor that is kept awake.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::dispatch::affinity::{Affinity, ThreadIdCell, ThreadRef, lowest_priority};
use crate::topology::Topology;

/// One of the two processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Second,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// A thread that turns on one of two processors for as long as it is asked to, and sleeps otherwise.
///
/// A processor that has nothing to do halts. To wake it takes a virtual machine from tens of microseconds to more than
/// a hundred, and the system prefers it, because it is idle, to the one that the waker is on. While this thread keeps
/// the one processor busy, at the lowest priority, a server and its client that both run on the other one wake each
/// other by a mere switch. On more than two processors there is always an idle one. It is started when it is asked for
/// first.
#[derive(Debug)]
pub(crate) struct Awake {
    cpus: [usize; 2],
    thread: OnceLock<Option<Turning>>,
    /// Somebody sits: two would want it in different places.
    taken: AtomicBool,
}

/// The one who may be seated. Dropped, it is somebody else's.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Awake);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}

#[derive(Debug)]
struct Turning {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    identity: ThreadIdCell,
    began: Instant,
    /// When it may sleep, in nanoseconds since it began.
    until: AtomicU64,
    /// It sleeps or is about to, and nobody has woken it.
    asleep: AtomicBool,
    closed: AtomicBool,
    /// It has no low priority, and does not turn.
    refused: AtomicBool,
}

impl Awake {
    /// Where this process has two processors and all of their time.
    pub(crate) fn find(topology: &Topology) -> Option<Awake> {
        let [first, second] = &topology.cpus[..] else {
            return None;
        };
        let all = cfg!(target_os = "linux") && topology.parallelism() >= 2.0;
        all.then(|| Awake::on([first.id, second.id]))
    }

    pub(super) fn on(cpus: [usize; 2]) -> Awake {
        Awake {
            cpus,
            thread: OnceLock::new(),
            taken: AtomicBool::new(false),
        }
    }

    /// The right to be seated, which one has at a time.
    pub(super) fn take(&self) -> Option<Turn<'_>> {
        let taken = self.taken.swap(true, Ordering::Acquire);
        (!taken).then(|| Turn(self))
    }
}

impl Turn<'_> {
    /// Seats the calling thread on one side, wherever else it is at home, and keeps the other awake for so long.
    ///
    /// # Errors
    /// The system refuses a thread, or a place, or does not say where home is.
    pub(super) fn seat(&self, side: Side, home: &Affinity, time: Duration) -> io::Result<()> {
        let Awake { cpus, thread, .. } = self.0;
        if !home.is_known() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let turning = thread.get_or_init(Turning::start);
        let turning = turning.as_ref().ok_or(io::ErrorKind::OutOfMemory)?;
        let identity = turning.shared.identity.wait();
        if turning.shared.refused.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // Before this thread moves: a processor that is idle for a moment attracts the client.
        turning.keep(time);
        home.pin(ThreadRef::Other(identity), &[cpus[side.other() as usize]])?;
        home.pin(ThreadRef::Current, &[cpus[side as usize]])
    }

    /// Keeps it awake from now on for so long.
    pub(super) fn keep(&self, time: Duration) {
        if let Some(Some(turning)) = self.0.thread.get() {
            turning.keep(time);
        }
    }
}

impl Turning {
    fn start() -> Option<Turning> {
        let shared = Arc::new(Shared {
            identity: ThreadIdCell::new(),
            began: Instant::now(),
            until: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        });
        let its = Arc::clone(&shared);
        let started = thread::Builder::new()
            .name("evener-awake".into())
            .spawn(move || its.turn());
        Some(Turning {
            shared,
            handle: Some(started.ok()?),
        })
    }

    fn keep(&self, time: Duration) {
        let shared = &self.shared;
        let until = shared.now() + time.as_nanos() as u64;
        shared.until.store(until, Ordering::SeqCst);
        if shared.asleep.swap(false, Ordering::SeqCst) {
            self.unpark();
        }
    }

    fn unpark(&self) {
        if let Some(handle) = &self.handle {
            handle.thread().unpark();
        }
    }
}

impl Shared {
    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn is_wanted(&self) -> bool {
        self.now() < self.until.load(Ordering::SeqCst)
    }

    fn turn(&self) {
        // At another priority it would be in the way.
        let refused = lowest_priority().is_err();
        self.refused.store(refused, Ordering::SeqCst);
        self.identity.set();
        if refused {
            return;
        }
        while !self.closed.load(Ordering::SeqCst) {
            while self.is_wanted() {
                thread::yield_now();
            }
            self.asleep.store(true, Ordering::SeqCst);
            // Who asks after this sees that it is asleep.
            if !self.is_wanted() && !self.closed.load(Ordering::SeqCst) {
                thread::park();
            }
            self.asleep.store(false, Ordering::SeqCst);
        }
    }
}

impl Drop for Turning {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.until.store(0, Ordering::SeqCst);
        self.unpark();
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn becomes(asleep: bool, shared: &Shared) {
        let begin = Instant::now();
        while shared.asleep.load(Ordering::SeqCst) != asleep {
            assert!(begin.elapsed() < Duration::from_secs(10), "{asleep}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn it_turns_while_it_is_asked_to_and_ends_with_its_owner() {
        let cpu = Topology::detect().cpus[0].id;
        let awake = Awake::on([cpu; 2]);
        let shared = thread::scope(|scope| {
            let seat = || {
                let (home, turn) = (Affinity::current(), awake.take().unwrap());
                assert!(awake.take().is_none());
                turn.seat(Side::First, &home, Duration::ZERO).unwrap();
            };
            scope.spawn(seat).join().unwrap();
            Arc::clone(&awake.thread.get().unwrap().as_ref().unwrap().shared)
        });
        let turn = awake.take().unwrap();
        for _ in 0..3 {
            becomes(true, &shared);
            turn.keep(Duration::from_secs(3600));
            becomes(false, &shared);
            turn.keep(Duration::ZERO);
        }
        turn.keep(Duration::from_secs(3600));
        drop(turn);
        drop(awake);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
