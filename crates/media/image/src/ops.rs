//! Operation counts: how often a structure makes each stage read a sample, found without running it.
//!
//! An operation is the reading of one sample by a stage, as Espeland et al. count in Table III (see
//! [`pipelines`](crate::pipelines)). A read that repeats an edge sample counts; an output of a warp whose position is
//! outside its source reads nothing.
#![forbid(unsafe_code)]

use evener_runtime::Structure;

use crate::exec::service::executor::{self, FrameExecutor};
use crate::graph::bind::Bound;
use crate::graph::plane::{PlaneGraph, Port};

/// The number of elements that the structure computes depends on more than the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "operations of structure '{structure}' depend on its grain; count sequential, backward, backward-cached or backward-store"
)]
pub struct Uncountable {
    /// The structure.
    pub structure: &'static Structure,
}

/// Samples each stage of a plane's graph reads for one frame, in the order of the graph.
///
/// - `sequential` computes every output of every stage once;
/// - `backward` and `backward-store` compute an element as often as it is read, back from the result;
/// - `backward-cached` computes each element that is read once. That holds for one worker; workers that race may do more.
///
/// Counts saturate at 64 bits.
///
/// # Errors
/// [`Uncountable`] for every other structure.
pub fn count(
    graph: &PlaneGraph,
    structure: &'static Structure,
) -> Result<Vec<(&'static str, u64)>, Uncountable> {
    let computed = executor::of(structure).and_then(FrameExecutor::times_computed);
    let computed = computed.ok_or(Uncountable { structure })?;
    // Reads of every element of every stage. Only later stages read a stage, so on the way back from the result all reads of
    // a stage are known when it is reached.
    let mut read: Vec<Vec<u64>> = graph.nodes.iter().map(|n| vec![0; n.size.area()]).collect();
    if let Port::Stage(result) = graph.result {
        read[result].fill(1);
    }
    let mut counts = vec![("", 0u64); graph.nodes.len()];
    let mut taps = Vec::new();
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        let of_node = std::mem::take(&mut read[i]);
        let (width, from) = (node.size.w as usize, node.input_size);
        let mut reads = 0u64;
        for (at, &times) in of_node.iter().enumerate() {
            let times = computed(times);
            if times == 0 {
                continue;
            }
            taps.clear();
            node.stage
                .taps((at % width) as i32, (at / width) as i32, &mut taps);
            let of_output = (taps.len() * node.inputs.len()) as u64;
            reads = reads.saturating_add(times.saturating_mul(of_output));
            for &(x, y) in &taps {
                let x = x.clamp(0, from.w as i32 - 1) as usize;
                let y = y.clamp(0, from.h as i32 - 1) as usize;
                for port in &node.inputs {
                    if let Port::Stage(input) = *port {
                        let element = &mut read[input][y * from.w as usize + x];
                        *element = element.saturating_add(times);
                    }
                }
            }
        }
        counts[i] = (node.stage.name(), reads);
    }
    Ok(counts)
}

/// Operations of each stage per sample of the input frame, averaged over its planes.
///
/// Stages are those of the first plane, which has all filters. Other planes add to the stages that they have, too.
///
/// # Errors
/// As [`count`].
pub fn table(
    graph: &Bound,
    structure: &'static Structure,
) -> Result<Vec<(&'static str, f64)>, Uncountable> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    let mut samples = 0;
    for plane in &graph.planes {
        samples += plane.source.area();
        for (i, (name, reads)) in count(plane, structure)?.into_iter().enumerate() {
            match sums.get_mut(i) {
                Some((known, sum)) if *known == name => *sum = sum.saturating_add(reads),
                _ => sums.push((name, reads)),
            }
        }
    }
    Ok(sums
        .into_iter()
        .map(|(name, reads)| (name, reads as f64 / samples as f64))
        .collect())
}
