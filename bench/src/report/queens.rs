//! The sections of the report on n-queens.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::queens::{PREDICTED_WORKERS, QueensReport};
use crate::stats::distinct;

/// What is predicted for each board, and the tables.
pub fn all(report: &QueensReport) -> Vec<Section> {
    let boards = distinct(report.results.iter().map(|r| r.n));
    let tables = of_tables(report.tables());
    let predicted = boards.into_iter().map(|n| predicted(report, n));
    predicted.chain(tables).collect()
}

fn predicted(report: &QueensReport, n: u32) -> Section {
    let own = report.results.iter().filter(|r| r.n == n);
    let series: Vec<Series> = own
        .map(|r| Series {
            name: r.split.to_owned(),
            values: PREDICTED_WORKERS
                .iter()
                .map(|&workers| r.prediction(workers))
                .collect(),
        })
        .collect();
    let names: Vec<String> = PREDICTED_WORKERS.iter().map(u32::to_string).collect();
    Section {
        title: format!("Predicted gain by workers, N = {n}"),
        about: "Jobs of the measured lengths played in virtual time on workers that are equal and do not slow one another \
                down."
            .into(),
        body: svg::lines(&names, &series, "times"),
    }
}
