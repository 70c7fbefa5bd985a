//! The places where searches start. They are numbered, so that a job is a range of numbers and a checkpoint can name
//! it.

#![forbid(unsafe_code)]

use std::ops::Range;

use evener_runtime::Simd;

use crate::border::Border;
use crate::counts::Counts;
use crate::error::{Error, checked};
use crate::inner::{Inner, State};
use crate::kernels::{self, Job, Memory};

/// The starts of a board: every border up to symmetry, and below each the ways to fill its first `depth` rows.
///
/// Their order depends on `n` and `depth` alone. The starts of a border are neighbours, since a job with many starts of
/// one border is faster. Borders that are alike are far from each other: where their work is estimated wrongly, it is so
/// all along the board, and the estimate of what is left stays right.
#[derive(Clone, Debug)]
pub struct Starts {
    n: u32,
    depth: usize,
    /// Each border, its weight, and the number of its first start.
    borders: Vec<(Border, u8, u64)>,
    /// The estimated work before each border, and in all.
    work: Vec<f64>,
    len: u64,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The outermost queens.
    pub border: Border,
    /// How many solutions a solution below it counts for.
    pub weight: u8,
    /// Row and column of all queens that are placed, by row.
    pub queens: Vec<(u8, u8)>,
}

impl Starts {
    /// The starts of a board of `n` x `n`. The depth is such that a start takes at most a few tenths of a second below
    /// `n` = 22, and that numbering all starts takes less than a second.
    ///
    /// # Errors
    /// [`Error::TooLarge`]
    pub fn new(n: u32) -> Result<Starts, Error> {
        let depth = match n {
            0..=19 => 0,
            20 | 21 => 1,
            _ => 2,
        };
        Starts::with_depth(n, depth)
    }

    /// The starts with `depth` rows filled inside the border. Each further row means about `n` / 2 times as many starts
    /// and as much more time to number them.
    ///
    /// # Errors
    /// [`Error::TooLarge`]
    pub fn with_depth(n: u32, depth: usize) -> Result<Starts, Error> {
        let (mut len, mut before) = (0, 0.0);
        let mut work = vec![before];
        let classes = Border::classes(checked(n)?);
        let borders = scattered(classes.len()).map(|at| {
            let class = &classes[at];
            let first = len;
            class.inner.unfold(depth, &mut |_, _| len += 1);
            if len > first {
                before += class.work;
            }
            work.push(before);
            (class.border, class.weight, first)
        });
        Ok(Starts {
            n,
            depth,
            borders: borders.collect(),
            work,
            len,
        })
    }

    /// Rows of the board.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Rows filled inside the border.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// How many starts there are. None for `n` = 2 and 3, which have no solution.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The estimated share of the work below the starts before `number`, from 0 to 1. The work of a border is estimated
    /// by its branching, and all starts of a border are taken to be alike. Over a hundredth of all starts or more, the
    /// estimate is within a factor of two; half-way through a board it is within a twentieth.
    pub fn share(&self, number: u64) -> f64 {
        if number >= self.len || self.all_work() <= 0.0 {
            return 1.0;
        }
        self.share_within(self.border_of(number), number)
    }

    /// The same for a start of border `at`.
    fn share_within(&self, at: usize, number: u64) -> f64 {
        let own = self.starts_of(at);
        let within = (number - own.start) as f64 / (own.end - own.start) as f64;
        let (before, after) = (self.work[at], self.work[at + 1]);
        (before + within * (after - before)) / self.all_work()
    }

    /// The estimated work in all.
    fn all_work(&self) -> f64 {
        self.work.last().copied().unwrap_or_default()
    }

    /// The starts of border `at`.
    fn starts_of(&self, at: usize) -> Range<u64> {
        let after = self.borders.get(at + 1).map_or(self.len, |next| next.2);
        self.borders[at].2..after
    }

    /// The last start before which the estimated share of the work is at most `share`; [`Starts::len`] for 1.
    pub fn before(&self, share: f64) -> u64 {
        if share >= 1.0 {
            return self.len;
        }
        let all = self.all_work();
        let borders = &self.work[..self.borders.len()];
        let after = borders.partition_point(|&before| before / all <= share);
        let Some(at) = after.checked_sub(1) else {
            return 0;
        };
        let own = self.starts_of(at);
        let (mut low, mut high) = (own.start, own.end.max(own.start + 1) - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.share_within(at, middle) <= share {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// The start of a number, if there is one.
    pub fn get(&self, number: u64) -> Option<Start> {
        if number >= self.len {
            return None;
        }
        let (border, weight, first) = self.borders[self.border_of(number)];
        let inner = border.inner(self.n);
        let mut queens = border.queens(self.n);
        let mut at = first;
        inner.unfold(self.depth, &mut |_, bits| {
            if at == number {
                let placed = inner.rows.iter().zip(bits);
                queens.extend(placed.map(|(row, bit)| (row.row, bit.trailing_zeros() as u8 + 1)));
            }
            at += 1;
        });
        queens.sort_unstable();
        Some(Start {
            border,
            weight,
            queens,
        })
    }

    /// The index of the border of a start.
    fn border_of(&self, number: u64) -> usize {
        let after = self
            .borders
            .partition_point(|&(_, _, first)| first <= number);
        after.saturating_sub(1)
    }

    /// The borders with starts in a range: weight, rows, and these starts.
    pub(crate) fn runs(&self, range: Range<u64>) -> impl Iterator<Item = (u8, Inner, Vec<State>)> {
        let (start, end) = (range.start, range.end.min(self.len));
        let borders = self.borders[self.border_of(start)..].iter();
        let borders = borders.take_while(move |&&(_, _, first)| first < end);
        borders.map(move |&(border, weight, first)| {
            let inner = border.inner(self.n);
            let mut roots = Vec::new();
            let mut number = first;
            inner.unfold(self.depth, &mut |root, _| {
                if (start..end).contains(&number) {
                    roots.push(root);
                }
                number += 1;
            });
            (weight, inner, roots)
        })
    }
}

/// All numbers below `len`, in steps of about the golden ratio of it: the first of them, however many, lie evenly.
fn scattered(len: usize) -> impl Iterator<Item = usize> {
    let golden = (len as f64 * 0.618_034) as usize;
    let step = (golden.max(1)..).find(|&step| gcd(step, len) == 1);
    let step = step.expect("some number has no divisor in common");
    (0..len).map(move |at| at * step % len)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Searches below starts. It keeps memory between searches, so each worker has its own.
pub struct Searcher {
    simd: Simd,
    memory: Memory,
}

impl Searcher {
    /// A searcher with the instructions that `simd` allows and the processor has: AVX-512, AVX2, or none.
    pub fn new(simd: Simd) -> Searcher {
        Searcher {
            simd,
            memory: Memory::default(),
        }
    }

    /// All solutions below the starts of a range, times their weights. Starts beyond the last are ignored.
    pub fn search(&mut self, starts: &Starts, range: Range<u64>) -> Counts {
        let runs = starts.runs(range);
        runs.map(|(weight, inner, roots)| self.below(&inner, starts.depth, &roots, weight))
            .sum()
    }

    /// All solutions below roots at row `depth`, times a weight.
    pub(crate) fn below(
        &mut self,
        inner: &Inner,
        depth: usize,
        roots: &[State],
        weight: u8,
    ) -> Counts {
        let job = Job {
            rows: &inner.rows,
            depth: depth.min(inner.rows.len()),
            roots,
        };
        let mut found = kernels::run(self.simd, &job, &mut self.memory);
        found.solutions *= u128::from(weight);
        found
    }
}
