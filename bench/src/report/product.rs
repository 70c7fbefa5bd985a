//! The sections of the product cipher's report.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::product::{Prediction, ProductReport, System};

/// Gains by length, what is predicted, and the tables.
pub fn all(report: &ProductReport) -> Vec<Section> {
    let tables = of_tables(report.tables());
    [by_length(report), outlook(&report.predicted)]
        .into_iter()
        .chain(tables)
        .collect()
}

fn by_length(report: &ProductReport) -> Section {
    let lengths = report.lengths();
    let mut ways: Vec<(System, u32)> = Vec::new();
    for r in &report.results {
        if r.system != System::Single && !ways.contains(&(r.system, r.workers)) {
            ways.push((r.system, r.workers));
        }
    }
    let gain = |way: (System, u32), blocks: u64| {
        let mut own = report.results.iter().filter(|r| r.blocks == blocks);
        report.gain(own.find(|r| (r.system, r.workers) == way)?)
    };
    let series: Vec<Series> = ways
        .into_iter()
        .map(|way| Series {
            name: format!("{} on {}", way.0.name(), way.1),
            values: lengths.iter().map(|&blocks| gain(way, blocks)).collect(),
        })
        .collect();
    let names: Vec<String> = lengths.iter().map(u64::to_string).collect();
    Section {
        title: "Gain over one worker by length of the stream".into(),
        about: "Blocks of 8 bytes, from the first one read to the last one written.".into(),
        body: svg::lines(&names, &series, "times"),
    }
}

fn outlook(predicted: &[Prediction]) -> Section {
    let names: Vec<String> = predicted.iter().map(|f| f.workers.to_string()).collect();
    let series = |name: &str, of: fn(&Prediction) -> f64| Series {
        name: name.to_owned(),
        values: predicted.iter().map(|f| Some(of(f))).collect(),
    };
    let series = [
        series("equal pipeline", |f| f.equal),
        series("balanced pipeline", |f| f.balanced),
        series("farm", |f| f.farm),
        series("balanced, 22 units", |f| f.balanced_22),
        series("farm, 22 units", |f| f.farm_22),
    ];
    Section {
        title: "Predicted gain by workers".into(),
        about: "From what passes cost on one worker alone; workers that are equal and do not slow one another down.".into(),
        body: svg::lines(&names, &series, "times"),
    }
}
