//! The sections of the report; each is one figure or table of Espeland et al. for this machine.

use std::fmt::Write;

use evener_image::structures::{
    self, BACKWARD, BACKWARD_CACHED, BACKWARD_STORE, BATCHED, FARM, SEQUENTIAL, TILED,
};
use evener_report::svg::{self, Series};
use evener_report::{Section, escape};
use evener_runtime::{Placement, Structure};

use crate::filters::{FilterReport, FilterResult, OpsRow};
use crate::stats::distinct;
use crate::table3;

/// Every section there are measurements for.
pub fn all(report: &FilterReport) -> Vec<Section> {
    let mut sections = Vec::new();
    for size in distinct(report.results.iter().map(|r| r.size.as_str())) {
        let data = Data { report, size };
        sections.extend(data.auto());
        sections.extend(data.structures());
        sections.extend(data.scaling());
        sections.extend(data.store());
        sections.extend(data.affinity());
    }
    sections.extend(operations(&report.ops));
    sections.push(table(report));
    sections
}

/// The results of one frame size.
struct Data<'a> {
    report: &'a FilterReport,
    size: &'a str,
}

impl Data<'_> {
    fn results(&self) -> impl Iterator<Item = &FilterResult> {
        self.report.results.iter().filter(|r| r.size == self.size)
    }

    fn graphs(&self) -> Vec<String> {
        distinct(self.results().map(|r| r.graph.clone()))
    }

    fn workers(&self) -> Vec<u32> {
        distinct(self.results().map(|r| r.workers))
    }

    /// The best median of a structure over its dispatch flavours, without placement.
    fn time(&self, graph: &str, structure: &'static Structure, workers: u32) -> Option<f64> {
        self.results()
            .filter(|r| r.graph == graph && r.workers == workers && r.affinity.is_none())
            .filter(|r| r.plan != "auto" && r.structure == structure)
            .map(|r| r.ms.median)
            .min_by(f64::total_cmp)
    }

    fn auto_time(&self, graph: &str, workers: u32) -> Option<f64> {
        self.results()
            .find(|r| {
                r.graph == graph && r.workers == workers && r.plan == "auto" && r.affinity.is_none()
            })
            .map(|r| r.ms.median)
    }

    fn best(&self, graph: &str, workers: u32) -> Option<f64> {
        structures::ALL
            .into_iter()
            .filter_map(|s| self.time(graph, s, workers))
            .min_by(f64::total_cmp)
    }

    fn auto(&self) -> Option<Section> {
        let workers = *self.workers().last()?;
        let graphs = self.graphs();
        let share = |g: &String| Some(self.best(g, workers)? / self.auto_time(g, workers)?);
        let values: Vec<_> = graphs.iter().map(share).collect();
        if values.iter().all(Option::is_none) {
            return None;
        }
        let series = [Series {
            name: "auto".into(),
            values,
        }];
        Some(Section {
            title: format!("Plan auto against the best fixed plan, {}", self.size),
            about: format!(
                "Speed of the plan the tuner found, over the last quarter of the stream, relative to the best plan \
                 in hindsight; {workers} workers. 1 is as fast."
            ),
            body: svg::bars(&graphs, &series, "of the best", Some(1.0)),
        })
    }

    fn structures(&self) -> Option<Section> {
        let (first, last) = (*self.workers().first()?, *self.workers().last()?);
        let graphs = self.graphs();
        let shown = [
            &SEQUENTIAL,
            &BACKWARD,
            &BACKWARD_CACHED,
            &TILED,
            &FARM,
            &BATCHED,
        ];
        let series: Vec<Series> = shown
            .iter()
            .map(|&s| Series {
                name: s.name.into(),
                values: graphs
                    .iter()
                    .map(|g| Some(self.time(g, s, last)? / self.time(g, &SEQUENTIAL, first)?))
                    .collect(),
            })
            .filter(|s| s.values.iter().any(Option::is_some))
            .collect();
        (series.len() > 1).then(|| Section {
            title: format!("Structures, {} (their figures 4 and 6)", self.size),
            about: format!(
                "Time with {} relative to sequential with {first}; lower is better. Bars beyond the axis \
                 are cut and carry their value.",
                of_workers(last)
            ),
            body: svg::bars(&graphs, &series, "relative time", Some(1.0)),
        })
    }

    fn scaling(&self) -> Option<Section> {
        let workers = self.workers();
        let graph = "B";
        let series: Vec<Series> = [&SEQUENTIAL, &BACKWARD, &TILED]
            .iter()
            .map(|&s| Series {
                name: s.name.into(),
                values: workers
                    .iter()
                    .map(|&w| Some(self.time(graph, s, workers[0])? / self.time(graph, s, w)?))
                    .collect(),
            })
            .filter(|s| s.values.iter().any(Option::is_some))
            .collect();
        let names: Vec<String> = workers.iter().map(|&w| of_workers(w)).collect();
        (workers.len() > 1 && !series.is_empty()).then(|| Section {
            title: format!(
                "Scaling of pipeline B, {} (their figures 2 and 3)",
                self.size
            ),
            about: format!(
                "Speed-up, each structure relative to itself with {}.",
                of_workers(workers[0])
            ),
            body: svg::lines(&names, &series, "speed-up"),
        })
    }

    fn store(&self) -> Option<Section> {
        let workers = self.workers();
        let shown = [&SEQUENTIAL, &BACKWARD, &BACKWARD_STORE];
        let groups: Vec<(String, &str, u32)> = ["D", "G"]
            .into_iter()
            .flat_map(|g| {
                workers
                    .iter()
                    .map(move |&w| (format!("{g}, {}", of_workers(w)), g, w))
            })
            .collect();
        let series: Vec<Series> = shown
            .iter()
            .map(|&s| Series {
                name: s.name.into(),
                values: groups.iter().map(|(_, g, w)| self.time(g, s, *w)).collect(),
            })
            .collect();
        let has_store = series[2].values.iter().any(Option::is_some);
        let names: Vec<String> = groups.into_iter().map(|(name, ..)| name).collect();
        has_store.then(|| Section {
            title: format!("Storing what backward computes, {} (their figure 5)", self.size),
            about: "Separates locality from memory traffic: backward-store writes intermediates that no stage reads.".into(),
            body: svg::bars(&names, &series, "ms a frame", None),
        })
    }

    fn affinity(&self) -> Option<Section> {
        let workers = self.workers();
        let series: Vec<Series> = Placement::ALL
            .iter()
            .map(|&p| Series {
                name: p.name().into(),
                values: workers
                    .iter()
                    .map(|&w| {
                        self.results()
                            .filter(|r| {
                                r.graph == "B"
                                    && r.workers == w
                                    && r.affinity == Some(p)
                                    && r.structure == &SEQUENTIAL
                            })
                            .map(|r| r.ms.median)
                            .min_by(f64::total_cmp)
                    })
                    .collect(),
            })
            .filter(|s| s.values.iter().any(Option::is_some))
            .collect();
        let names: Vec<String> = workers.iter().map(|&w| of_workers(w)).collect();
        (!series.is_empty()).then(|| Section {
            title: format!(
                "Where the frame was written, {} (their figure 7)",
                self.size
            ),
            about: "Pipeline B, sequential; an I/O thread writes each frame before it is computed."
                .into(),
            body: svg::bars(&names, &series, "ms a frame", None),
        })
    }
}

fn of_workers(workers: u32) -> String {
    match workers {
        1 => "1 worker".into(),
        more => format!("{more} workers"),
    }
}

fn operations(ops: &[OpsRow]) -> Option<Section> {
    if ops.is_empty() {
        return None;
    }
    let mut body = String::from(
        "<table><tr><th>pipeline<th class=text>size<th class=text>structure<th class=text>stage<th>here<th>printed\
         <th>more than printed",
    );
    for row in ops {
        let printed = table3::printed(row).map_or("<td>".into(), |printed| {
            let more = (row.ops / printed - 1.0) * 100.0;
            format!("{printed:.2}<td>{more:+.1} %")
        });
        let _ = write!(
            body,
            "<tr><td>{}<td class=text>{}<td class=text>{}<td class=text>{}<td>{:.2}<td>{printed}",
            escape(&row.graph),
            row.size,
            row.structure,
            row.stage,
            row.ops
        );
    }
    body.push_str("</table>");
    Some(Section {
        title: "Operations per sample (their Table III)".into(),
        about: "Samples a stage reads per sample of the input frame. The printed figures are those of frames of 16:9; \
                how much of a turned frame lies inside depends on its shape, so at 352x288 the pipelines that turn by \
                30 or 60 degrees read more. Crop is printed per sample of its own output, which is 0.64 of the input."
            .into(),
        body,
    })
}

fn table(report: &FilterReport) -> Section {
    let mut body = String::from(
        "<table><tr><th>graph<th class=text>size<th class=text>plan<th>workers<th>median ms<th>p99 ms\
         <th>mean of all ms<th class=text>ended with",
    );
    for r in &report.results {
        let affinity = r.affinity.map(|a| format!(", {a}")).unwrap_or_default();
        let _ = write!(
            body,
            "<tr><td>{}<td class=text>{}<td class=text>{}{affinity}<td>{}<td>{:.3}<td>{:.3}<td>{:.3}\
             <td class=text>{} \u{b7} {} \u{b7} {}",
            escape(&r.graph),
            r.size,
            escape(&r.plan),
            r.workers,
            r.ms.median,
            r.ms.p99,
            r.whole_ms_mean,
            r.structure,
            r.dispatch,
            r.grain
        );
    }
    body.push_str("</table>");
    Section {
        title: "All measurements".into(),
        about: format!("{} of them.", report.results.len()),
        body,
    }
}

#[cfg(test)]
mod tests {
    use evener_runtime::Dispatch;

    use super::*;
    use crate::filters::Milliseconds;

    fn result(
        graph: &str,
        plan: &str,
        structure: &'static Structure,
        workers: u32,
        ms: f64,
    ) -> FilterResult {
        FilterResult {
            graph: graph.into(),
            size: "352x288".into(),
            plan: plan.into(),
            structure,
            dispatch: Dispatch::Fifo,
            grain: 1,
            workers,
            workers_used: workers,
            affinity: None,
            frames: 30,
            ms: Milliseconds {
                min: ms,
                median: ms,
                mean: ms,
                p99: ms,
            },
            whole_ms_mean: ms,
            sha256: String::new(),
        }
    }

    fn report(results: Vec<FilterResult>) -> FilterReport {
        FilterReport {
            machine: String::new(),
            version: "",
            results,
            ops: vec![OpsRow {
                graph: "B".into(),
                size: "352x288".into(),
                structure: &BACKWARD,
                stage: "undistort",
                ops: 10.752,
            }],
        }
    }

    fn section<'a>(sections: &'a [Section], title: &str) -> &'a str {
        let found = sections.iter().find(|s| s.title.contains(title));
        &found.unwrap_or_else(|| panic!("no section {title}")).body
    }

    #[test]
    fn every_figure_and_the_table_of_the_publication_are_drawn_from_what_was_measured() {
        let mut results = Vec::new();
        for graph in ["B", "D"] {
            for (workers, times) in [(1, [8.0, 4.0, 6.0]), (2, [4.0, 2.5, 3.0])] {
                let structures = [&SEQUENTIAL, &BACKWARD, &BACKWARD_STORE];
                for (structure, ms) in structures.into_iter().zip(times) {
                    results.push(result(graph, structure.name, structure, workers, ms));
                }
                results.push(result(graph, "auto", &BACKWARD, workers, 5.0));
            }
        }
        for (i, placement) in Placement::ALL.into_iter().enumerate() {
            results.push(FilterResult {
                affinity: Some(placement),
                ..result("B", "sequential", &SEQUENTIAL, 2, 7.0 + i as f64)
            });
        }
        let sections = all(&report(results));
        // 2.5 ms where plan auto took 5; 8 / 4 and 4 / 2.5 times as fast on two workers; 2.5 of 8 ms.
        for (title, shown) in [
            ("best fixed plan", vec!["0.50"]),
            ("figures 2 and 3", vec!["2.00", "1.60"]),
            ("figures 4 and 6", vec!["0.31", "0.50"]),
            ("figure 5", vec!["6.0", "3.0"]),
            ("figure 7", vec!["7.0", "8.0"]),
            ("Table III", vec!["10.75", "10.24", "+5.0 %"]),
            ("All measurements", vec!["backward-store"]),
        ] {
            let body = section(&sections, title);
            for text in shown {
                assert!(body.contains(text), "{title}: no {text} in {body}");
            }
        }
    }

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        let mut report = report(vec![result("A", "tiled", &TILED, 2, 1.0)]);
        report.ops.clear();
        let titles: Vec<String> = all(&report).into_iter().map(|s| s.title).collect();
        assert_eq!(titles, ["All measurements"]);
    }
}
