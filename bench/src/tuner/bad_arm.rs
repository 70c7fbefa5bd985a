//! What plan auto loses on a structure many times slower than the best.
//!
//! `backward` computes the intermediates of a chain of stencils again for every output. The model predicts that, so the
//! tuner may never run it. Therefore a misled model is tried as well. `farm` does not count as the best structure here. Its
//! units cannot be cut off, so the tuner does not begin with it, and beside `backward` alone there would be no other plan to
//! begin with.

use evener_image::structures::{BACKWARD, FARM};
use evener_runtime::tuner::TunerSetup;
use evener_runtime::{Dispatch, Plan, Runtime, Shape, Structure, Work};
use serde::Serialize;

use super::screen::{candidates, screen};
use super::static_source::Making;
use super::stream::{Bench, Run};
use super::{FULL_HD, Options, counted, frames, subjects};
use crate::error::Error;
use crate::stats::{median_of, rotated};
use evener_report::Table;

/// Largest share of a stream's time that may be lost.
pub const TARGET: f64 = 0.05;
/// The slow structure.
const BAD: &Structure = &BACKWARD;
/// Frames that are enough to measure how slow it is.
const FEW: u64 = 3;

/// The structures that the tuner may choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// All structures, as the model predicts them.
    All,
    /// The best structure and the slow one.
    Two,
    /// These two, and the model predicts half the cost of the best for the slow one.
    Misled,
}

impl Candidates {
    const ALL: [Candidates; 3] = [Candidates::All, Candidates::Two, Candidates::Misled];

    fn about(self) -> &'static str {
        match self {
            Candidates::All => "all structures",
            Candidates::Two => "the best and it",
            Candidates::Misled => "the best and it, predicted at half",
        }
    }

    fn shapes(self, shapes: &[Shape], best: &'static Structure) -> Vec<Shape> {
        let work = shapes.iter().find(|s| s.structure == best).map(|s| s.work);
        let among = |s: &&Shape| match self {
            Candidates::All => true,
            _ => s.structure == best || s.structure == BAD,
        };
        let mut shapes: Vec<Shape> = shapes.iter().filter(among).cloned().collect();
        if let (Candidates::Misled, Some(work)) = (self, work) {
            let bad = shapes.iter_mut().filter(|s| s.structure == BAD);
            bad.for_each(|s| {
                s.work = Work {
                    ops: work.ops / 2.0,
                    bytes: work.bytes / 2.0,
                    fresh: work.fresh,
                }
            });
        }
        shapes
    }
}

/// One graph at one size with one set of candidates.
#[derive(Clone, Debug, Serialize)]
pub struct BadArmResult {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// Frames of a stream.
    pub frames: u64,
    /// The structures that the tuner may choose from.
    pub candidates: Candidates,
    /// The best fixed plan of another structure, without `farm`.
    pub best: Plan,
    /// Time of a unit under `backward` as a multiple of that under the best plan.
    pub times_the_best: f64,
    /// Median over rounds of the share of the stream's time that units under `backward` took beyond their cost under the
    /// best plan.
    pub lost: f64,
    /// One for each round.
    pub rounds: Vec<BadArmRound>,
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BadArmRound {
    /// Units that ran under `backward`.
    pub units: usize,
    /// Share of the stream's time lost on them.
    pub lost: f64,
    /// Seconds of the stream.
    pub whole_s: f64,
    /// Seconds of a stream of the same length under the best plan.
    pub best_s: f64,
    /// The plan the stream ended on.
    pub plan: Plan,
    /// Every decision with its reason.
    pub decisions: Vec<String>,
}

pub(super) fn run(
    options: &Options,
    runtime: &Runtime,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<BadArmResult>, Error> {
    let mut results = Vec::new();
    for subject in &subjects(options, runtime, &["A"], &[FULL_HD])? {
        let bench = Bench::new(runtime, subject);
        let mut say = |what: &str| progress(&format!("{} {}, {what}", subject.graph, subject.size));
        results.extend(measure(&bench, options, &mut say)?);
    }
    Ok(results)
}

fn measure(
    bench: &Bench<'_>,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<BadArmResult>, Error> {
    let frames = frames(options, bench.subject.size);
    let none = |what| bench.subject.failed(what, "filters do not run this way");
    progress("screening");
    let others = candidates(bench, &[bench.workers()])
        .into_iter()
        .filter(|plan| ![BAD, &FARM].contains(&plan.structure))
        .collect();
    let screened = screen(bench, others, frames)?;
    let &best = screened.near.first().ok_or_else(|| none("fixed"))?;
    let bad = bench
        .plan(BAD, Dispatch::Fifo, bench.workers())
        .ok_or_else(|| none(BAD.name))?;
    let few = bench.estimate(&bad, FEW.min(frames))?.seconds;
    let times_the_best = few.into_iter().fold(f64::INFINITY, f64::min) / screened.best_s;

    let sets = Candidates::ALL;
    let mut rounds = sets.map(|_| Vec::new());
    for round in 0..options.rounds {
        progress(&format!("round {}", round + 1));
        let fixed = bench.fixed(&best, frames)?;
        for turn in rotated(sets.len(), round) {
            let setup = TunerSetup {
                shapes: sets[turn].shapes(&bench.shapes, best.structure),
                ..bench.setup(frames)
            };
            let run = bench.guarded(&setup, Making::Counted, None)?;
            rounds[turn].push(BadArmRound::of(run, fixed.whole_s, fixed.mean_s()));
        }
    }
    let results = sets.into_iter().zip(rounds);
    Ok(results
        .map(|(candidates, rounds)| BadArmResult {
            graph: bench.subject.graph.clone(),
            size: bench.subject.size.to_string(),
            frames,
            candidates,
            best,
            times_the_best,
            lost: median_of(rounds.iter().map(|r| r.lost)),
            rounds,
        })
        .collect())
}

impl BadArmRound {
    /// For a stream that takes `best_s` seconds under the best plan, `unit_s` of them a unit.
    fn of(run: Run, best_s: f64, unit_s: f64) -> BadArmRound {
        let (mut units, mut lost) = (0, 0.0);
        for epoch in run.epochs.iter().filter(|e| e.plan.structure == BAD) {
            let seconds = &run.seconds[epoch.first..][..epoch.units];
            units += epoch.units;
            lost += seconds.iter().map(|s| s - unit_s).sum::<f64>();
        }
        BadArmRound {
            units,
            lost: lost.max(0.0) / run.whole_s,
            whole_s: run.whole_s,
            best_s,
            plan: run.plan,
            decisions: run.decisions,
        }
    }
}

pub(super) fn table(results: &[BadArmResult]) -> Table {
    let row = |r: &BadArmResult| {
        vec![
            r.graph.clone(),
            r.size.clone(),
            r.frames.to_string(),
            r.candidates.about().to_owned(),
            format!("{:.1}x", r.times_the_best),
            format!("{:.0}", median_of(r.rounds.iter().map(|r| r.units as f64))),
            format!("{:.1} %", 100.0 * r.lost),
            format!(
                "{:.3}",
                median_of(r.rounds.iter().map(|r| r.best_s / r.whole_s))
            ),
            counted(r.rounds.iter().map(|r| r.plan)),
        ]
    };
    Table {
        title: "A structure many times slower than the best",
        about: format!(
            "Share of a stream's time lost on units of {BAD}; target {:.0} %. Speed is that of the whole stream \
             relative to the best fixed plan without farm.",
            100.0 * TARGET
        ),
        head: vec![
            "graph",
            "size",
            "frames",
            "candidates",
            "its cost",
            "its units",
            "lost",
            "speed",
            "auto ended on",
        ],
        rows: results.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use evener_image::structures::{SEQUENTIAL, TILED};
    use evener_runtime::stream::Search;

    use super::super::stream::EpochRun;
    use super::*;

    fn plan(structure: &'static Structure) -> Plan {
        Plan {
            structure,
            dispatch: Dispatch::Fifo,
            grain: 8,
            workers: 2,
            devices: 0,
        }
    }

    #[test]
    fn only_time_beyond_the_best_plan_is_lost() {
        let ran = |first, units, structure| EpochRun {
            first,
            units,
            plan: plan(structure),
        };
        let run = Run {
            whole_s: 10.0,
            seconds: vec![1.0, 1.0, 5.0, 1.0, 1.0, 1.0],
            epochs: vec![ran(0, 2, &TILED), ran(2, 1, BAD), ran(3, 3, &TILED)],
            told_s: 10.0,
            plan: plan(&TILED),
            search: Search {
                epochs: 3,
                plans_tried: 2,
                switches: 0,
                drifts: 0,
                exploring_s: 4.0,
            },
            decisions: Vec::new(),
        };
        let round = BadArmRound::of(run, 6.0, 1.0);
        assert_eq!((round.units, round.lost), (1, 0.4));
    }

    #[test]
    fn a_misled_model_likes_the_slow_structure_best() {
        let shape = |structure, ops| Shape {
            structure,
            passes: vec![8],
            steps: Vec::new(),
            lines: Vec::new(),
            pass_names: Vec::new(),
            device_pass: None,
            default_grain: 1,
            min_grain: 1,
            units: 1,
            work: Work {
                ops,
                bytes: 8.0,
                fresh: 0.0,
            },
        };
        let shapes = [
            shape(&SEQUENTIAL, 30.0),
            shape(BAD, 900.0),
            shape(&TILED, 10.0),
        ];
        let two = Candidates::Two.shapes(&shapes, &TILED);
        assert_eq!(two, shapes[1..]);
        let misled = Candidates::Misled.shapes(&shapes, &TILED);
        assert_eq!((misled[0].work.ops, misled[0].work.bytes), (5.0, 4.0));
        assert_eq!(misled[1], shapes[2]);
        assert_eq!(Candidates::All.shapes(&shapes, &TILED), shapes);
    }
}
