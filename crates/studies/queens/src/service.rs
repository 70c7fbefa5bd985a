//! The service that counts. A unit is a range of starts.

#![forbid(unsafe_code)]

use std::array;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{OnDevice, Part, Service, Shape, Simd, Structure, Work};

use crate::division::Division;
use crate::starts::{Searcher, Starts};

/// The structures that counting runs in.
pub static STRUCTURES: [&Structure; 2] = [&SEQUENTIAL, &FARM];

/// The parts of a unit that is divided. Some are empty if the unit has fewer starts.
const PARTS: usize = 64;

/// How many times as long a board takes with one more row. It is used for the first predictions only.
const GROWTH: f64 = 7.8;
/// Operations that a core does in a nanosecond.
const OPS_PER_NANOSECOND: f64 = 40.0;
/// How much longer a unit takes when it is divided. Workers wait for the largest part, and have no part where the unit
/// has one or two starts. With this the tuner goes on to try whole units.
const UNEVEN: f64 = 1.5;

/// Nanoseconds that a board of 18 rows takes on one core.
fn nanoseconds(simd: Simd) -> f64 {
    match simd {
        Simd::Scalar | Simd::Sse2 | Simd::Neon => 110e9,
        Simd::Avx2 => 6e9,
        Simd::Avx512 => 4.4e9,
    }
}

/// The search below the starts of a board.
pub(crate) struct Search {
    pub(crate) starts: Arc<Starts>,
    pub(crate) simd: Simd,
    /// The share of the work of the first unit, which most units have.
    share: f64,
}

impl Search {
    /// With the instructions that `simd` allows.
    pub(crate) fn new(starts: Arc<Starts>, simd: Simd) -> Search {
        let first = Division::new(Arc::clone(&starts), 0).next();
        let share = starts.share(first.map_or(0, |unit| unit.end));
        Search {
            starts,
            simd,
            share,
        }
    }
}

/// The starts of a unit and the solutions of its parts. Each job writes to parts of its own, so no lock is needed.
pub(crate) struct Sums {
    begin: AtomicU64,
    end: AtomicU64,
    parts: [[AtomicU64; 2]; PARTS],
}

impl Sums {
    fn new() -> Sums {
        Sums {
            begin: AtomicU64::new(0),
            end: AtomicU64::new(0),
            parts: array::from_fn(|_| [AtomicU64::new(0), AtomicU64::new(0)]),
        }
    }

    /// The starts that were searched.
    pub(crate) fn range(&self) -> Range<u64> {
        self.begin.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)
    }

    /// All solutions below them, weighted.
    pub(crate) fn solutions(&self) -> u128 {
        let part = |[low, high]: &[AtomicU64; 2]| {
            u128::from(high.load(Ordering::Relaxed)) << 64 | u128::from(low.load(Ordering::Relaxed))
        };
        self.parts.iter().map(part).sum()
    }

    /// The starts and the solutions of a unit that was searched as a whole.
    pub(crate) fn set_whole(&self, unit: &Range<u64>, solutions: u128) {
        self.begin.store(unit.start, Ordering::Relaxed);
        self.end.store(unit.end, Ordering::Relaxed);
        self.set(0, solutions);
        (1..PARTS).for_each(|part| self.set(part, 0));
    }

    fn set(&self, part: usize, solutions: u128) {
        let [low, high] = &self.parts[part];
        low.store(solutions as u64, Ordering::Relaxed);
        high.store((solutions >> 64) as u64, Ordering::Relaxed);
    }
}

impl Service for Search {
    type Input = Range<u64>;
    type Output = Sums;
    type Scratch = Searcher;

    fn key(&self) -> String {
        format!("queens, N = {}, {}", self.starts.n(), self.simd)
    }

    fn input(&self) -> Range<u64> {
        0..0
    }

    fn output(&self) -> Sums {
        Sums::new()
    }

    fn scratch(&self) -> Searcher {
        Searcher::new(self.simd)
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let all = nanoseconds(self.simd) * GROWTH.powi(self.starts.n() as i32 - 18);
        let ops = OPS_PER_NANOSECOND * all * self.share;
        let shape = |structure, items: usize, grain, ops| {
            let work = Work {
                ops,
                bytes: 0.0,
                fresh: 0.0,
            };
            Shape::new(structure, vec![items as u32], grain, work)
        };
        vec![
            shape(&SEQUENTIAL, PARTS, 8, UNEVEN * ops),
            shape(&FARM, PARTS, 8, ops),
        ]
    }

    fn run(
        &self,
        part: &Part,
        unit: &Range<u64>,
        sums: &Sums,
        searcher: &mut Searcher,
    ) -> Result<(), String> {
        sums.begin.store(unit.start, Ordering::Relaxed);
        sums.end.store(unit.end, Ordering::Relaxed);
        let items = part.of(PARTS);
        let starts = unit.end - unit.start;
        let at = |item: usize| unit.start + starts * item as u64 / PARTS as u64;
        let found = searcher.search(&self.starts, at(items.start)..at(items.end));
        sums.set(items.start, found.solutions);
        items.skip(1).for_each(|item| sums.set(item, 0));
        Ok(())
    }

    fn device(&self) -> Option<&dyn OnDevice<Range<u64>, Sums>> {
        Some(self)
    }
}
