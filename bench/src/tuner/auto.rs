//! Whole streams under plan auto, with learning, compared with the best fixed plan in hindsight.
//!
//! Fixed plans have the service's default grain and use all workers, unless other numbers of workers are asked for. Plan
//! auto may choose fewer workers and another grain, so it can be faster than every fixed plan.

use evener_runtime::stream::Search;
use evener_runtime::{Plan, Runtime};
use serde::Serialize;

use super::screen::{LeftOut, candidates, screen};
use super::stream::{Bench, Run};
use super::topology_guard::GuardReport;
use super::{ALL_PIPELINES, CIF, FULL_HD, Options, counted, frames, short, subjects};
use crate::error::Error;
use crate::stats::{median_of, paired_ratio, rotated};
use evener_report::Table;

/// Least speed of plan auto relative to the best fixed plan: over the whole stream, and over its last quarter.
pub const TARGET: (f64, f64) = (0.95, 0.98);

/// One graph at one size.
#[derive(Clone, Debug, Serialize)]
pub struct AutoResult {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// Frames of each stream.
    pub frames: u64,
    /// Speed of plan auto relative to the best fixed plan over whole streams: the median over rounds of the fixed plan's
    /// time divided by plan auto's.
    pub whole: f64,
    /// The same over the last quarter of the frames. The best fixed plan may be another one there.
    pub last_quarter: f64,
    /// The same over whole streams, relative to the plan that was best in the *other* rounds. Of many plans whose times vary,
    /// the best in hindsight was also the luckiest. `None` with a single round.
    #[serde(rename = "whole_foreseen")]
    pub whole_held_out: Option<f64>,
    /// The same over the last quarter.
    #[serde(rename = "last_quarter_foreseen")]
    pub last_quarter_held_out: Option<f64>,
    /// The fixed plan with the lowest median time.
    pub best: Plan,
    /// Median seconds of a whole stream under it.
    pub best_s: f64,
    /// The plan that is best over the last quarter.
    pub last_quarter_best: Plan,
    /// Plan auto, round by round.
    pub auto: Vec<AutoRound>,
    /// The fixed plans that ran whole streams.
    pub fixed: Vec<FixedTimes>,
    /// The fixed plans that did not.
    pub left_out: Vec<LeftOut>,
    /// How streams were kept comparable.
    pub processors: GuardReport,
}

/// A stream under plan auto. Times in seconds, by the clock.
#[derive(Clone, Debug, Serialize)]
pub struct AutoRound {
    /// The plan it ended on.
    pub plan: Plan,
    /// The whole stream, with the making of its buffers.
    pub whole_s: f64,
    /// The last quarter of the frames.
    pub last_quarter_s: f64,
    /// What the tuner was told that all frames cost.
    pub told_s: f64,
    /// What the search came to.
    pub search: Search,
    /// Every decision with its reason.
    pub decisions: Vec<String>,
}

/// Streams under a fixed plan, round by round. Times in seconds, as in [`AutoRound`].
#[derive(Clone, Debug, Serialize)]
pub struct FixedTimes {
    /// The plan.
    pub plan: Plan,
    /// The whole stream, with the making of its buffers.
    pub whole_s: Vec<f64>,
    /// The last quarter of the frames.
    pub last_quarter_s: Vec<f64>,
    /// What a tuner would have been told that all frames cost.
    pub told_s: Vec<f64>,
}

pub(super) fn run(
    options: &Options,
    runtime: &Runtime,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<AutoResult>, Error> {
    let all = [runtime.workers() as u32];
    let workers = match options.workers.as_slice() {
        [] => &all[..],
        some => some,
    };
    let subjects = subjects(options, runtime, ALL_PIPELINES, &[CIF, FULL_HD])?;
    let mut results = Vec::with_capacity(subjects.len());
    for subject in &subjects {
        let bench = Bench::new(runtime, subject);
        let frames = frames(options, subject.size);
        progress(&format!("{} {}, screening", subject.graph, subject.size));
        let screened = screen(&bench, candidates(&bench, workers), frames)?;
        let mut auto = Vec::new();
        let mut fixed: Vec<FixedTimes> = screened.near.into_iter().map(FixedTimes::new).collect();
        for round in 0..options.rounds {
            progress(&format!(
                "{} {}, round {}",
                subject.graph,
                subject.size,
                round + 1
            ));
            for turn in rotated(1 + fixed.len(), round) {
                match turn.checked_sub(1) {
                    None => auto.push(AutoRound::from(bench.auto(frames)?)),
                    Some(i) => {
                        let run = bench.fixed(&fixed[i].plan, frames)?;
                        fixed[i].push(&run);
                    }
                }
            }
        }
        let (graph, size) = (subject.graph.clone(), subject.size.to_string());
        results.extend(AutoResult::of(
            graph,
            size,
            frames,
            auto,
            fixed,
            screened.left_out,
            bench.guard.report(),
        ));
    }
    Ok(results)
}

impl AutoResult {
    /// `None` without a fixed plan.
    fn of(
        graph: String,
        size: String,
        frames: u64,
        auto: Vec<AutoRound>,
        fixed: Vec<FixedTimes>,
        left_out: Vec<LeftOut>,
        processors: GuardReport,
    ) -> Option<AutoResult> {
        let best = least(&fixed, |f| &f.whole_s)?;
        let last = least(&fixed, |f| &f.last_quarter_s)?;
        let of = |time: fn(&AutoRound) -> f64| auto.iter().map(time).collect::<Vec<f64>>();
        Some(AutoResult {
            graph,
            size,
            frames,
            whole: paired_ratio(&best.whole_s, &of(|a| a.whole_s)),
            last_quarter: paired_ratio(&last.last_quarter_s, &of(|a| a.last_quarter_s)),
            whole_held_out: held_out(&fixed, |f| &f.whole_s, &of(|a| a.whole_s)),
            last_quarter_held_out: held_out(
                &fixed,
                |f| &f.last_quarter_s,
                &of(|a| a.last_quarter_s),
            ),
            best: best.plan,
            best_s: median_of(best.whole_s.iter().copied()),
            last_quarter_best: last.plan,
            auto,
            fixed,
            left_out,
            processors,
        })
    }
}

/// The plan with the lowest median over rounds.
fn least(fixed: &[FixedTimes], times: fn(&FixedTimes) -> &[f64]) -> Option<&FixedTimes> {
    let cost = |f: &FixedTimes| median_of(times(f).iter().copied());
    fixed.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// The median over rounds of plan auto's speed relative to the plan with the lowest median in all other rounds.
fn held_out(fixed: &[FixedTimes], times: fn(&FixedTimes) -> &[f64], auto: &[f64]) -> Option<f64> {
    let chosen = |round: usize| {
        let elsewhere = |f: &FixedTimes| {
            let others = times(f).iter().enumerate().filter(|&(r, _)| r != round);
            median_of(others.map(|(_, &t)| t))
        };
        fixed
            .iter()
            .min_by(|a, b| elsewhere(a).total_cmp(&elsewhere(b)))
            .map(|f| times(f)[round])
    };
    let of_rounds: Option<Vec<f64>> = (0..auto.len()).map(chosen).collect();
    let of_rounds = of_rounds.filter(|rounds| rounds.len() > 1)?;
    Some(paired_ratio(&of_rounds, auto))
}

impl From<Run> for AutoRound {
    fn from(run: Run) -> AutoRound {
        AutoRound {
            plan: run.plan,
            whole_s: run.whole_s,
            last_quarter_s: run.last_quarter_s(),
            told_s: run.told_s,
            search: run.search,
            decisions: run.decisions,
        }
    }
}

impl FixedTimes {
    fn new(plan: Plan) -> FixedTimes {
        FixedTimes {
            plan,
            whole_s: Vec::new(),
            last_quarter_s: Vec::new(),
            told_s: Vec::new(),
        }
    }

    fn push(&mut self, run: &Run) {
        self.whole_s.push(run.whole_s);
        self.last_quarter_s.push(run.last_quarter_s());
        self.told_s.push(run.told_s);
    }
}

pub(super) fn table(results: &[AutoResult]) -> Table {
    let ratio = |r: Option<f64>| r.map_or_else(String::new, |r| format!("{r:.3}"));
    let row = |r: &AutoResult| {
        vec![
            r.graph.clone(),
            r.size.clone(),
            r.frames.to_string(),
            format!("{:.3}", r.whole),
            format!("{:.3}", r.last_quarter),
            ratio(r.whole_held_out),
            ratio(r.last_quarter_held_out),
            format!("{:.4}", r.best_s * 1e3 / r.frames as f64),
            short(&r.best),
            counted(r.auto.iter().map(|a| a.plan)),
        ]
    };
    Table {
        title: "Plan auto beside the best fixed plan",
        about: format!(
            "Speed relative to the best fixed plan in hindsight; targets {} for the whole stream, with learning and the \
             making of buffers, and {} for its last quarter. Held out: relative to the plan that was best in the other \
             rounds.",
            TARGET.0, TARGET.1
        ),
        head: vec![
            "graph",
            "size",
            "frames",
            "whole",
            "last quarter",
            "held out",
            "its last quarter",
            "best ms",
            "best fixed",
            "auto ended on",
        ],
        rows: results.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use evener_image::structures::TILED;
    use evener_runtime::Dispatch;

    use super::*;

    fn fixed(grain: u32, whole: &[f64], last: &[f64]) -> FixedTimes {
        FixedTimes {
            plan: Plan {
                structure: &TILED,
                dispatch: Dispatch::Fifo,
                grain,
                workers: 2,
                devices: 0,
            },
            whole_s: whole.into(),
            last_quarter_s: last.into(),
            told_s: whole.into(),
        }
    }

    fn auto(whole_s: f64, last_quarter_s: f64) -> AutoRound {
        AutoRound {
            plan: fixed(1, &[], &[]).plan,
            whole_s,
            last_quarter_s,
            told_s: whole_s,
            search: Search {
                epochs: 1,
                plans_tried: 1,
                switches: 0,
                drifts: 0,
                exploring_s: 0.0,
            },
            decisions: Vec::new(),
        }
    }

    fn of(auto: Vec<AutoRound>, fixed: Vec<FixedTimes>) -> Option<AutoResult> {
        let processors = GuardReport::default();
        AutoResult::of("A".into(), "1x1".into(), 3, auto, fixed, vec![], processors)
    }

    #[test]
    fn the_best_is_that_of_the_median_and_ratios_are_of_rounds() {
        let rounds = vec![auto(10.0, 2.0), auto(20.0, 4.0), auto(10.0, 2.0)];
        let plans = vec![
            // Once very fast, in the middle slower.
            fixed(1, &[1.0, 19.0, 9.5], &[1.5, 3.0, 1.5]),
            fixed(2, &[9.0, 18.0, 9.0], &[2.0, 4.0, 2.0]),
        ];
        let result = of(rounds, plans).unwrap();
        assert_eq!((result.best.grain, result.last_quarter_best.grain), (2, 1));
        assert_eq!((result.whole, result.last_quarter), (0.9, 0.75));
        // Held out, the second and third round make the first plan look better than it was.
        assert_eq!(result.whole_held_out, Some(0.95));
        assert_eq!(result.last_quarter_held_out, Some(0.75));
        let row = &table(&[result]).rows[0];
        assert_eq!(row[3..5], ["0.900", "0.750"]);
    }

    #[test]
    fn without_fixed_plans_there_is_no_result() {
        assert!(of(vec![], vec![]).is_none());
    }
}
