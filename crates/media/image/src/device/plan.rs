//! What a graph bound to a format is on every device.

use std::ops::Range;

use evener_runtime::device::Program;

use super::chain::Chain;
use super::{program, record};
use crate::format::Format;
use crate::graph::bind::Bound;
use crate::graph::plane::Port;
use crate::integer::Integer;

/// Units that move so few bytes up and down, all planes together, are given to a device several at a time, so that they
/// share the time that a device takes to answer.
const SMALL: usize = 512 << 10;
/// About as many bytes of them at a time, and at most as many units.
const TOGETHER: usize = 2 << 20;
const MOST: usize = 16;

/// A bound graph for devices.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) program: &'static Program,
    pub(super) most_units: usize,
    /// The records of all launches and their operations.
    pub(super) words: Vec<u32>,
    /// The planes whose result is not known beforehand.
    pub(super) planes: Vec<PlanePlan>,
}

#[derive(Debug)]
pub(super) struct PlanePlan {
    pub index: usize,
    pub chain: Chain,
    /// Where the record of each pass begins in the words.
    pub records: Vec<u32>,
    /// Bytes of the plane in frames that are read, and in those that are written.
    pub input_bytes: usize,
    pub output_bytes: usize,
    /// The bytes of a frame's plane that are read.
    pub read: Range<usize>,
}

impl Plan {
    /// `None` if a stage has no kernel for devices, a plane is computed in integers, or nothing is computed.
    pub(crate) fn new(bound: &Bound) -> Option<Plan> {
        let (mut words, mut planes) = (Vec::new(), Vec::new());
        let (mut divide, mut sqrt) = (false, false);
        for (index, graph) in bound.planes.iter().enumerate() {
            if matches!(graph.result, Port::Constant(_)) {
                continue;
            }
            if Integer::of(graph, bound.input.depth).is_some() {
                return None;
            }
            let chain = Chain::new(graph)?;
            divide |= chain.divides();
            sqrt |= chain.sqrt();
            let codes = |format: &Format| format.codes(index);
            let records = record::write(
                &chain,
                codes(&bound.input),
                codes(&bound.output),
                &mut words,
            );
            let bytes = |format: &Format| format.plane_size(index).area() * format.depth.bytes();
            let row = graph.source.w as usize * bound.input.depth.bytes();
            planes.push(PlanePlan {
                index,
                records,
                input_bytes: bytes(&bound.input),
                output_bytes: bytes(&bound.output),
                read: chain.need.y0 as usize * row..chain.need.y1 as usize * row,
                chain,
            });
        }
        let moved = planes
            .iter()
            .map(|plane| plane.read.len() + plane.output_bytes);
        let moved: usize = moved.sum();
        if planes.is_empty() {
            return None;
        }
        let most_units = match moved <= SMALL {
            true => (TOGETHER / moved).clamp(1, MOST),
            false => 1,
        };
        Some(Plan {
            program: program(divide, sqrt),
            most_units,
            words,
            planes,
        })
    }

    /// Bytes of the planes of floats between launches, which all planes of a frame use by turns: those of the largest
    /// that an even launch writes, and of the largest that an odd one does.
    pub(super) fn between(&self) -> impl Iterator<Item = usize> {
        let written = |turn: usize| {
            let inner = self.planes.iter().flat_map(move |plane| {
                let (_, inner) = plane.chain.passes.split_last()?;
                inner
                    .iter()
                    .skip(turn)
                    .step_by(2)
                    .map(|pass| pass.size.area() * size_of::<f32>())
                    .max()
            });
            inner.max()
        };
        [0, 1].into_iter().filter_map(written)
    }
}
