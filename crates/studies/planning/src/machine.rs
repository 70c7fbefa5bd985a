//! What every run of consecutive stages costs on every kind of element.

use std::ops::Range;

/// Area, power and number of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Of one.
    pub area: f64,
    /// Of one.
    pub power: f64,
    /// How many there can be.
    pub number: u32,
}

/// Kinds of elements, and seconds for a unit.
#[derive(Clone, Debug)]
pub struct Machine {
    stages: usize,
    elements: Vec<Element>,
    /// By kind, first stage and end; infinite where a kind cannot run it.
    costs: Vec<f64>,
}

impl Machine {
    /// A machine of these kinds; `cost` gives the seconds of stages on a kind.
    pub fn new(
        stages: usize,
        elements: Vec<Element>,
        cost: impl Fn(usize, Range<usize>) -> f64,
    ) -> Machine {
        let side = stages + 1;
        let mut costs = vec![f64::INFINITY; elements.len() * side * side];
        for kind in 0..elements.len() {
            for begin in 0..stages {
                for end in begin + 1..=stages {
                    costs[(kind * side + begin) * side + end] = cost(kind, begin..end);
                }
            }
        }
        Machine {
            stages,
            elements,
            costs,
        }
    }

    /// How many stages a unit has.
    pub fn stages(&self) -> usize {
        self.stages
    }

    /// The kinds.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Seconds of stages on a kind.
    pub fn cost(&self, kind: usize, stages: Range<usize>) -> f64 {
        let side = self.stages + 1;
        self.costs[(kind * side + stages.start) * side + stages.end]
    }

    /// Units a second that elements, so many of each kind, do of some stages. They share units as their speeds are. It is
    /// 0 if one of them cannot run the stages.
    pub fn rate(&self, stages: &Range<usize>, counts: &[u32]) -> f64 {
        let mut rate = 0.0;
        for (kind, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let cost = self.cost(kind, stages.clone());
            if cost.is_infinite() {
                return 0.0;
            }
            rate += f64::from(count) / cost;
        }
        rate
    }

    /// The area and the power of elements.
    pub fn price(&self, counts: &[u32]) -> (f64, f64) {
        let all = self.elements.iter().zip(counts);
        all.fold((0.0, 0.0), |(area, power), (element, &count)| {
            let count = f64::from(count);
            (area + count * element.area, power + count * element.power)
        })
    }
}
