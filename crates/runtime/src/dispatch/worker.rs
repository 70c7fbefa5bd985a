//! The workers' side of a pool: their desks, their loop, and who may take part.

use std::cell::Cell;

use super::WorkerId;
use super::batch::Job;
use super::fifo::Fifo;
use super::mailbox::Mail;
use super::place::Identity;
use super::steal::Steal;
use super::sync::{AtomicU32, AtomicUsize, Ordering, Padded, thread};
use super::wake::{Call, Seen, Token, spin_until};

/// Everything the threads of a pool share.
pub(crate) struct Crew {
    desks: Box<[Desk]>,
    pub(crate) fifo: Fifo,
    pub(crate) steal: Steal,
    turn: Padded<Turn>,
}

/// Where one worker is called and finds its mail. `token` and `mail` lie on one cache line.
#[repr(C, align(128))]
pub(crate) struct Desk {
    pub(crate) token: Token,
    pub(crate) mail: Mail,
    pass: Padded<Pass>,
    pub(crate) identity: Identity,
}

impl Crew {
    pub(crate) fn new(workers: usize) -> Crew {
        let desk = |_| Desk {
            token: Token::new(),
            mail: Mail::new(),
            pass: Padded(Pass::new()),
            identity: Identity::new(),
        };
        Crew {
            desks: (0..workers).map(desk).collect(),
            fifo: Fifo::new(),
            steal: Steal::new(workers),
            turn: Padded(Turn {
                taken: AtomicU32::new(0),
                admitted: AtomicUsize::new(workers),
            }),
        }
    }

    pub(crate) fn desk(&self, worker: usize) -> &Desk {
        &self.desks[worker]
    }

    /// The right to run a batch on the workers, if nobody has it.
    pub(crate) fn turn(&self) -> Option<Holding<'_>> {
        let taken = &self.turn.taken;
        let got = taken.load(Ordering::Relaxed) == 0
            && taken
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        // Not `then_some`: that would make, and drop, a turn that was not got.
        got.then(|| Holding(&self.turn))
    }
}

/// Whether a caller runs a batch on the workers, and how many workers have a pass to the shared queues.
struct Turn {
    taken: AtomicU32,
    admitted: AtomicUsize,
}

/// A turn, given back on drop.
pub(crate) struct Holding<'a>(&'a Turn);

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.0.taken.store(0, Ordering::Release);
    }
}

/// Whether a worker may look into the shared queues. One word says whether it may and whether it is at it, so a
/// caller that withdraws a pass knows if it must wait for the worker to come out.
pub(crate) struct Pass(AtomicU32);

impl Pass {
    const VALID: u32 = 1;
    const INSIDE: u32 = 2;

    pub(crate) fn new() -> Pass {
        Pass(AtomicU32::new(Pass::VALID))
    }

    /// Runs `f` if the pass is valid. The owner only.
    pub(crate) fn with(&self, f: impl FnOnce()) {
        if self.0.fetch_or(Pass::INSIDE, Ordering::Acquire) & Pass::VALID != 0 {
            f();
        }
        self.0.fetch_and(!Pass::INSIDE, Ordering::Release);
    }

    pub(crate) fn grant(&self) {
        self.0.fetch_or(Pass::VALID, Ordering::Release);
    }

    /// Returns when the owner is outside and will stay there.
    pub(crate) fn withdraw(&self) {
        if self.0.fetch_and(!Pass::VALID, Ordering::Acquire) & Pass::INSIDE == 0 {
            return;
        }
        // No batch is under way, so the worker finds nothing and comes out; it takes long only when it lost its
        // processor, and then this thread should not hold one either.
        while !spin_until(|| self.0.load(Ordering::Acquire) & Pass::INSIDE == 0) {
            thread::yield_now();
        }
    }
}

/// The workers `0..size` that a batch is for, as its caller sees them.
pub(crate) struct Team<'a> {
    crew: &'a Crew,
    threads: &'a [thread::JoinHandle<()>],
    size: usize,
}

impl<'a> Team<'a> {
    pub(crate) fn new(
        crew: &'a Crew,
        threads: &'a [thread::JoinHandle<()>],
        size: usize,
    ) -> Team<'a> {
        Team {
            crew,
            threads,
            size,
        }
    }

    /// Workers in the team, the caller included.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn desk(&self, worker: usize) -> &Desk {
        self.crew.desk(worker)
    }

    /// Calls one worker, not the caller itself.
    #[inline]
    pub(crate) fn call(&self, worker: usize, call: Call) {
        if self.desk(worker).token.set(call) {
            self.threads[worker - 1].thread().unpark();
        }
    }

    /// Places a worker's share of a batch in its mailbox; not the caller's itself.
    ///
    /// # Safety
    /// This thread has the turn, under which it places no other share there.
    #[inline]
    pub(crate) unsafe fn post(&self, worker: usize, job: Job) {
        let desk = self.desk(worker);
        // SAFETY: a turn ends when all shares placed in it have been worked off, so this is the only one.
        unsafe { desk.mail.put(job) };
        if desk.token.post() {
            self.threads[worker - 1].thread().unpark();
        }
    }

    /// Calls everyone but the caller.
    pub(crate) fn call_all(&self, call: Call) {
        // A pool that failed to start has fewer threads than desks.
        for worker in 1..self.size.min(self.threads.len() + 1) {
            self.call(worker, call);
        }
    }

    /// Sees to it that workers below `limit` may use the shared queues, and that no others do. The holder of the
    /// turn only, before its batch.
    pub(crate) fn admit(&self, limit: usize) {
        let turn = &self.crew.turn;
        let before = turn.admitted.load(Ordering::Relaxed);
        for worker in before..limit {
            self.desk(worker).pass.grant();
        }
        for worker in limit..before {
            self.desk(worker).pass.withdraw();
        }
        if limit != before {
            turn.admitted.store(limit, Ordering::Relaxed);
        }
    }
}

/// What a worker's thread does.
pub(crate) fn work(crew: &Crew, worker: WorkerId) {
    let desk = crew.desk(worker.0);
    desk.identity.tell();
    let _seat = Seat::take(crew, worker);
    let mut seen = Seen::default();
    loop {
        let call = desk.token.wait(&mut seen);
        if call.has(Call::MAIL) {
            // SAFETY: this is the desk's worker, and it has been told of a share.
            unsafe { desk.mail.follow(worker) };
        }
        if call.has(Call::RING) || call.has(Call::SPANS) {
            desk.pass.with(|| {
                if call.has(Call::RING) {
                    crew.fifo.follow(worker);
                }
                if call.has(Call::SPANS) {
                    crew.steal.follow(worker);
                }
            });
        }
        if call.has(Call::CLOSE) {
            return;
        }
    }
}

#[cfg(not(loom))]
thread_local! {
    static SEAT: Cell<Option<Seat>> = const { Cell::new(None) };
}
#[cfg(loom)]
loom::thread_local! {
    static SEAT: Cell<Option<Seat>> = Cell::new(None);
}

/// Which worker of which pool this thread is at the moment. The address is compared and never used.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    crew: usize,
    worker: WorkerId,
}

impl Seat {
    /// The seat, if this thread is inside a job.
    pub(crate) fn of_this_thread() -> Option<Seat> {
        SEAT.with(Cell::get)
    }

    /// Sits this thread down until the result is dropped.
    pub(crate) fn take(crew: &Crew, worker: WorkerId) -> Seated {
        let seat = Seat {
            crew: std::ptr::from_ref(crew).addr(),
            worker,
        };
        SEAT.with(|s| s.set(Some(seat)));
        Seated
    }

    /// The worker this thread is in a batch of `crew`: its own number there, else the first.
    pub(crate) fn worker_in(self, crew: &Crew) -> usize {
        match self.crew == std::ptr::from_ref(crew).addr() {
            true => self.worker.0,
            false => 0,
        }
    }
}

/// Gets up on drop.
pub(crate) struct Seated;

impl Drop for Seated {
    fn drop(&mut self) {
        SEAT.with(|s| s.set(None));
    }
}
