//! A mapping: which elements run which stages.

use std::ops::Range;

use crate::machine::Machine;

/// Consecutive stages and the elements that run them, so many of each kind. Where there are several, each takes whole
/// units of these stages: a farm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From 0.
    pub stages: Range<usize>,
    /// One for each kind.
    pub counts: Vec<u32>,
}

/// Segments from the first stage to the last. With one it is a farm, with several a pipeline, whose segments may be
/// farms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// In order.
    pub segments: Vec<Segment>,
}

impl Mapping {
    /// Elements of each kind in all segments.
    pub fn counts(&self) -> Vec<u32> {
        let kinds = self.segments.first().map_or(0, |first| first.counts.len());
        let mut all = vec![0_u32; kinds];
        for segment in &self.segments {
            for (sum, &count) in all.iter_mut().zip(&segment.counts) {
                *sum = sum.saturating_add(count);
            }
        }
        all
    }

    /// Units a second that each segment can do.
    pub fn rates(&self, machine: &Machine) -> Vec<f64> {
        let rates = self.segments.iter();
        rates
            .map(|segment| machine.rate(&segment.stages, &segment.counts))
            .collect()
    }

    /// Units a second: those of the slowest segment.
    pub fn rate(&self, machine: &Machine) -> f64 {
        self.rates(machine)
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    }
}
