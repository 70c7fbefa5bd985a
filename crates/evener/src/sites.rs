//! What was learnt of the loops of this program: what an element costs, for each place that calls one.
//!
//! The key of an entry is the place, the type of the closure, and the length up to a factor of two. An entry is one word: 32
//! bits of the key and the cost in nanoseconds as a float. It is read by one load. Two keys that share their 32 bits share an
//! entry, and may be divided badly for that; nothing else can go wrong.

use std::cell::Cell;
use std::fmt::Write;
use std::panic::Location;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ENTRIES: usize = 4096;
/// Entries that are looked at for a key. Where all are taken, nothing is remembered.
const PROBES: usize = 8;
/// One in so many short calls is timed.
const SAMPLE: u32 = 16;
/// How much the latest call counts, if elements took longer than before. If they took less, the calls before were delayed by
/// something else, as page faults of a first call are.
const WEIGHT: f32 = 0.5;

static TABLE: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];
static PLACES: Mutex<Vec<Place>> = Mutex::new(Vec::new());

struct Place {
    location: &'static Location<'static>,
    /// The entry.
    index: usize,
    /// Lengths from here to twice as many.
    len: usize,
    least: usize,
}

/// The entry of one call.
pub(crate) struct Site {
    location: &'static Location<'static>,
    tag: u32,
    len: usize,
    /// Elements of the shortest part that is worth its cost.
    pub(crate) least: usize,
    entry: Option<usize>,
    word: u64,
}

impl Site {
    #[inline]
    pub(crate) fn of(
        location: &'static Location<'static>,
        kind: usize,
        len: usize,
        least: usize,
    ) -> Site {
        let place = std::ptr::from_ref(location).addr();
        let key = (place ^ kind.rotate_left(20) ^ ((len.ilog2() as usize) << 58)) as u64;
        let hash = (key ^ (key >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let first = (hash as usize >> 8) % ENTRIES;
        let tag = (hash >> 32) as u32 | 1;
        let mut site = Site {
            location,
            tag,
            len,
            least,
            entry: None,
            word: 0,
        };
        for probe in 0..PROBES {
            let index = (first + probe) % ENTRIES;
            let word = TABLE[index].load(Ordering::Relaxed);
            if word == 0 || (word >> 32) as u32 == tag {
                site.entry = Some(index);
                site.word = word;
                break;
            }
        }
        site
    }

    /// Nanoseconds of an element, if known.
    #[inline]
    pub(crate) fn cost(&self) -> Option<f32> {
        (self.word != 0).then(|| f32::from_bits(self.word as u32))
    }

    /// Whether this call, of one whose cost is known and small, is timed.
    #[inline]
    pub(crate) fn samples(&self) -> bool {
        thread_local! {
            static CALLS: Cell<u32> = const { Cell::new(0) };
        }
        CALLS.with(|calls| {
            let count = calls.get().wrapping_add(1);
            calls.set(count);
            count % SAMPLE == 0
        })
    }

    /// Some elements took so long on one thread.
    pub(crate) fn learn(&self, took: Duration, elements: usize) {
        let Some(index) = self.entry.filter(|_| elements > 0) else {
            return;
        };
        let cost = took.as_nanos() as f32 / elements as f32;
        let cost = match self.cost() {
            Some(known) if cost > known => known + (cost - known) * WEIGHT,
            _ => cost,
        };
        let word = (u64::from(self.tag) << 32) | u64::from(cost.to_bits());
        if self.word != 0 {
            TABLE[index].store(word, Ordering::Relaxed);
        } else if TABLE[index]
            .compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
            && let Ok(mut places) = PLACES.lock()
        {
            places.push(Place {
                location: self.location,
                index,
                len: 1 << self.len.ilog2(),
                least: self.least,
            });
        }
    }
}

/// What was learnt of the loops of this program: a line for each place and length, with what an element costs and how such a
/// loop runs.
///
/// ```
/// use evener::prelude::*;
///
/// (0..100).par().for_each(|_| ());
/// assert!(evener::explain().contains("ns each"));
/// ```
pub fn explain() -> String {
    let mut text = String::new();
    let Ok(places) = PLACES.lock() else {
        return text;
    };
    let mut lines: Vec<_> = places
        .iter()
        .map(|place| {
            let cost = f32::from_bits(TABLE[place.index].load(Ordering::Relaxed) as u32);
            (
                place.location.file(),
                place.location.line(),
                place.len,
                place.least,
                cost,
            )
        })
        .collect();
    lines.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    for (file, line, len, least, cost) in lines {
        let how = crate::drive::how(cost, len, least);
        let _ = writeln!(
            text,
            "{file}:{line}: {len} elements and more, {cost:.1} ns each: {how}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_first_call_is_forgotten_by_the_second() {
        let site = || Site::of(Location::caller(), 1, 100, 1);
        site().learn(Duration::from_millis(1), 100);
        assert_eq!(site().cost(), Some(10_000.0));
        site().learn(Duration::from_micros(1), 100);
        assert_eq!(site().cost(), Some(10.0));
        site().learn(Duration::from_micros(2), 100);
        assert_eq!(site().cost(), Some(15.0));
    }
}
