//! The sections of the gateway's report.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::gateway::{Drawn, GatewayReport};

/// The curves, and the table.
pub fn all(report: &GatewayReport) -> Vec<Section> {
    let drawn = report.drawn.iter().map(figure);
    drawn.chain(of_tables([report.table()])).collect()
}

fn figure(drawn: &Drawn) -> Section {
    let names: Vec<String> = drawn.at.iter().map(f64::to_string).collect();
    let line = |line: &crate::gateway::Line| Series {
        name: line.name.clone(),
        values: line.values.clone(),
    };
    let series: Vec<Series> = drawn.lines.iter().map(line).collect();
    Section {
        title: drawn.title.clone(),
        about: format!("{} Over {}.", drawn.about, drawn.over),
        body: svg::lines(&names, &series, drawn.unit),
    }
}
