//! The sections of the report on n-queens.

use super::sections::{Section, of_tables};
use super::svg::{self, Series};
use crate::queens::{FORESEEN, QueensReport};
use crate::stats::distinct;

/// What is foreseen for each board, and the tables.
pub fn all(report: &QueensReport) -> Vec<Section> {
    let boards = distinct(report.results.iter().map(|r| r.n));
    let tables = of_tables(report.tables());
    let foreseen = boards.into_iter().map(|n| foreseen(report, n));
    foreseen.chain(tables).collect()
}

fn foreseen(report: &QueensReport, n: u32) -> Section {
    let own = report.results.iter().filter(|r| r.n == n);
    let series: Vec<Series> = own
        .map(|r| Series {
            name: r.split.to_owned(),
            values: FORESEEN
                .iter()
                .map(|&workers| r.foretold(workers))
                .collect(),
        })
        .collect();
    let names: Vec<String> = FORESEEN.iter().map(u32::to_string).collect();
    Section {
        title: format!("Foreseen gain by workers, N = {n}"),
        about: "Jobs of the measured lengths played in virtual time on workers that are equal and do not slow one another \
                down."
            .into(),
        body: svg::lines(&names, &series, "times"),
    }
}
