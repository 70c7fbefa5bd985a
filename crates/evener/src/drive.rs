//! How the elements of a loop are divided.

use std::cell::Cell;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evener_pool::{current_num_threads, loops};

use crate::sites::Site;

/// What a parallel loop runs over: `len` elements, any run of which gives an iterator. Adapters wrap one another, and all
/// threads share the outermost.
pub trait Parallel: Sync + Sized {
    /// What the loop is about.
    type Item: Send;

    /// Whether [`Parallel::iter`] gives as many elements as its range has.
    const EXACT: bool = false;

    /// Whether a part costs something however short it is, as where it has an accumulator of its own.
    const COARSE: bool = false;

    /// How many elements there are. Where some are filtered out or give several, how many there are before that.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of `range`. What of them the iterator has not given when it is dropped is dropped.
    ///
    /// # Safety
    /// Ranges lie within `0..len` and do not overlap, over all calls.
    unsafe fn iter<'a>(
        &'a self,
        range: Range<usize>,
    ) -> impl Iterator<Item = Self::Item> + use<'a, Self>;
}

/// A loop that gives exactly `len` elements, each at its place: [`Parallel::EXACT`] is true.
pub trait Exact: Parallel {}

/// A loop shorter than this is not divided: offering a part and waiting for it takes a few microseconds.
const SERIAL: Duration = Duration::from_micros(4);
/// A part takes about this long. Dividing costs some ten nanoseconds.
const PART: Duration = Duration::from_micros(5);
/// A [`Parallel::COARSE`] loop is divided into so many parts for each thread, or up to twice as many.
const COARSE_PARTS: usize = 4;
/// Threads sleep that have found no job for some time, and waking one costs the caller ten microseconds on a virtual machine.
/// So it is done for what takes longer than this: one loop, or several with gaps of no more than [`GAP`] between them.
const WAKE: Duration = Duration::from_micros(40);
const GAP: Duration = Duration::from_micros(100);

/// A part of a loop, which nobody else has.
pub(crate) struct Part<'a, P> {
    parallel: &'a P,
    range: Range<usize>,
}

impl<'a, P: Parallel> Part<'a, P> {
    /// Its elements.
    #[inline]
    pub(crate) fn items(self) -> impl Iterator<Item = P::Item> + use<'a, P> {
        // SAFETY: parts are made below alone, one for each of the ranges into which a loop is divided, and used up here.
        unsafe { self.parallel.iter(self.range) }
    }

    /// Where it lies in the loop.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// Calls `part` for parts that together are all of `parallel`, and combines the results in order. `None` if it is empty.
#[inline]
pub(crate) fn drive<P, R>(
    parallel: &P,
    location: &'static Location<'static>,
    part: impl Fn(Part<'_, P>) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> Option<R>
where
    P: Parallel,
    R: Send,
{
    let len = parallel.len();
    if len == 0 {
        return None;
    }
    let part = |range| part(Part { parallel, range });
    let least = match P::COARSE {
        true => len / (COARSE_PARTS * current_num_threads()),
        false => 1,
    };
    let site = Site::of(location, number_of(&part), len, least);
    let Some(cost) = site.cost() else {
        return Some(first_time(&site, len, &part, &combine));
    };
    let expected = cost * len as f32;
    if expected < SERIAL.as_nanos() as f32 {
        if !site.samples() {
            return Some(part(0..len));
        }
        let started = Instant::now();
        let result = part(0..len);
        site.learn(started.elapsed(), len);
        return Some(result);
    }
    Some(share(&site, 0..len, cost, expected, &part, &combine))
}

/// A number for the type of a closure.
fn number_of<F>(_: &F) -> usize {
    marker::<F> as fn() as usize
}

fn marker<F>() {
    std::hint::black_box(std::any::type_name::<F>());
}

/// A loop of which nothing is known runs serially, in chunks that double, until it has taken long enough to be worth sharing.
fn first_time<R: Send>(
    site: &Site,
    len: usize,
    part: &(impl Fn(Range<usize>) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> R {
    let started = Instant::now();
    let mut done = 1;
    let mut result = part(0..1);
    loop {
        let elapsed = started.elapsed();
        if done == len {
            site.learn(elapsed, len);
            return result;
        }
        if elapsed >= PART {
            let cost = elapsed.as_nanos() as f32 / done as f32;
            let rest = done..len;
            let expected = cost * rest.len() as f32;
            return combine(result, share(site, rest, cost, expected, part, combine));
        }
        let next = (done * 2).min(len - done);
        result = combine(result, part(done..done + next));
        done += next;
    }
}

/// What the parts of one loop share.
struct Shared<'a, P, C> {
    part: &'a P,
    combine: &'a C,
    /// Elements of a part, and how many it has at least.
    grain: AtomicUsize,
    least: usize,
    started: Instant,
    /// Somebody was called to help.
    called: AtomicBool,
    /// What this call has learnt: elements and nanoseconds.
    elements: AtomicUsize,
    nanoseconds: AtomicUsize,
}

fn share<R: Send>(
    site: &Site,
    range: Range<usize>,
    cost: f32,
    expected: f32,
    part: &(impl Fn(Range<usize>) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> R {
    let started = Instant::now();
    let wakes = lately(started, expected) >= WAKE.as_nanos() as f32;
    let shared = Shared {
        part,
        combine,
        grain: AtomicUsize::new(grain(cost)),
        least: site.least,
        started,
        called: AtomicBool::new(wakes),
        elements: AtomicUsize::new(0),
        nanoseconds: AtomicUsize::new(0),
    };
    let result = loops::enter(|| {
        if wakes {
            loops::call();
        }
        divide(&shared, range)
    });
    site.learn(
        Duration::from_nanos(shared.nanoseconds.into_inner() as u64),
        shared.elements.into_inner(),
    );
    result
}

/// Nanoseconds that the loops of this thread are expected to take, up to and including this one, since the latest gap.
fn lately(now: Instant, expected: f32) -> f32 {
    thread_local! {
        static LATELY: Cell<Option<(Instant, f32)>> = const { Cell::new(None) };
    }
    let before = match LATELY.get() {
        Some((end, sum)) if now.saturating_duration_since(end) <= GAP => sum,
        _ => 0.0,
    };
    let sum = before + expected;
    let end = now + Duration::from_nanos(expected as u64);
    LATELY.set(Some((end, sum)));
    sum
}

fn grain(cost: f32) -> usize {
    ((PART.as_nanos() as f32 / cost.max(1e-3)) as usize).max(1)
}

fn divide<R, P, C>(shared: &Shared<'_, P, C>, range: Range<usize>) -> R
where
    R: Send,
    P: Fn(Range<usize>) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    if range.len() <= shared.grain.load(Ordering::Relaxed).max(shared.least) {
        return run(shared, range);
    }
    let middle = range.start + range.len() / 2;
    let (left, right) = loops::join_offered(
        || divide(shared, range.start..middle),
        || divide(shared, middle..range.end),
    );
    (shared.combine)(left, right)
}

/// Runs one part, and corrects the grain by what it took.
fn run<R, P, C>(shared: &Shared<'_, P, C>, range: Range<usize>) -> R
where
    P: Fn(Range<usize>) -> R,
{
    let len = range.len();
    let started = Instant::now();
    let result = (shared.part)(range);
    let ended = Instant::now();
    let took = ended - started;
    // These two may lose an update to another thread, which does no harm.
    let (elements, nanoseconds) = (&shared.elements, &shared.nanoseconds);
    elements.store(elements.load(Ordering::Relaxed) + len, Ordering::Relaxed);
    let sum = nanoseconds.load(Ordering::Relaxed) + took.as_nanos() as usize;
    nanoseconds.store(sum, Ordering::Relaxed);
    if took > PART * 2 || took < PART / 2 {
        shared.grain.store(
            grain(took.as_nanos() as f32 / len as f32),
            Ordering::Relaxed,
        );
    }
    if !shared.called.load(Ordering::Relaxed) && ended - shared.started >= WAKE {
        shared.called.store(true, Ordering::Relaxed);
        loops::call();
    }
    result
}

/// How a loop of such elements runs, in words.
pub(crate) fn how(cost: f32, len: usize, least: usize) -> String {
    let expected = cost * len as f32;
    if expected < SERIAL.as_nanos() as f32 {
        return "serial".to_owned();
    }
    let wakes = match expected >= WAKE.as_nanos() as f32 {
        true => "",
        false => ", by threads that are awake",
    };
    let part = grain(cost).max(least).min(len);
    format!("parallel in parts of {part}{wakes}")
}
