//! The figures as tables: the two that were published, and what is predicted.

use super::{ProductReport, ProductResult, System};
use crate::stats::paired_ratio;
use evener_report::Table;

impl ProductReport {
    /// All tables, in the order they are read.
    pub fn tables(&self) -> Vec<Table> {
        vec![
            self.systems(),
            self.by_length(),
            self.outlook(),
            self.passes(),
        ]
    }

    /// Systems on the longest stream: time, processor time and what was gained by them.
    fn systems(&self) -> Table {
        let longest = self.lengths().last().copied().unwrap_or(0);
        let single = self.single(longest);
        let row = |r: &ProductResult| {
            let gain = self.gain(r).unwrap_or(1.0);
            let spent = single.map_or(1.0, |s| {
                paired_ratio(&r.processor_seconds, &s.processor_seconds)
            });
            vec![
                r.system.name().to_owned(),
                r.workers.to_string(),
                format!("{:.2}", r.median_s() * 1e3),
                format!("{:.2}", r.processor_s() * 1e3),
                format!("{gain:.3}"),
                format!("{:.3}", gain / f64::from(r.workers)),
                format!("{:.3}", gain / spent),
                self.possible(r)
                    .map_or_else(String::new, |most| format!("{:.3}", gain / most)),
                r.predicted_over_measured()
                    .map_or_else(String::new, |ratio| format!("{ratio:.3}")),
                plan(r),
            ]
        };
        Table {
            title: "Product cipher: one worker, pipelines and a farm",
            about: format!(
                "{longest} blocks in units of {}, {}, {} rounds in which everything takes turns; medians, gains by \
                 rounds. Gain per processor time: the gain divided by the processor time relative to one worker's. Of possible: \
                 the gain relative to what as many workers gain that have nothing to do with one another. Predicted over \
                 measured: from what passes cost right before, on as many workers at once, and what reading and writing \
                 units does.",
                self.single(longest).map_or(0, |s| s.unit),
                self.simd,
                self.rounds
            ),
            head: vec![
                "system",
                "workers",
                "ms",
                "CPU ms",
                "gain",
                "per worker",
                "per CPU time",
                "of possible",
                "predicted/measured",
                "ran as",
            ],
            rows: self
                .results
                .iter()
                .filter(|r| r.blocks == longest)
                .map(row)
                .collect(),
        }
    }

    /// How much so many workers could gain if each ran all passes by itself: less than their number where the machine
    /// slows them down together.
    fn possible(&self, r: &ProductResult) -> Option<f64> {
        let whole = |workers| {
            let mut costs = self.costs.iter();
            let known = costs.find(|c| (c.blocks, c.workers) == (r.blocks, workers));
            known.map(|costs| costs.block.whole())
        };
        Some(f64::from(r.workers) * whole(1)? / whole(r.workers)?)
    }

    /// Gains by length of the stream, measured and predicted.
    fn by_length(&self) -> Table {
        let mut rows = Vec::new();
        for blocks in self.lengths() {
            let Some(single) = self.single(blocks) else {
                continue;
            };
            let own = self.results.iter().filter(|r| r.blocks == blocks);
            for r in own {
                let predicted = paired_ratio(&single.predicted_seconds, &r.predicted_seconds);
                rows.push(vec![
                    blocks.to_string(),
                    r.unit.to_string(),
                    blocks.div_ceil(r.unit).to_string(),
                    r.system.name().to_owned(),
                    r.workers.to_string(),
                    format!("{:.1}", r.median_s() * 1e6),
                    format!("{:.3}", paired_ratio(&single.seconds, &r.seconds)),
                    match r.predicted_over_measured() {
                        Some(_) => format!("{predicted:.3}"),
                        None => String::new(),
                    },
                    r.predicted_over_measured()
                        .map_or_else(String::new, |ratio| format!("{ratio:.3}")),
                ]);
            }
        }
        Table {
            title: "By length of the stream",
            about: "From the first block read to the last one written, threads that sleep at first included. Where units \
                    are few, filling and draining a pipeline shows, and half a round of a farm. The published stream had 22 \
                    units of one block, and its five processors gained 4.448."
                .into(),
            head: vec![
                "blocks",
                "unit",
                "units",
                "system",
                "workers",
                "us",
                "gain",
                "predicted",
                "predicted/measured",
            ],
            rows,
        }
    }

    /// What is predicted on other numbers of workers.
    fn outlook(&self) -> Table {
        let row = |f: &super::Prediction| {
            let two = |gain: f64| format!("{gain:.2}");
            vec![
                f.workers.to_string(),
                two(f.equal),
                f.published.map_or_else(String::new, two),
                two(f.balanced),
                two(f.farm),
                two(f.balanced_22),
                two(f.farm_22),
                stages(&f.ends),
            ]
        };
        Table {
            title: "Predicted on equal workers",
            about: "Gains over one worker that follow from what passes cost on one worker alone, if workers do not slow one \
                    another down and handing over is free; on long streams, and on 22 units. The published stages are IDEA 10, \
                    IDEA 10, Skipjack 12, Skipjack 12, Raiden 20."
                .into(),
            head: vec![
                "workers",
                "equal",
                "published stages",
                "balanced",
                "farm",
                "balanced, 22",
                "farm, 22",
                "passes of each stage",
            ],
            rows: self.predicted.iter().map(row).collect(),
        }
    }

    /// What passes cost.
    fn passes(&self) -> Table {
        let row = |c: &super::PassCosts| {
            let nanoseconds = |seconds: f64| format!("{:.2}", seconds * 1e9);
            let pairs = c.block.more.into_iter().zip(c.block.first);
            let mut cells = vec![c.unit.to_string(), c.workers.to_string()];
            cells.extend(pairs.flat_map(|(more, first)| [nanoseconds(more), nanoseconds(first)]));
            cells.push(nanoseconds(c.block.whole()));
            cells
        };
        Table {
            title: "What a pass costs",
            about: "Nanoseconds for a block, of a pass that follows one of the same cipher, of one that does not, and of all \
                    64; on one worker alone and on several at once."
                .into(),
            head: vec![
                "unit", "workers", "idea", "first", "skipjack", "first", "raiden", "first", "all",
            ],
            rows: self.costs.iter().map(row).collect(),
        }
    }
}

fn plan(r: &ProductResult) -> String {
    match r.system {
        System::Single => "-".to_owned(),
        _ => format!("{}/{}/{}", r.plan.structure, r.plan.dispatch, r.plan.grain),
    }
}

/// Passes of each stage, where they are few enough to be read.
fn stages(ends: &[u32]) -> String {
    const READABLE: usize = 12;
    if ends.len() > READABLE {
        return String::new();
    }
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let passes = begins
        .zip(ends)
        .map(|(begin, end)| (end - begin).to_string());
    passes.collect::<Vec<_>>().join(" ")
}
