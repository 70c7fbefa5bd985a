//! The sections of the encryption benchmark's report.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::crypt::{Body, CryptReport, CryptResult, Dispatcher};
use crate::stats::distinct;

/// A chart for each size of jobs that tells flavours apart, and the table.
pub fn all(report: &CryptReport) -> Vec<Section> {
    let workers = distinct(report.results.iter().map(|r| r.workers));
    let charts = workers.into_iter().map(|workers| chart(report, workers));
    charts.chain(of_tables([report.table()])).collect()
}

fn chart(report: &CryptReport, workers: u32) -> Section {
    let jobs = distinct(report.results.iter().map(|r| r.job));
    let of_workers = |r: &&CryptResult| r.workers == workers && r.body != Body::Nothing;
    let mut ways: Vec<(Body, _, Dispatcher)> = Vec::new();
    for r in report.results.iter().filter(of_workers) {
        let way = (r.body, r.dispatch, r.dispatcher);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let series: Vec<Series> = ways
        .into_iter()
        .map(|way| Series {
            name: match way {
                (Body::Copy, ..) => "copy".to_owned(),
                (_, dispatch, Dispatcher::Busy) => format!("{dispatch}, busy"),
                (_, dispatch, Dispatcher::Idle) => format!("{dispatch}, idle"),
            },
            values: jobs
                .iter()
                .map(|&job| {
                    let mut found = report.results.iter().filter(of_workers);
                    let found =
                        found.find(|r| r.job == job && (r.body, r.dispatch, r.dispatcher) == way);
                    found.map(|r| r.gb_per_s)
                })
                .collect(),
        })
        .collect();
    let names: Vec<String> = jobs.iter().map(|&job| crate::crypt::size(job)).collect();
    let plural = if workers == 1 { "" } else { "s" };
    Section {
        title: format!("Throughput by size of jobs, {workers} worker{plural}"),
        about: "Busy: the thread that hands jobs out is one of the workers; idle: it waits beside them.".into(),
        body: svg::lines(&names, &series, "GB/s"),
    }
}
