//! The sections of the network stack's report.

use evener_report::svg::{self, Series};
use evener_report::{Section, of_tables};

use crate::net::{Drawn, NetReport};

/// The published figures for this machine, and the table.
pub fn all(report: &NetReport) -> Vec<Section> {
    let drawn = report.drawn.iter().map(figure);
    drawn.chain(of_tables([report.table()])).collect()
}

fn figure(drawn: &Drawn) -> Section {
    let names: Vec<String> = drawn.sizes.iter().map(u32::to_string).collect();
    let line = |line: &crate::net::Line| Series {
        name: line.name.clone(),
        values: line.values.iter().copied().map(Some).collect(),
    };
    let series: Vec<Series> = drawn.lines.iter().map(line).collect();
    Section {
        title: format!("Figure {}: {}", drawn.number, drawn.name),
        about: format!(
            "Two engines over shared memory, packets without offload; throughput of payload by bytes of the {}.",
            drawn.over
        ),
        body: svg::lines(&names, &series, "Gbit/s"),
    }
}
