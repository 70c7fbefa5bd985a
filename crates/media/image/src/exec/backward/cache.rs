//! Intermediates that all workers share, with a valid bit for each element.
//!
//! A value is stored before its bit is set with release order, and read after its bit was seen with acquire order.
//! Two workers may find the same element missing and both compute it; they store the same value.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::run::{Run, sized};
use crate::format::Size;
use crate::graph::plane::PlaneGraph;

/// Elements of a word of valid bits.
const WORD: usize = 64;

/// Values and valid bits of every intermediate of a plane's graph, for one unit at a time.
#[derive(Debug)]
pub struct Cache {
    planes: Vec<Plane>,
}

impl Cache {
    /// Room for the intermediates of `graph`, none of them valid.
    pub fn new(graph: &PlaneGraph) -> Self {
        let intermediates = graph.nodes.len().saturating_sub(1);
        let planes = graph.nodes[..intermediates]
            .iter()
            .map(|node| Plane::new(node.size))
            .collect();
        Cache { planes }
    }

    /// Makes a share of the elements invalid, from `share.start / of` to `share.end / of` of each intermediate.
    ///
    /// All shares must be cleared, by any workers, before anything of the next unit is pulled, and none while a unit is
    /// pulled. Different shares never touch the same word.
    pub fn clear(&self, share: Range<u32>, of: u32) {
        for plane in &self.planes {
            let words = plane.valid.len() as u64;
            let word = |at: u32| (words * u64::from(at.min(of)) / u64::from(of.max(1))) as usize;
            for valid in &plane.valid[word(share.start)..word(share.end)] {
                valid.store(0, Ordering::Relaxed);
            }
        }
    }

    /// How many elements of intermediate `node` are valid.
    pub fn valid(&self, node: usize) -> usize {
        let bits = |word: &AtomicU64| word.load(Ordering::Acquire).count_ones() as usize;
        self.planes[node].valid.iter().map(bits).sum()
    }

    pub(super) fn plane(&self, node: usize) -> &Plane {
        &self.planes[node]
    }
}

/// One intermediate. Rows of bits begin at a word.
#[derive(Debug)]
pub(super) struct Plane {
    width: usize,
    words: usize,
    values: Box<[AtomicU32]>,
    valid: Box<[AtomicU64]>,
}

impl Plane {
    fn new(size: Size) -> Self {
        let (width, height) = (size.w as usize, size.h as usize);
        let words = width.div_ceil(WORD);
        Plane {
            width,
            words,
            values: (0..size.area()).map(|_| AtomicU32::new(0)).collect(),
            valid: (0..words * height).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whether element (x, y) is valid, and the number of elements from it on, before column `end`, of which the same holds.
    fn equal_run(&self, y: usize, x: usize, end: usize) -> (bool, usize) {
        let bits = |x: usize| self.valid[y * self.words + x / WORD].load(Ordering::Acquire);
        // Each word is loaded once, since another worker may make elements valid in between.
        let mut word = bits(x);
        let valid = word >> (x % WORD) & 1 == 1;
        let mut at = x;
        loop {
            // Bits that differ from the first become ones.
            let differ = if valid { !word } else { word } >> (at % WORD);
            let left = WORD - at % WORD;
            let same = (differ.trailing_zeros() as usize).min(left);
            at += same;
            if same < left || at >= end {
                break;
            }
            word = bits(at);
        }
        (valid, at.min(end) - x)
    }

    /// Whether element (x, y) is valid, and its value, which is undefined if it is not.
    #[inline(always)]
    fn element(&self, y: usize, x: usize) -> (bool, f32) {
        let word = self.valid[y * self.words + x / WORD].load(Ordering::Acquire);
        let value = self.values[y * self.width + x].load(Ordering::Relaxed);
        (word >> (x % WORD) & 1 == 1, f32::from_bits(value))
    }

    /// Elements (x, y).. as they were computed.
    fn read(&self, y: usize, x: usize, out: &mut [f32]) {
        let at = y * self.width + x;
        let values = &self.values[at..at + out.len()];
        for (o, v) in out.iter_mut().zip(values) {
            *o = f32::from_bits(v.load(Ordering::Relaxed));
        }
    }

    /// Makes elements (x, y).. valid.
    fn publish(&self, y: usize, x: usize, values: &[f32]) {
        let (at, end) = (y * self.width + x, x + values.len());
        for (to, v) in self.values[at..at + values.len()].iter().zip(values) {
            to.store(v.to_bits(), Ordering::Relaxed);
        }
        let mut x = x;
        while x < end {
            let n = (WORD - x % WORD).min(end - x);
            let mask = (u64::MAX >> (WORD - n)) << (x % WORD);
            self.valid[y * self.words + x / WORD].fetch_or(mask, Ordering::Release);
            x += n;
        }
    }

    /// Makes the elements of a list valid.
    fn publish_list(&self, xs: &[i32], ys: &[i32], values: &[f32]) {
        for ((&x, &y), v) in xs.iter().zip(ys).zip(values) {
            let at = y as usize * self.width + x as usize;
            self.values[at].store(v.to_bits(), Ordering::Relaxed);
        }
        // Bits of neighbours in one word are set together.
        let (mut word, mut mask) = (0, 0);
        for (&x, &y) in xs.iter().zip(ys) {
            let (x, y) = (x as usize, y as usize);
            let this = y * self.words + x / WORD;
            if this != word && mask != 0 {
                self.valid[word].fetch_or(mask, Ordering::Release);
                mask = 0;
            }
            word = this;
            mask |= 1 << (x % WORD);
        }
        if mask != 0 {
            self.valid[word].fetch_or(mask, Ordering::Release);
        }
    }
}

/// The missing elements of a list, each once.
#[derive(Default)]
pub(super) struct Missing {
    xs: Vec<i32>,
    ys: Vec<i32>,
    values: Vec<f32>,
    seen: Seen,
}

/// A run of an intermediate. Valid elements are read, the others computed and kept.
pub(super) fn read_or_compute(
    plane: &Plane,
    run: Run<'_>,
    missing: &mut Missing,
    out: &mut [f32],
    mut compute: impl FnMut(Run<'_>, &mut [f32]),
) {
    match run {
        Run::Row { x0, y, n } => {
            let (row, mut x, end) = (y as usize, x0 as usize, x0 as usize + n);
            let mut rest = out;
            while x < end {
                let (valid, n) = plane.equal_run(row, x, end);
                let (part, after) = rest.split_at_mut(n);
                if valid {
                    plane.read(row, x, part);
                } else {
                    compute(Run::Row { x0: x as i32, y, n }, part);
                    plane.publish(row, x, part);
                }
                (rest, x) = (after, x + n);
            }
        }
        Run::List { xs, ys } => {
            let parts = xs.chunks(Seen::MOST).zip(ys.chunks(Seen::MOST));
            for ((xs, ys), out) in parts.zip(out.chunks_mut(Seen::MOST)) {
                list(plane, xs, ys, missing, out, &mut compute);
            }
        }
    }
}

fn list(
    plane: &Plane,
    xs: &[i32],
    ys: &[i32],
    missing: &mut Missing,
    out: &mut [f32],
    compute: &mut impl FnMut(Run<'_>, &mut [f32]),
) {
    let Missing {
        xs: missing_x,
        ys: missing_y,
        values,
        seen,
    } = missing;
    // The outputs whose element is missing, found without a branch, since there is no pattern to predict.
    let (mut wanted, mut count) = ([0; Seen::MOST], 0);
    for (i, ((&x, &y), o)) in xs.iter().zip(ys).zip(&mut *out).enumerate() {
        let (valid, value) = plane.element(y as usize, x as usize);
        *o = value;
        wanted[count] = i;
        count += usize::from(!valid);
    }
    let wanted = &wanted[..count];
    if wanted.is_empty() {
        return;
    }
    let mut places = [0; Seen::MOST];
    missing_x.clear();
    missing_y.clear();
    seen.clear();
    for (place, &i) in places.iter_mut().zip(wanted) {
        let next = missing_x.len();
        let element = ys[i] as usize * plane.width + xs[i] as usize;
        *place = seen.place(element as u32, next as u32) as usize;
        if *place == next {
            missing_x.push(xs[i]);
            missing_y.push(ys[i]);
        }
    }
    let values = sized(values, missing_x.len());
    compute(
        Run::List {
            xs: missing_x,
            ys: missing_y,
        },
        values,
    );
    plane.publish_list(missing_x, missing_y, values);
    for (&i, &place) in wanted.iter().zip(&places) {
        out[i] = values[place];
    }
}

/// A small hash table from elements to their place in a list. It is emptied by starting the next round.
#[derive(Default)]
struct Seen {
    round: u32,
    /// Round, element, place.
    slots: Vec<(u32, u32, u32)>,
}

impl Seen {
    /// Elements between two rounds; a quarter of the slots.
    const MOST: usize = 64;
    const SLOTS_LOG2: u32 = 8;

    fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.slots.is_empty() || self.round == 0 {
            self.slots.clear();
            self.slots.resize(1 << Self::SLOTS_LOG2, (0, 0, 0));
            self.round = 1;
        }
    }

    /// The place `element` has, or gets: `next`.
    fn place(&mut self, element: u32, next: u32) -> u32 {
        // Fibonacci hashing: the upper bits of a product with 2³² / golden ratio.
        let mut slot = (element.wrapping_mul(0x9e37_79b9) >> (32 - Self::SLOTS_LOG2)) as usize;
        loop {
            let (round, key, place) = &mut self.slots[slot];
            if *round != self.round {
                (*round, *key, *place) = (self.round, element, next);
                return next;
            }
            if *key == element {
                return *place;
            }
            slot = (slot + 1) % (1 << Self::SLOTS_LOG2);
        }
    }
}
