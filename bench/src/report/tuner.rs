//! The sections of the tuner's report: a table for each part, and a chart of how near plan auto comes to the best.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::stats::distinct;
use crate::tuner::TunerReport;
use crate::tuner::auto::AutoResult;

/// A section for each part there are measurements of.
pub fn all(report: &TunerReport) -> Vec<Section> {
    let sizes = distinct(report.auto.iter().map(|r| r.size.as_str()));
    let charts = sizes.into_iter().map(|size| chart(&report.auto, size));
    let tables = of_tables(report.tables());
    charts.chain(tables).collect()
}

fn chart(results: &[AutoResult], size: &str) -> Section {
    let of_size: Vec<&AutoResult> = results.iter().filter(|r| r.size == size).collect();
    let series = |name: &str, value: fn(&AutoResult) -> f64| Series {
        name: name.to_owned(),
        values: of_size.iter().map(|r| Some(value(r))).collect(),
    };
    let graphs: Vec<String> = of_size.iter().map(|r| r.graph.clone()).collect();
    let series = [
        series("whole stream", |r| r.whole),
        series("last quarter", |r| r.last_quarter),
    ];
    Section {
        title: format!("Plan auto against the best fixed plan, {size}"),
        about: "Speed relative to the best fixed plan in hindsight. 1 is as fast.".into(),
        body: svg::bars(&graphs, &series, "of the best", Some(1.0)),
    }
}
