//! The figures as tables.

use super::{QueensReport, SplitResult};
use crate::stats::paired_ratio;
use evener_report::Table;

impl SplitResult {
    /// Gain of a run over one worker, round by round.
    pub fn gain(&self, workers: u32) -> Option<f64> {
        let of = |workers| self.runs.iter().find(|run| run.workers == workers);
        Some(paired_ratio(&of(1)?.seconds, &of(workers)?.seconds))
    }

    /// What is predicted for so many workers.
    pub fn prediction(&self, workers: u32) -> Option<f64> {
        let mut predicted = self.predicted.iter();
        predicted.find(|f| f.workers == workers).map(|f| f.gain)
    }
}

impl QueensReport {
    /// All tables, in the order they are read.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.measured(), self.outlook(), self.jobs()]
    }

    fn measured(&self) -> Table {
        let rows = self.results.iter().flat_map(|r| {
            r.runs.iter().map(|run| {
                let two = |gain: Option<f64>| gain.map_or_else(String::new, |g| format!("{g:.3}"));
                vec![
                    r.n.to_string(),
                    r.split.to_owned(),
                    run.workers.to_string(),
                    format!("{:.4}", run.median_s()),
                    two(r.gain(run.workers)),
                    two(r.prediction(run.workers)),
                ]
            })
        });
        Table {
            title: "Counting on this machine",
            about: format!(
                "{}, {} rounds in which everything takes turns; medians, gains over one worker by rounds. Predicted: from \
                 what each job takes alone.",
                self.simd, self.rounds
            ),
            head: vec!["N", "split", "workers", "s", "gain", "predicted"],
            rows: rows.collect(),
        }
    }

    fn outlook(&self) -> Table {
        let rows = self.results.iter().flat_map(|r| {
            r.predicted.iter().map(|f| {
                vec![
                    r.n.to_string(),
                    r.split.to_owned(),
                    f.workers.to_string(),
                    format!("{:.2}", f.gain),
                    format!("{:.3}", f.gain / f64::from(f.workers)),
                ]
            })
        });
        Table {
            title: "Predicted on equal workers",
            about: "Jobs of the measured lengths played in virtual time, each worker taking the next when it is done, if \
                    workers do not slow one another down and handing over is free."
                .into(),
            head: vec!["N", "split", "workers", "gain", "per worker"],
            rows: rows.collect(),
        }
    }

    fn jobs(&self) -> Table {
        let row = |r: &SplitResult| {
            let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
            let all: f64 = r.job_seconds.iter().sum();
            let largest = r.job_seconds.iter().copied().fold(0.0, f64::max);
            vec![
                r.n.to_string(),
                r.split.to_owned(),
                r.total.to_string(),
                r.job_seconds.len().to_string(),
                ms(all),
                ms(all / r.job_seconds.len().max(1) as f64),
                ms(largest),
            ]
        };
        Table {
            title: "Jobs",
            about: "On one thread, the least time of each job over rounds. The coarse ways search the whole board, halved \
                    by its mirror image; constellations are one of each class under rotation and reflection."
                .into(),
            head: vec!["N", "split", "solutions", "jobs", "all ms", "mean ms", "largest ms"],
            rows: self.results.iter().map(row).collect(),
        }
    }
}
