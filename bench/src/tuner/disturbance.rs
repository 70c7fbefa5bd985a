//! Another process takes a CPU in the middle third of a stream.
//!
//! The process is not pinned, so the operating system shares the processors between it and the workers. Streams under fixed
//! plans, on one worker and on all, are disturbed in the same way. They show which plan is best meanwhile and afterwards.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc;

use evener_runtime::tuner::TunerSetup;
use evener_runtime::{Plan, Runtime};
use serde::Serialize;

use super::cpu_hog::{CpuHog, HogController};
use super::screen::{candidates, screen};
use super::static_source::{Making, UnitHook};
use super::stream::{Bench, EpochRun, Run};
use super::topology_guard::GuardReport;
use super::windows::{recovered, speed_after, windows};
use super::{CIF, FULL_HD, Options, counted, short, subjects};
use crate::error::Error;
use crate::stats::{median_of, rotated};
use evener_report::Table;

/// Most epochs until plan auto is at least [`WELL`] as fast as the best fixed plan.
pub const TARGET: usize = 20;
/// See [`TARGET`].
pub const WELL: f64 = 0.95;
/// Length of a third of the stream at the speed of the best fixed plan, in seconds.
const THIRD_S: f64 = 1.5;
/// Most frames of a stream of the screening.
const LOOK: u64 = 3000;
/// Most plans that are measured of those near the best, with the other process and without it.
const MOST: usize = 5;

/// One graph at one size.
#[derive(Clone, Debug, Serialize)]
pub struct DisturbanceResult {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// Frames of a stream.
    pub frames: u64,
    /// The best fixed plan without the other process.
    pub quiet: BestFixed,
    /// The best fixed plan beside it.
    pub loaded: BestFixed,
    /// Recoveries after the process started, round by round.
    pub taken: Vec<Recovery>,
    /// Recoveries after it ended.
    pub given_back: Vec<Recovery>,
    /// Every decision with its reason, of each round.
    pub decisions: Vec<Vec<String>>,
    /// How streams were kept comparable.
    pub processors: GuardReport,
}

/// The best fixed plan under a condition.
#[derive(Clone, Debug, Serialize)]
pub struct BestFixed {
    /// The plan.
    pub plan: Plan,
    /// Seconds of a unit under it: the median over rounds of the mean over a third of a stream.
    pub unit_s: f64,
    /// That mean in each round.
    pub rounds_s: Vec<f64>,
    /// The same of every plan that was near the best.
    pub near: Vec<(Plan, f64)>,
}

/// What followed a change of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// Epochs of the tuner until a unit cost at most what the best fixed plan costs in the same round divided by
    /// [`WELL`], over five epochs and over all that followed; `None` if it never did.
    pub epochs: Option<usize>,
    /// Speed from epoch [`TARGET`] after the change on, relative to the best fixed plan; `None` if there was no such
    /// epoch.
    pub speed_after_target: Option<f64>,
    /// Speed of the whole third relative to the best fixed plan.
    pub speed: f64,
    /// Epochs in that third.
    pub epochs_in_all: usize,
    /// The plan of most units in the last quarter of that third.
    pub plan: Plan,
}

pub(super) fn run(
    options: &Options,
    runtime: &Runtime,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<DisturbanceResult>, Error> {
    let own = [1, runtime.workers() as u32];
    let mut workers = match options.workers.as_slice() {
        [] => own.to_vec(),
        some => some.to_vec(),
    };
    workers.dedup();
    let subjects = subjects(options, runtime, &["A", "G"], &[CIF, FULL_HD])?;
    let mut results = Vec::with_capacity(subjects.len());
    for subject in &subjects {
        let mut say = |what: &str| progress(&format!("{} {}, {what}", subject.graph, subject.size));
        let bench = Bench::new(runtime, subject);
        results.push(measure(options, &bench, &workers, &mut say)?);
    }
    Ok(results)
}

fn measure(
    options: &Options,
    bench: &Bench<'_>,
    workers: &[u32],
    progress: &mut dyn FnMut(&str),
) -> Result<DisturbanceResult, Error> {
    let look = options.frames.map_or(LOOK, |frames| frames.min(LOOK));
    progress("screening");
    let quiet = screen(bench, candidates(bench, workers), look)?;
    let third = (THIRD_S / quiet.best_s) as u64;
    let frames = options.frames.unwrap_or(3 * third).max(3);
    let loaded = {
        let _hog = CpuHog::start(&options.program)?;
        screen(bench, candidates(bench, workers), look)?
    };
    let mut plans: Vec<Plan> = quiet.near.into_iter().take(MOST).collect();
    for plan in loaded.near.into_iter().take(MOST) {
        if !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    let third = (frames / 3) as usize;
    let [beside, alone] = [third..2 * third, 2 * third..frames as usize];
    let mut streams = Vec::new();
    let mut times = [Times::new(plans.clone()), Times::new(plans.clone())];
    for round in 0..options.rounds {
        progress(&format!("round {}", round + 1));
        streams.push(disturbed(bench, &bench.setup(frames), &options.program)?);
        for turn in rotated(plans.len(), round) {
            let setup = bench.setup_fixed(&plans[turn], frames);
            let run = disturbed(bench, &setup, &options.program)?;
            for (times, third) in times.iter_mut().zip([&alone, &beside]) {
                times.means[turn].push(mean(&run.seconds[third.clone()]));
            }
        }
    }
    let [quiet, loaded] = times.map(Times::best);
    let (Some(quiet), Some(loaded)) = (quiet, loaded) else {
        return Err(bench.subject.failed("fixed", "no plan was measured"));
    };
    let after = |third: Range<usize>, best: &BestFixed| -> Vec<Recovery> {
        let rounds = streams.iter().zip(&best.rounds_s);
        let recovery = |(run, &best_s): (&Run, &f64)| recovery(run, third.clone(), best_s);
        rounds.map(recovery).collect()
    };
    Ok(DisturbanceResult {
        graph: bench.subject.graph.clone(),
        size: bench.subject.size.to_string(),
        frames,
        taken: after(beside, &loaded),
        given_back: after(alone, &quiet),
        quiet,
        loaded,
        decisions: streams.into_iter().map(|run| run.decisions).collect(),
        processors: bench.guard.report(),
    })
}

/// A stream with the other process in its middle third.
fn disturbed(bench: &Bench<'_>, setup: &TunerSetup, program: &Path) -> Result<Run, Error> {
    let frames = setup.units.unwrap_or(0);
    let (start, end) = (frames / 3, frames / 3 * 2);
    let (sender, failures) = mpsc::channel();
    let hook = || {
        let (sender, hogs) = (sender.clone(), HogController::new(program));
        UnitHook::at([start, end], move |unit| {
            if let Err(error) = hogs.set(unit == start) {
                // The receiver outlives the stream.
                let _ = sender.send(error);
            }
        })
    };
    let run = bench.guarded(setup, Making::Counted, Some(&hook))?;
    match failures.try_recv() {
        Ok(error) => Err(error),
        Err(_) => Ok(run),
    }
}

/// Seconds of a unit, on average.
fn mean(seconds: &[f64]) -> f64 {
    seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
}

/// Mean seconds of a unit under each plan, round by round.
struct Times {
    plans: Vec<Plan>,
    means: Vec<Vec<f64>>,
}

impl Times {
    fn new(plans: Vec<Plan>) -> Times {
        Times {
            means: vec![Vec::new(); plans.len()],
            plans,
        }
    }

    fn best(self) -> Option<BestFixed> {
        let mut near: Vec<(Plan, Vec<f64>)> = self.plans.into_iter().zip(self.means).collect();
        let median = |means: &[f64]| median_of(means.iter().copied());
        near.sort_by(|a, b| median(&a.1).total_cmp(&median(&b.1)));
        let (plan, rounds_s) = near.first().cloned()?;
        Some(BestFixed {
            plan,
            unit_s: median(&rounds_s),
            rounds_s,
            near: near
                .iter()
                .map(|(plan, means)| (*plan, median(means)))
                .collect(),
        })
    }
}

fn recovery(run: &Run, range: Range<usize>, best_s: f64) -> Recovery {
    let late = range.end - range.len() / 4..range.end;
    let windows = windows(&run.epochs, &run.seconds, range);
    Recovery {
        epochs: recovered(&windows, best_s / WELL),
        speed_after_target: speed_after(&windows, TARGET, best_s),
        speed: speed_after(&windows, 0, best_s).unwrap_or(0.0),
        epochs_in_all: windows.len(),
        plan: most_used(&run.epochs, &late).unwrap_or(run.plan),
    }
}

/// The plan of most of the units `range`.
fn most_used(epochs: &[EpochRun], range: &Range<usize>) -> Option<Plan> {
    let mut counts: Vec<(Plan, usize)> = Vec::new();
    for epoch in epochs {
        let end = (epoch.first + epoch.units).min(range.end);
        let units = end.saturating_sub(epoch.first.max(range.start));
        match counts.iter_mut().find(|c| c.0 == epoch.plan) {
            Some(count) => count.1 += units,
            None => counts.push((epoch.plan, units)),
        }
    }
    counts.into_iter().max_by_key(|c| c.1).map(|c| c.0)
}

pub(super) fn table(results: &[DisturbanceResult]) -> Table {
    let row = |r: &DisturbanceResult, change: &str, rounds: &[Recovery], best: &BestFixed| {
        let epochs = rounds
            .iter()
            .map(|r| r.epochs.map_or(f64::INFINITY, |n| n as f64));
        let speeds = rounds.iter().map(|r| r.speed_after_target.unwrap_or(0.0));
        let each: Vec<String> = rounds.iter().map(|r| epochs_text(r.epochs)).collect();
        vec![
            r.graph.clone(),
            r.size.clone(),
            r.frames.to_string(),
            change.to_owned(),
            match median_of(epochs) {
                n if n.is_finite() => format!("{n:.0}"),
                _ => "never".to_owned(),
            },
            each.join(" "),
            format!("{:.3}", median_of(speeds)),
            format!("{:.3}", median_of(rounds.iter().map(|r| r.speed))),
            format!("{:.4}", best.unit_s * 1e3),
            short(&best.plan),
            counted(rounds.iter().map(|r| r.plan)),
        ]
    };
    let both = |r: &DisturbanceResult| {
        [
            row(r, "taken", &r.taken, &r.loaded),
            row(r, "given back", &r.given_back, &r.quiet),
        ]
    };
    Table {
        title: "Another process takes a CPU in the middle third of a stream",
        about: format!(
            "Epochs of the tuner until a unit costs at most what the best fixed plan costs divided by {WELL}, over \
             five epochs and over all that follow; target {TARGET}. Speeds are relative to the best fixed plan under \
             the same load, in the same round: from epoch {TARGET} on, and over the whole third."
        ),
        head: vec![
            "graph",
            "size",
            "frames",
            "CPU",
            "epochs",
            "in each round",
            "speed after 20",
            "speed",
            "best ms",
            "best fixed",
            "auto used",
        ],
        rows: results.iter().flat_map(both).collect(),
    }
}

fn epochs_text(epochs: Option<usize>) -> String {
    epochs.map_or_else(|| "never".to_owned(), |n| n.to_string())
}

#[cfg(test)]
mod tests {
    use evener_image::structures::TILED;
    use evener_runtime::Dispatch;

    use super::*;

    fn plan(workers: u32) -> Plan {
        Plan {
            structure: &TILED,
            dispatch: Dispatch::Fifo,
            grain: 8,
            workers,
            devices: 0,
        }
    }

    #[test]
    fn the_plan_of_a_range_is_that_of_most_of_its_units() {
        let ran = |first, units, workers| EpochRun {
            first,
            units,
            plan: plan(workers),
        };
        let epochs = [ran(0, 10, 1), ran(10, 3, 2), ran(13, 1, 1), ran(14, 2, 2)];
        assert_eq!(most_used(&epochs, &(0..16)), Some(plan(1)));
        assert_eq!(most_used(&epochs, &(8..16)), Some(plan(2)));
        assert_eq!(most_used(&[], &(0..16)), None);
    }

    #[test]
    fn the_best_fixed_plan_is_that_of_the_lowest_median() {
        let mut times = Times::new(vec![plan(1), plan(2)]);
        times.means = vec![vec![1.0, 4.0, 4.0], vec![3.0, 3.0, 9.0]];
        let best = times.best().unwrap();
        assert_eq!((best.plan, best.unit_s), (plan(2), 3.0));
        assert_eq!(best.rounds_s, [3.0, 3.0, 9.0]);
        assert_eq!(best.near, [(plan(2), 3.0), (plan(1), 4.0)]);
        assert!(Times::new(Vec::new()).best().is_none());
    }

    #[test]
    fn most_rounds_without_recovery_are_shown_as_never() {
        let recovery = |epochs| Recovery {
            epochs,
            speed_after_target: Some(0.9),
            speed: 0.8,
            epochs_in_all: 100,
            plan: plan(2),
        };
        let best = BestFixed {
            plan: plan(1),
            unit_s: 1e-3,
            rounds_s: vec![1e-3; 3],
            near: Vec::new(),
        };
        let result = DisturbanceResult {
            graph: "A".into(),
            size: "1x1".into(),
            frames: 300,
            quiet: best.clone(),
            loaded: best,
            taken: vec![recovery(None), recovery(Some(3)), recovery(None)],
            given_back: vec![recovery(Some(1)), recovery(Some(3)), recovery(Some(9))],
            decisions: Vec::new(),
            processors: GuardReport::default(),
        };
        let rows = table(&[result]).rows;
        assert_eq!(rows[0][3..6], ["taken", "never", "never 3 never"]);
        assert_eq!(rows[1][3..6], ["given back", "3", "1 3 9"]);
    }
}
