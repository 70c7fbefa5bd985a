//! The fastest mapping for each choice of elements.
//!
//! With stages before `end` on elements `used`, the last segment begins at some stage and takes some of the elements; the
//! others run what is before it. The rate is the smaller of both, so the best one follows from the best of fewer stages.
//! Every segment and every choice is looked at: the result is exact.

use std::ops::Range;

use crate::machine::Machine;
use crate::mapping::{Mapping, Segment};

/// What is searched: a machine whose stages may be joined and whose elements may be counted in bundles.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pub machine: &'a Machine,
    /// Where groups of stages end.
    pub ends: Vec<usize>,
    /// Elements of each kind that are taken or left together.
    pub bundles: Vec<u32>,
}

impl Problem<'_> {
    /// How many bundles of each kind there can be.
    fn numbers(&self) -> Vec<usize> {
        let kinds = self.machine.elements().iter().zip(&self.bundles);
        kinds
            .map(|(element, bundle)| (element.number / bundle) as usize)
            .collect()
    }

    /// Steps of the search, and numbers that it keeps.
    pub fn size(&self) -> (f64, f64) {
        let numbers = self.numbers();
        let choices: f64 = numbers.iter().map(|&n| n as f64 + 1.0).product();
        let splits: f64 = numbers
            .iter()
            .map(|&n| (n as f64 + 1.0) * (n as f64 + 2.0) / 2.0)
            .product();
        let groups = self.ends.len() as f64;
        (
            groups * (groups - 1.0) / 2.0 * splits + groups * choices,
            groups * choices,
        )
    }

    fn stages(&self, groups: Range<usize>) -> Range<usize> {
        let before = |group: usize| group.checked_sub(1).map_or(0, |before| self.ends[before]);
        before(groups.start)..before(groups.end)
    }
}

/// The best rate for every choice of elements.
pub struct Found<'a> {
    problem: Problem<'a>,
    /// Bundles of each kind.
    numbers: Vec<usize>,
    /// Kinds, the most numerous first, and how far apart choices are that differ by one of them.
    order: Vec<usize>,
    strides: Vec<usize>,
    choices: usize,
    /// By group that a mapping ends before, then by choice. All elements of a choice are in use.
    best: Vec<f64>,
}

impl<'a> Found<'a> {
    /// Searches.
    pub fn new(problem: Problem<'a>) -> Found<'a> {
        let numbers = problem.numbers();
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|&kind| std::cmp::Reverse(numbers[kind]));
        let mut strides = vec![0; numbers.len()];
        let mut choices = 1;
        for &kind in &order {
            strides[kind] = choices;
            choices *= numbers[kind] + 1;
        }
        let groups = problem.ends.len();
        let mut found = Found {
            problem,
            numbers,
            order,
            strides,
            choices,
            best: vec![0.0; groups * choices],
        };
        for end in 1..=groups {
            found.end_at(end);
        }
        found
    }

    /// Finds the best of all mappings that end before a group.
    fn end_at(&mut self, end: usize) {
        let (before, own) = self.best.split_at_mut((end - 1) * self.choices);
        let own = &mut own[..self.choices];
        for begin in 0..end {
            let stages = self.problem.stages(begin..end);
            let mut taken = vec![0; self.numbers.len()];
            for choice in 1..self.choices {
                next(&mut taken, &self.numbers, &self.order);
                let rate = rate(&self.problem, &stages, &taken);
                if rate <= 0.0 {
                    continue;
                }
                match begin.checked_sub(1) {
                    None => own[choice] = rate,
                    Some(group) => {
                        let before = &before[group * self.choices..][..self.choices];
                        join(
                            before,
                            own,
                            choice,
                            rate,
                            &Left {
                                numbers: &self.numbers,
                                order: &self.order,
                                strides: &self.strides,
                                taken: &taken,
                            },
                        );
                    }
                }
            }
        }
    }

    /// Every choice that some mapping runs on, with the counts of elements and the best rate.
    pub fn all(&self) -> impl Iterator<Item = (usize, Vec<u32>, f64)> {
        let last = &self.best[(self.problem.ends.len() - 1) * self.choices..];
        let mut taken = vec![0; self.numbers.len()];
        last.iter()
            .enumerate()
            .skip(1)
            .filter_map(move |(choice, &rate)| {
                next(&mut taken, &self.numbers, &self.order);
                (rate > 0.0).then(|| (choice, self.counts(&taken), rate))
            })
    }

    fn counts(&self, taken: &[usize]) -> Vec<u32> {
        let bundles = taken.iter().zip(&self.problem.bundles);
        bundles
            .map(|(&taken, bundle)| taken as u32 * bundle)
            .collect()
    }

    /// A mapping on a choice of elements that reaches its best rate. Of several, the one whose last segments are longest.
    pub fn mapping(&self, choice: usize) -> Mapping {
        let groups = self.problem.ends.len();
        let needed = self.best[(groups - 1) * self.choices + choice];
        let (mut end, mut choice) = (groups, choice);
        let mut segments = Vec::new();
        while end > 0 {
            let (begin, taken) = self.last(end, choice, needed);
            segments.push(Segment {
                stages: self.problem.stages(begin..end),
                counts: self.counts(&taken),
            });
            choice -= self.at(&taken);
            end = begin;
        }
        segments.reverse();
        Mapping { segments }
    }

    fn at(&self, taken: &[usize]) -> usize {
        taken
            .iter()
            .zip(&self.strides)
            .map(|(taken, stride)| taken * stride)
            .sum()
    }

    /// The first group of the last segment, and its bundles, of a mapping at least as fast as `needed`.
    fn last(&self, end: usize, choice: usize, needed: f64) -> (usize, Vec<usize>) {
        let mut there: Vec<usize> = vec![0; self.numbers.len()];
        let mut rest = choice;
        for &kind in self.order.iter().rev() {
            there[kind] = rest / self.strides[kind];
            rest %= self.strides[kind];
        }
        // One segment from the first stage on takes all of them.
        if rate(&self.problem, &self.problem.stages(0..end), &there) >= needed {
            return (0, there);
        }
        for begin in 1..end {
            let stages = self.problem.stages(begin..end);
            let before = &self.best[(begin - 1) * self.choices..][..self.choices];
            let mut taken = vec![0; there.len()];
            while next(&mut taken, &there, &self.order) {
                let reached = before[choice - self.at(&taken)] >= needed;
                if reached && rate(&self.problem, &stages, &taken) >= needed {
                    return (begin, taken);
                }
            }
        }
        unreachable!("the search found a mapping on this choice")
    }
}

/// The next choice of at most `limits`; whether there is one.
fn next(taken: &mut [usize], limits: &[usize], order: &[usize]) -> bool {
    for &kind in order {
        if taken[kind] < limits[kind] {
            taken[kind] += 1;
            return true;
        }
        taken[kind] = 0;
    }
    false
}

fn rate(problem: &Problem<'_>, stages: &Range<usize>, taken: &[usize]) -> f64 {
    let mut rate = 0.0;
    for (kind, (&taken, &bundle)) in taken.iter().zip(&problem.bundles).enumerate() {
        if taken > 0 {
            let cost = problem.machine.cost(kind, stages.clone());
            if cost.is_infinite() {
                return 0.0;
            }
            rate += taken as f64 * f64::from(bundle) / cost;
        }
    }
    rate
}

/// What a segment leaves to those before it.
struct Left<'a> {
    numbers: &'a [usize],
    order: &'a [usize],
    strides: &'a [usize],
    taken: &'a [usize],
}

/// Puts a segment of elements `choice` behind the best mappings on every choice that is left.
fn join(before: &[f64], own: &mut [f64], choice: usize, rate: f64, left: &Left<'_>) {
    let Some((&inner, outer)) = left.order.split_first() else {
        return;
    };
    let limits: Vec<usize> = left
        .numbers
        .iter()
        .zip(left.taken)
        .map(|(n, taken)| n - taken)
        .collect();
    let run = limits[inner] + 1;
    let mut other = vec![0; limits.len()];
    loop {
        let at: usize = outer
            .iter()
            .map(|&kind| other[kind] * left.strides[kind])
            .sum();
        let from = &before[at..at + run];
        let to = &mut own[at + choice..at + choice + run];
        for (to, &from) in to.iter_mut().zip(from) {
            *to = to.max(from.min(rate));
        }
        if !next(&mut other, &limits, outer) {
            return;
        }
    }
}
