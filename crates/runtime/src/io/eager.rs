//! Waits that begin with looking.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tracing::debug;

use super::awake::{Awake, Side, Turn};
use super::way::{Way, Ways};
use crate::dispatch::affinity::{Affinity, ThreadRef};
use crate::topology::Topology;

/// Longer looking is not worth it: waking a thread on a virtual machine costs from tens of microseconds to more than a
/// hundred, so a wait costs at most about twice what the better of looking and sleeping would have cost.
const MOST: Duration = Duration::from_micros(150);
/// Who sits where it does not help waits about as long as who sleeps.
const MOST_SAT: Duration = Duration::from_micros(300);
/// A processor is kept awake for so long from the beginning of a wait: over the work between two waits as well.
const KEPT: Duration = Duration::from_millis(1);
/// What one long wait counts at most among those before it.
const LONG: Duration = Duration::from_millis(1);
/// Waits that the average is over, about.
const WAITS: u32 = 4;

/// How many threads may look at a time, so that processors are left for those who compute.
#[derive(Debug)]
pub(crate) struct Spare {
    most: usize,
    taken: AtomicUsize,
    awake: Option<Awake>,
}

impl Spare {
    pub(crate) fn new(topology: &Topology) -> Spare {
        Spare {
            awake: Awake::find(topology),
            ..Spare::of(topology.parallelism())
        }
    }

    /// On so many processors: half of them, which on one alone is none.
    fn of(cpus: f64) -> Spare {
        Spare {
            most: (cpus / 2.0) as usize,
            taken: AtomicUsize::new(0),
            awake: None,
        }
    }

    fn take(&self) -> Option<Look<'_>> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let look = Look(self);
        (before < self.most).then_some(look)
    }
}

struct Look<'a>(&'a Spare);

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for something that may come soon, such as the next request of a client: those of one thread, or of several
/// that take turns.
///
/// Who sleeps has to be woken, and where that takes longer than what is waited for, it pays to look again and again
/// instead. Whether it does is measured: a wait begins with looking as long as the latest ones were short. On two
/// processors it may pay even more to sleep on the one that the client is on while the other is kept from halting,
/// which is measured as well.
#[derive(Debug)]
pub struct Eager<'a> {
    spare: &'a Spare,
    began: Instant,
    /// The end of the wait before.
    ended: Instant,
    /// How long waits took, on average.
    usual: Duration,
    ways: Ways,
    /// This wait was thought to be short.
    brief: bool,
    seat: Option<Seat<'a>>,
}

/// Where the thread that waits sits, and where it may run otherwise.
#[derive(Debug)]
struct Seat<'a> {
    side: Side,
    home: Affinity,
    turn: Turn<'a>,
}

impl<'a> Eager<'a> {
    pub(crate) fn new(spare: &'a Spare) -> Eager<'a> {
        Eager {
            spare,
            began: Instant::now(),
            ended: Instant::now(),
            usual: LONG,
            ways: Ways::new(),
            brief: false,
            seat: None,
        }
    }

    /// A wait begins: returns when `ready` says that it is over, or when the thread should sleep until it is. It should
    /// as soon as there is `other` work for its processor. The thread may be pinned until it [leaves](Eager::leave).
    pub fn begin(&mut self, mut ready: impl FnMut() -> bool, other: impl Fn() -> bool) {
        self.began = Instant::now();
        let way = self.ways.way();
        let most = match way {
            Way::Look => MOST,
            Way::Sit(_) => MOST_SAT,
        };
        self.brief = self.usual <= most && !other();
        if let Way::Sit(side) = way
            && self.brief
        {
            if self.sit(side) {
                return;
            }
            // Somebody else does, and this round says nothing about it.
            self.brief = false;
        }
        self.leave();
        if self.usual > MOST {
            return;
        }
        let Some(_look) = self.spare.take() else {
            return;
        };
        while !ready() && !other() && self.began.elapsed() < MOST {
            // Whoever is waited for may need this very processor.
            thread::yield_now();
        }
    }

    /// The wait is over.
    pub fn end(&mut self) {
        let now = Instant::now();
        let took = |since| now.duration_since(since).min(LONG);
        self.usual = (self.usual * (WAITS - 1) + took(self.began)) / WAITS;
        if self.brief && self.spare.awake.is_some() {
            self.ways.ended(took(self.ended));
        }
        self.ended = now;
    }

    /// What would have been waited for was there already.
    pub fn at_once(&mut self) {
        self.ways.at_once();
    }

    /// This thread waits no more for the time being, and may run anywhere again.
    pub fn leave(&mut self) {
        if let Some(seat) = self.seat.take() {
            tell(seat.home.pin(ThreadRef::Current, &[]));
        }
    }

    /// Whether it does.
    fn sit(&mut self, side: Side) -> bool {
        if let Some(seat) = self.seat.as_ref().filter(|seat| seat.side == side) {
            seat.turn.keep(KEPT);
            return true;
        }
        self.leave();
        let Some(turn) = self.spare.awake.as_ref().and_then(Awake::take) else {
            return false;
        };
        let home = Affinity::current();
        let seated = turn.seat(side, &home, KEPT);
        let sits = seated.is_ok();
        self.seat = Some(Seat { side, home, turn });
        if !sits {
            self.leave();
            self.ways.give_up();
        }
        tell(seated);
        sits
    }
}

/// A thread that is elsewhere than it should be is slower, no more.
fn tell(put: io::Result<()>) {
    if let Err(error) = put {
        debug!(%error, "cannot place a thread that waits");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(eager: &mut Eager<'_>) -> u32 {
        let mut looks = 0;
        eager.begin(
            || {
                looks += 1;
                looks == 3
            },
            || false,
        );
        looks
    }

    #[test]
    fn only_who_waits_briefly_looks() {
        let spare = Spare::of(2.0);
        let mut eager = Eager::new(&spare);
        assert_eq!(looks(&mut eager), 0);
        // A thread may be interrupted at any of them.
        let brief = (0..1000).any(|_| {
            eager.begin(|| true, || false);
            eager.end();
            eager.usual <= MOST
        });
        assert!(brief);
        assert_eq!(looks(&mut eager), 3);
        thread::sleep(2 * LONG);
        eager.end();
        assert_eq!(looks(&mut eager), 0);
    }

    #[test]
    fn processors_are_left_for_others() {
        let spare = Spare::of(2.0);
        let mut eager = Eager::new(&spare);
        eager.usual = Duration::ZERO;
        eager.begin(|| false, || true);
        assert!(eager.began.elapsed() < Duration::from_secs(1));
        let other = spare.take();
        assert!(other.is_some());
        assert_eq!(looks(&mut eager), 0);
        drop(other);
        assert_eq!(looks(&mut eager), 3);
        assert!(Spare::of(1.0).take().is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_sat_may_run_anywhere_again() {
        let allowed = || rustix::thread::sched_getaffinity(None).unwrap();
        let home = allowed();
        let last = crate::topology::Topology::detect().cpus.pop().unwrap().id;
        let spare = Spare {
            awake: Some(Awake::on([last; 2])),
            ..Spare::of(2.0)
        };
        let waits = || {
            let mut eager = Eager::new(&spare);
            let mut sat = || {
                eager.begin(|| true, || false);
                eager.end();
                eager.seat.is_some()
            };
            assert!((0..100_000).any(|_| sat()));
            let one = (allowed().count(), allowed().is_set(last));
            assert_eq!(one, (1, true));
            // Nobody else does meanwhile, and a pause changes nothing but that.
            assert!(spare.awake.as_ref().unwrap().take().is_none());
            let way = eager.ways.way();
            for _ in 0..WAITS {
                eager.began -= LONG;
                eager.end();
            }
            eager.begin(|| true, || false);
            assert_eq!((eager.seat.is_none(), eager.ways.way()), (true, way));
            assert_eq!(allowed(), home);
            assert!(spare.awake.as_ref().unwrap().take().is_some());
        };
        thread::scope(|scope| scope.spawn(waits).join().unwrap());
    }
}
