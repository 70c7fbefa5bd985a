//! What to strengthen in a mapping, and what to prune. Three rules:
//!
//! - The slowest segments hold up the others. How fast would it all be if they were a tenth faster?
//! - An element is worth little if without it less than a twentieth of the speed is lost.
//! - A segment that is idle for a quarter of the time or more could be that much weaker.

use serde::Serialize;

use crate::machine::Machine;
use crate::mapping::Mapping;

/// How much faster the slowest segments are made.
const STRONGER: f64 = 1.1;
/// Segments so near the slowest are as slow.
const TIE: f64 = 1.001;
/// The share of speed that a pruned element may cost.
const LOST: f64 = 0.05;
/// The share of time that an idle segment is busy at most.
const BUSY: f64 = 0.75;

/// The segments that hold up a mapping.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Strengthen {
    /// Their numbers, from 0.
    pub segments: Vec<usize>,
    /// How many times as fast the mapping is if they are 1.1 times as fast.
    pub factor: f64,
}

/// An element that a mapping can do without.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prune {
    /// The segment that it is in, from 0.
    pub segment: usize,
    /// Its kind, as an index.
    pub kind: usize,
    /// The share of speed that is lost.
    pub lost: f64,
    /// The share of area that is saved.
    pub area: f64,
    /// The share of power that is saved.
    pub power: f64,
}

/// A segment that waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Idle {
    /// From 0.
    pub segment: usize,
    /// The share of time that it works.
    pub busy: f64,
}

/// Which segments to strengthen.
pub fn strengthen(rates: &[f64]) -> Strengthen {
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let holds = |rate: f64| rate <= slowest * TIE;
    let faster = rates
        .iter()
        .map(|&rate| if holds(rate) { rate * STRONGER } else { rate });
    Strengthen {
        segments: (0..rates.len()).filter(|&at| holds(rates[at])).collect(),
        factor: faster.fold(f64::INFINITY, f64::min) / slowest,
    }
}

/// Which elements could go, one at a time.
pub fn prune(mapping: &Mapping, machine: &Machine) -> Vec<Prune> {
    let rate = mapping.rate(machine);
    let (area, power) = machine.price(&mapping.counts());
    let mut all = Vec::new();
    for (segment, own) in mapping.segments.iter().enumerate() {
        for kind in (0..own.counts.len()).filter(|&kind| own.counts[kind] > 0) {
            let mut without = mapping.clone();
            without.segments[segment].counts[kind] -= 1;
            let lost = 1.0 - without.rate(machine) / rate;
            if lost < LOST {
                let element = machine.elements()[kind];
                all.push(Prune {
                    segment,
                    kind,
                    lost: lost.max(0.0),
                    area: element.area / area,
                    power: element.power / power,
                });
            }
        }
    }
    all
}

/// Which segments wait.
pub fn idle(rates: &[f64]) -> Vec<Idle> {
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let all = rates.iter().enumerate();
    let all = all.map(|(segment, rate)| Idle {
        segment,
        busy: slowest / rate,
    });
    all.filter(|idle| idle.busy <= BUSY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Element;
    use crate::mapping::Segment;

    #[test]
    fn the_slowest_is_strengthened_until_the_next_holds_up() {
        let one = strengthen(&[2.0, 1.0, 1.05]);
        assert_eq!(one.segments, [1]);
        assert!((one.factor - 1.05).abs() < 1e-12);
        let both = strengthen(&[1.0, 3.0, 1.0005]);
        assert_eq!(both.segments, [0, 2]);
        assert!((both.factor - 1.1).abs() < 1e-12);
    }

    #[test]
    fn elements_that_cost_little_speed_are_pruned_and_waiting_segments_named() {
        let element = |area| Element {
            area,
            power: 1.0,
            number: 30,
        };
        // A stage that takes 2 seconds on the first kind and 40 on the second.
        let machine = Machine::new(2, vec![element(3.0), element(1.0)], |kind, stages| {
            [2.0, 40.0][kind] * stages.len() as f64
        });
        let segment = |stages, counts: [u32; 2]| Segment {
            stages,
            counts: counts.to_vec(),
        };
        let mapping = Mapping {
            segments: vec![segment(0..1, [2, 1]), segment(1..2, [4, 0])],
        };
        let pruned = prune(&mapping, &machine);
        // 1.025 units a second: without the small element 1.0; one of four leaves 1.5 in the second segment.
        assert_eq!(pruned.len(), 2);
        assert_eq!((pruned[0].segment, pruned[0].kind), (0, 1));
        assert!((pruned[0].lost - 0.025 / 1.025).abs() < 1e-9);
        assert!((pruned[0].area - 1.0 / 19.0).abs() < 1e-9);
        assert_eq!(
            (pruned[1].segment, pruned[1].kind, pruned[1].lost),
            (1, 0, 0.0)
        );
        let idle = idle(&mapping.rates(&machine));
        assert_eq!(idle.len(), 1);
        assert!((idle[0].busy - 1.025 / 2.0).abs() < 1e-9);
    }
}
