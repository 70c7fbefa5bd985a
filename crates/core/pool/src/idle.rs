//! What a worker does that has no job: it looks for one, keeps watch, or sleeps.
//!
//! A push of a job wakes nobody. While any worker is busy and another is idle, one of the idle ones keeps *watch*: it
//! sleeps for a beat at a time, and looks into the deques between. Whoever takes a job while on watch wakes the next
//! sleeper, which watches in its place; so threads wake one another only while there is work for them. When nobody has been
//! busy for [`QUIET`], the watch ends and all sleep.
//!
//! Nobody waits in vain: `watched` is true from before a watcher is named until after it has left, under the lock. A thread
//! that begins to be busy says so (`active`) and then looks at `watched`; a watcher that ends its watch takes `watched`
//! back and then looks at all of `active`. So one of them sees the other.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::deque::{self, Deque};
use crate::job::JobRef;
use crate::latch::Latch;
use crate::pool::Shared;
use crate::sync::{AtomicBool, Mutex, Ordering, fence, lock, thread};
use crate::worker::Worker;

/// A job that took less is not worth taking. Whoever took one waits longer before it asks for the next, from the first of
/// these up to the second; after one that was worth it, it asks at once.
const WORTH: Duration = Duration::from_micros(3);
const PATIENCE: (u32, u32) = (8_000, 128_000);
/// Who has pushed nothing for so long after that runs one long job: its oldest is taken without it.
const FORCE: Duration = Duration::from_micros(12);
/// How long a worker looks for jobs before it sleeps.
const SEARCH: Duration = Duration::from_micros(25);
/// How long the watcher sleeps between two looks.
const BEAT: Duration = Duration::from_micros(50);
/// A guest, whom its latch wakes, looks less often after a while.
const LONGEST_BEAT: Duration = Duration::from_micros(400);
/// The watch ends when nobody was busy for so long.
const QUIET: Duration = Duration::from_micros(500);

const ASLEEP: u8 = 0;
const LOOK: u8 = 1;
const WATCH: u8 = 2;

#[derive(Default)]
struct State {
    /// Workers whose threads sleep until they are woken.
    parked: Vec<usize>,
    /// Workers that have no thread yet.
    unstarted: Vec<usize>,
    watcher: Option<usize>,
    /// Workers that may take the place of one that blocks, and are not in service.
    spare: Vec<usize>,
    /// Workers that block, and workers that are in the place of one.
    blocked: usize,
    substitutes: usize,
}

impl State {
    fn has_surplus(&self) -> bool {
        self.substitutes > self.blocked
    }

    /// Takes a substitute out of service.
    fn retire(&mut self, index: usize) {
        self.substitutes -= 1;
        self.spare.push(index);
    }

    /// The waiter's thread is about to sleep.
    fn park(&mut self, waiter: &Waiter) {
        let worker = waiter.worker;
        worker.place.sleeps();
        worker.woken.store(ASLEEP, Ordering::Relaxed);
        let index = worker.index();
        match waiter.latch.is_none() && self.has_surplus() && waiter.shared.is_spare(index) {
            true => self.retire(index),
            false => self.parked.push(index),
        }
    }
}

#[derive(Default)]
pub(crate) struct Idle {
    watched: AtomicBool,
    state: Mutex<State>,
}

/// Looks for a job of other workers'. It asks them all after a while, and after another while takes what they have.
struct Search {
    since: Instant,
    patience: Duration,
    asked: bool,
}

impl Search {
    fn new(worker: &Worker) -> Search {
        Search {
            since: Instant::now(),
            patience: Duration::from_nanos(worker.patience.load(Ordering::Relaxed).into()),
            asked: false,
        }
    }

    /// A job, and the root that it belongs to.
    fn look(&mut self, worker: &Worker, shared: &Shared) -> Option<(JobRef, usize)> {
        let take = |take: fn(&Deque) -> Option<JobRef>| {
            worker
                .others(shared)
                .find_map(|other| worker.take_from(other, take))
        };
        if let Some(found) = take(Deque::steal) {
            return Some(found);
        }
        let waited = self.since.elapsed();
        if !self.asked && waited >= self.patience {
            self.ask(worker, shared);
        } else if self.asked && waited >= FORCE {
            self.since = Instant::now();
            self.asked = false;
            return take(Deque::steal_private);
        }
        None
    }

    fn ask(&mut self, worker: &Worker, shared: &Shared) {
        for other in worker.others(shared) {
            other.deque.want(deque::EXPOSE);
        }
        self.since = Instant::now();
        self.asked = true;
    }
}

/// Says what the worker has learnt from a stolen job that took so long.
pub(crate) fn learn(worker: &Worker, took: Duration) {
    let patience = match took < WORTH {
        true => worker.patience.load(Ordering::Relaxed) * 2,
        false => return worker.patience.store(0, Ordering::Relaxed),
    };
    worker
        .patience
        .store(patience.clamp(PATIENCE.0, PATIENCE.1), Ordering::Relaxed);
}

/// What ended a wait.
enum End {
    /// A job, and the root that it belongs to.
    Job(JobRef, usize),
    /// The latch was set, or the pool ends.
    Other,
}

impl End {
    fn job(self) -> Option<(JobRef, usize)> {
        match self {
            End::Job(job, root) => Some((job, root)),
            End::Other => None,
        }
    }
}

/// What is to be done once the lock is free, as it may take long.
#[must_use]
enum Rouse {
    Nobody,
    Unpark(Option<thread::Thread>),
    Start(usize),
}

impl Rouse {
    fn worker(worker: &Worker) -> Rouse {
        Rouse::Unpark(lock(&worker.thread).clone())
    }

    /// For a worker that was in the list of sleepers.
    fn woken(worker: &Worker, what: u8) -> Rouse {
        worker.place.begin_elsewhere();
        worker.woken.store(what, Ordering::Release);
        Rouse::worker(worker)
    }

    fn go(self, shared: &Shared) {
        match self {
            Rouse::Unpark(Some(thread)) => thread.unpark(),
            Rouse::Start(index) => {
                if !shared.start_thread(index) {
                    let mut state = lock(&shared.idle.state);
                    match shared.is_spare(index) {
                        true => state.retire(index),
                        false => state.unstarted.push(index),
                    }
                }
            }
            Rouse::Unpark(None) | Rouse::Nobody => {}
        }
    }
}

/// A worker that a guest has borrowed.
pub(crate) struct Borrowed {
    pub(crate) index: usize,
    /// Whether it has a thread, which sleeps.
    started: bool,
}

/// What a worker that waits has to know.
struct Waiter<'a> {
    worker: &'a Worker,
    shared: &'a Shared,
    latch: Option<&'a Latch>,
    search: Search,
}

impl Waiter<'_> {
    /// Whether there is something that was put for all or for this worker, or the wait has ended.
    fn is_called(&self) -> bool {
        match self.latch {
            Some(latch) if latch.is_set() => return true,
            None if self.shared.has_ended() => return true,
            _ => {}
        }
        self.worker.has_mail.load(Ordering::Acquire)
            || !self.worker.is_guest() && self.shared.has_injected()
    }

    fn look(&mut self) -> Option<End> {
        if self.latch.is_some_and(Latch::is_set) {
            return Some(End::Other);
        }
        let own = self.worker.root();
        // Who waits for a latch has taken its own jobs. A guest may have left some.
        let local = match self.latch {
            Some(_) => self.worker.take_mail(),
            None => self.worker.take_local(),
        };
        if let Some(job) = local {
            return Some(End::Job(job, own));
        }
        if !self.worker.is_guest()
            && let Some(job) = self.shared.take_injected()
        {
            return Some(End::Job(job, 0));
        }
        if let Some((job, root)) = self.search.look(self.worker, self.shared) {
            return Some(End::Job(job, root));
        }
        (self.latch.is_none() && self.shared.has_ended()).then_some(End::Other)
    }
}

impl Idle {
    /// Workers that have no thread yet, and those that take the place of others.
    pub(crate) fn unstarted(&self, workers: Range<usize>, spare: Range<usize>) {
        let mut state = lock(&self.state);
        state.unstarted.extend(workers.rev());
        state.spare.extend(spare.rev());
    }

    /// A worker begins to block. Puts a spare one into its place.
    pub(crate) fn substitute(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        state.blocked += 1;
        let spare = match state.substitutes < state.blocked {
            true => state.spare.pop(),
            false => None,
        };
        let rouse = spare.map_or(Rouse::Nobody, |index| {
            state.substitutes += 1;
            let worker = &shared.workers[index];
            let is_started = lock(&worker.thread).is_some();
            match is_started {
                true => Rouse::woken(worker, LOOK),
                false => Rouse::Start(index),
            }
        });
        drop(state);
        rouse.go(shared);
    }

    /// A worker no longer blocks, so one substitute too many may be in service. If one sleeps, it retires now; otherwise one
    /// retires when it has found no job.
    pub(crate) fn dismiss(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        state.blocked -= 1;
        let idle =
            |&i: &usize| shared.is_spare(i) && !shared.workers[i].active.load(Ordering::Relaxed);
        let idle = state.parked.iter().position(idle);
        if let Some(at) = idle.filter(|_| state.has_surplus()) {
            let index = state.parked.remove(at);
            state.retire(index);
        }
    }

    /// Makes sure that somebody watches, if anybody is idle. After a job was put where a watcher sees it.
    #[inline]
    pub(crate) fn call_watcher(&self, shared: &Shared) {
        fence(Ordering::SeqCst);
        if !self.watched.load(Ordering::Relaxed) {
            self.name_watcher(shared);
        }
    }

    #[cold]
    fn name_watcher(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        let rouse = match state.watcher {
            None => self.next_watcher(&mut state, shared),
            Some(_) => Rouse::Nobody,
        };
        drop(state);
        rouse.go(shared);
    }

    /// Wakes a sleeper to watch, or starts a thread, which will watch when it finds nothing.
    fn next_watcher(&self, state: &mut State, shared: &Shared) -> Rouse {
        state.watcher = state.parked.pop();
        self.watched
            .store(state.watcher.is_some(), Ordering::SeqCst);
        match state.watcher {
            Some(index) => Rouse::woken(&shared.workers[index], WATCH),
            None => state.unstarted.pop().map_or(Rouse::Nobody, Rouse::Start),
        }
    }

    /// Wakes somebody for a job that was put into the queue that all look into.
    pub(crate) fn wake_one(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        let rouse = match (state.parked.pop(), state.watcher) {
            (Some(index), _) => Rouse::woken(&shared.workers[index], LOOK),
            (None, Some(index)) => Rouse::worker(&shared.workers[index]),
            (None, None) => state.unstarted.pop().map_or(Rouse::Nobody, Rouse::Start),
        };
        drop(state);
        rouse.go(shared);
    }

    /// Wakes the owner of a worker, for its mail.
    pub(crate) fn wake_owner(&self, worker: &Worker, shared: &Shared) {
        let mut state = lock(&self.state);
        let index = worker.index();
        let is = |&i: &usize| i == index;
        let rouse = if let Some(at) = state.unstarted.iter().position(is) {
            state.unstarted.remove(at);
            Rouse::Start(index)
        } else if let Some(at) = state.parked.iter().position(is) {
            state.parked.remove(at);
            Rouse::woken(worker, LOOK)
        } else {
            Rouse::worker(worker)
        };
        drop(state);
        rouse.go(shared);
    }

    /// Wakes all, since the pool ends.
    pub(crate) fn wake_all(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        state.unstarted.clear();
        state.parked.clear();
        drop(state);
        for worker in &shared.workers {
            Rouse::woken(worker, LOOK).go(shared);
        }
    }

    /// Takes a worker whose thread sleeps and has no job, or was never started.
    pub(crate) fn borrow(&self, shared: &Shared) -> Option<Borrowed> {
        let mut state = lock(&self.state);
        if let Some(index) = state.unstarted.pop() {
            return Some(Borrowed {
                index,
                started: false,
            });
        }
        let idle =
            |&i: &usize| !shared.is_spare(i) && !shared.workers[i].active.load(Ordering::Relaxed);
        let at = state.parked.iter().rposition(idle)?;
        Some(Borrowed {
            index: state.parked.remove(at),
            started: true,
        })
    }

    /// Gives it back, with the handle of its thread.
    pub(crate) fn give_back(
        &self,
        borrowed: &Borrowed,
        thread: Option<thread::Thread>,
        shared: &Shared,
    ) {
        let worker = &shared.workers[borrowed.index];
        let mut state = lock(&self.state);
        *lock(&worker.thread) = thread;
        match borrowed.started {
            true => state.parked.push(borrowed.index),
            false => state.unstarted.push(borrowed.index),
        }
        drop(state);
        // What came meanwhile, and found nobody to wake.
        if worker.has_mail.load(Ordering::Acquire)
            || worker.deque.len() > 0
            || shared.has_injected()
        {
            self.wake_owner(worker, shared);
        }
    }

    /// Looks for a job until there is one. Without, the latch was set, or the pool ends.
    pub(crate) fn wait(&self, worker: &Worker, latch: Option<&Latch>) -> Option<(JobRef, usize)> {
        let mut waiter = Waiter {
            worker,
            shared: worker.shared(),
            latch,
            search: Search::new(worker),
        };
        let started = Instant::now();
        loop {
            if let Some(end) = waiter.look() {
                return end.job();
            }
            if started.elapsed() >= SEARCH {
                break;
            }
            std::hint::spin_loop();
        }
        if latch.is_some_and(|latch| !latch.prepare()) {
            return None;
        }
        if worker.is_guest() {
            return wait_as_guest(&mut waiter);
        }
        let mut watches = self.lie_down(&waiter);
        loop {
            let end = match watches {
                true => self.watch(&mut waiter),
                false => self.sleep(&mut waiter),
            };
            if let Some(end) = end {
                if matches!(end, End::Other) && waiter.shared.has_injected() {
                    // This worker may have been woken for it.
                    self.wake_one(waiter.shared);
                }
                return end.job();
            }
            watches = !watches;
        }
    }

    /// Whether the worker is the watcher from now on. Otherwise it is in the list of sleepers.
    fn lie_down(&self, waiter: &Waiter) -> bool {
        let mut state = lock(&self.state);
        let watches = state.watcher.is_none();
        if watches {
            state.watcher = Some(waiter.worker.index());
            self.watched.store(true, Ordering::SeqCst);
        } else {
            state.park(waiter);
        }
        watches
    }

    /// Sleeps until there is something (`Some`), or the worker is to watch (`None`).
    fn sleep(&self, waiter: &mut Waiter) -> Option<End> {
        let worker = waiter.worker;
        loop {
            let woken = worker.woken.load(Ordering::Acquire);
            if woken != ASLEEP {
                worker.place.runs();
            }
            match woken {
                WATCH => return None,
                LOOK => {
                    if let Some(end) = waiter.look() {
                        return Some(end);
                    }
                    if self.lie_down(waiter) {
                        return None;
                    }
                    continue;
                }
                _ => {}
            }
            // A thread whose worker is borrowed is not in the list, and not woken.
            if waiter.is_called() && self.rise(worker) {
                continue;
            }
            thread::park();
        }
    }

    /// Takes a sleeper out of the list, unless somebody else did.
    fn rise(&self, worker: &Worker) -> bool {
        let mut state = lock(&self.state);
        let at = state.parked.iter().position(|&i| i == worker.index());
        if let Some(at) = at {
            state.parked.remove(at);
            worker.woken.store(LOOK, Ordering::Relaxed);
        }
        at.is_some() || worker.woken.load(Ordering::Relaxed) != ASLEEP
    }

    /// Watches until there is something (`Some`), or nothing happens for long (`None`), when the worker is in the list of
    /// sleepers.
    fn watch(&self, waiter: &mut Waiter) -> Option<End> {
        let (worker, shared) = (waiter.worker, waiter.shared);
        let mut quiet: Option<Instant> = None;
        loop {
            if let Some(end) = waiter.look() {
                self.leave(shared);
                return Some(end);
            }
            if !shared.is_quiet() {
                quiet = None;
                if !waiter.search.asked {
                    waiter.search.ask(worker, shared);
                }
            } else if quiet.get_or_insert_with(Instant::now).elapsed() >= QUIET {
                let mut state = lock(&self.state);
                state.watcher = None;
                self.watched.store(false, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if shared.is_quiet() {
                    state.park(waiter);
                    return None;
                }
                state.watcher = Some(worker.index());
                self.watched.store(true, Ordering::SeqCst);
                quiet = None;
            }
            thread::park_timeout(BEAT);
        }
    }

    /// The watcher leaves. The next sleeper watches in its place, since there may be more.
    fn leave(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        let rouse = self.next_watcher(&mut state, shared);
        drop(state);
        rouse.go(shared);
    }
}

/// A guest takes nothing but parts of its own call, so it must not be the one whom others wake, nor the watcher. It looks for
/// itself.
fn wait_as_guest(waiter: &mut Waiter) -> Option<(JobRef, usize)> {
    let mut pause = BEAT;
    loop {
        thread::park_timeout(pause);
        if let Some(end) = waiter.look() {
            return end.job();
        }
        pause = (pause * 2).min(LONGEST_BEAT);
    }
}
