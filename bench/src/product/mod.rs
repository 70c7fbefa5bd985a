//! `evener bench product`: a cipher of 64 passes on one worker, in pipelines and in a farm, measured and predicted.
//!
//! Nawinne and others measured on processors of their own design how much a pipeline of unlike stages gains over one
//! processor, and at what price. Their price was chip area and power; here it is workers and processor time. Predictions
//! follow from the cost of each pass alone, so there are some for other numbers of workers, too.
#![forbid(unsafe_code)]

mod costs;
mod endpoints;
mod fixed_stages;
mod predict;
mod tables;

use std::sync::{Arc, Mutex};

use evener_crypt::bulk::UnitOut;
use evener_crypt::product::PIPELINE;
use evener_crypt::product::{
    self, Block, BlockSource, Codebook, Direction, PASSES, Product, ProductService,
};
use evener_files::unpoisoned;
use evener_runtime::structure::FARM;
use evener_runtime::{Choice, Dispatch, Plan, Runtime, Service, Simd, Structure, replay};
use serde::Serialize;

use crate::error::Error;
use crate::stats::{distinct, median_of, paired_ratio, rotated};
use crate::workers;
pub use costs::Costs;
use endpoints::{Collect, EndpointCosts, StreamClock, TimedSource};
use fixed_stages::FixedStages;
pub use predict::Prediction;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Blocks of a stream.
    pub lengths: Vec<u64>,
    /// Numbers of workers besides one; all there are when empty.
    pub workers: Vec<u32>,
    /// Times everything is measured.
    pub rounds: u32,
}

/// Stream lengths unless others are asked for, in blocks: what was published, and more until filling and draining a
/// pipeline do not count any more.
pub const LENGTHS: [u64; 5] = [22, 352, 5632, 90_112, 1 << 22];
/// Units of a stream, as long as they are not larger than [`MAX_UNIT`] blocks.
const UNITS: u64 = 22;
/// Blocks of a unit at most: those of a unit of a file.
const MAX_UNIT: u64 = 2048;

const KEY: &[u8; 16] = b"evener's product";

/// How the passes are distributed over workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// All on one worker.
    Single,
    /// A pipeline with as many passes in every stage.
    Equal,
    /// A pipeline whose boundaries are placed by measured cost.
    Balanced,
    /// Every worker runs all passes on its unit.
    Farm,
    /// What the tuner chooses, learning included.
    Auto,
}

impl System {
    const ALL: [System; 5] = [
        System::Single,
        System::Equal,
        System::Balanced,
        System::Farm,
        System::Auto,
    ];

    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            System::Single => "single worker",
            System::Equal => "equal pipeline",
            System::Balanced => "balanced pipeline",
            System::Farm => "farm",
            System::Auto => "auto",
        }
    }
}

/// One system on one stream.
#[derive(Clone, Debug, Serialize)]
pub struct ProductResult {
    /// How passes are spread.
    pub system: System,
    /// Over how many workers.
    pub workers: u32,
    /// Blocks of the stream.
    pub blocks: u64,
    /// Blocks of a unit.
    pub unit: u64,
    /// From the first block to the last, round by round.
    pub seconds: Vec<f64>,
    /// Processor time of all threads meanwhile.
    pub processor_seconds: Vec<f64>,
    /// Predictions from the costs of passes, of reading and of writing units, measured right before; none for plan auto.
    pub predicted_seconds: Vec<f64>,
    /// The plan of the last round at its end.
    pub plan: Plan,
}

/// What passes cost.
#[derive(Clone, Debug, Serialize)]
pub struct PassCosts {
    /// Workers that ran them at once.
    pub workers: u32,
    /// Blocks of the stream beside which they did.
    pub blocks: u64,
    /// Blocks of a unit.
    pub unit: u64,
    /// Seconds for a block, medians over rounds.
    pub block: Costs,
}

/// Everything that was measured, and what follows from it.
#[derive(Clone, Debug, Serialize)]
pub struct ProductReport {
    /// Processor, cores and SIMD level.
    pub machine: String,
    /// Version of evener.
    pub version: &'static str,
    /// Instructions of the kernels.
    pub simd: String,
    /// Times everything was measured.
    pub rounds: u32,
    /// What passes cost.
    pub costs: Vec<PassCosts>,
    /// Every system on every stream.
    pub results: Vec<ProductResult>,
    /// What is predicted on other numbers of workers, for the longest stream.
    #[serde(rename = "foreseen")]
    pub predicted: Vec<Prediction>,
}

/// Measures; `progress` is told what comes next.
///
/// # Errors
/// There is no thread for it, or a stream failed.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<ProductReport, Error> {
    let mut workers = workers::with_one(&options.workers);
    let runtime = workers::runtime(&workers)?;
    workers.retain(|&count| count > 1);
    let topology = runtime.topology();
    let simd = evener_crypt::chosen::PRODUCT.level();
    let product = Product::new(KEY);
    let mut report = ProductReport {
        machine: topology.machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        simd: simd.to_string(),
        rounds: options.rounds,
        costs: Vec::new(),
        results: Vec::new(),
        predicted: Vec::new(),
    };
    let bench = Bench {
        runtime: &runtime,
        product: &product,
        simd,
    };
    for blocks in distinct(options.lengths.iter().copied()) {
        let stream = Stream::new(blocks, &bench);
        let mut costs: Vec<(u32, Costs)> = Vec::new();
        let mut results = systems(&workers, &stream);
        for round in 0..options.rounds {
            progress(&format!("{blocks} blocks, round {}", round + 1));
            for turn in rotated(results.len(), round) {
                let result = &mut results[turn];
                let own = bench.costs(result.workers, stream.unit)?;
                let ends = bench.ends(&stream)?;
                bench.once(&stream, result)?;
                let predicted = stream.predicted(result, &own, ends);
                result.predicted_seconds.extend(predicted);
                costs.push((result.workers, own));
            }
        }
        report.results.extend(results);
        report.costs.extend(medians(&costs, &stream));
    }
    if let Some(alone) = report.costs.iter().rfind(|costs| costs.workers == 1) {
        report.predicted = predict::predict(&alone.block);
    }
    Ok(report)
}

/// Every system, on one worker or on each of `workers`, of which nothing is known yet.
fn systems(workers: &[u32], stream: &Stream) -> Vec<ProductResult> {
    let of = |system: System, workers| ProductResult {
        system,
        workers,
        blocks: stream.blocks.len() as u64,
        unit: stream.unit,
        seconds: Vec::new(),
        processor_seconds: Vec::new(),
        predicted_seconds: Vec::new(),
        plan: Plan {
            structure: &FARM,
            dispatch: Dispatch::Fifo,
            grain: 1,
            workers,
            devices: 0,
        },
    };
    let several = workers.iter().flat_map(|&count| {
        let systems = System::ALL.into_iter();
        systems
            .filter(|&system| system != System::Single)
            .map(move |system| of(system, count))
    });
    std::iter::once(of(System::Single, 1))
        .chain(several)
        .collect()
}

/// The medians for each number of workers.
fn medians(all: &[(u32, Costs)], stream: &Stream) -> Vec<PassCosts> {
    let of = |workers| {
        let own = all.iter().filter(|costs| costs.0 == workers);
        let own: Vec<Costs> = own.map(|costs| costs.1).collect();
        PassCosts {
            workers,
            blocks: stream.blocks.len() as u64,
            unit: stream.unit,
            block: Costs::median(&own).per(stream.unit as f64),
        }
    };
    distinct(all.iter().map(|costs| costs.0))
        .into_iter()
        .map(of)
        .collect()
}

/// What all measurements share.
struct Bench<'a> {
    runtime: &'a Runtime,
    product: &'a Product,
    simd: Simd,
}

/// Blocks, and what they are when they are encrypted.
struct Stream {
    blocks: Arc<[Block]>,
    encrypted: Vec<Block>,
    /// Where they are written to. The memory was written before: getting it from the system is no part of a cipher.
    collected: Arc<Mutex<Vec<Block>>>,
    unit: u64,
}

impl Stream {
    fn new(blocks: u64, bench: &Bench<'_>) -> Stream {
        let blocks: Vec<Block> = (0..blocks.max(1)).map(u64::to_be_bytes).collect();
        let mut encrypted: Vec<Block> = blocks.clone();
        bench.product.encrypt(bench.simd, 0..PASSES, &mut encrypted);
        Stream {
            unit: (blocks.len() as u64 / UNITS).clamp(1, MAX_UNIT),
            collected: Arc::new(Mutex::new(encrypted.clone())),
            blocks: blocks.into(),
            encrypted,
        }
    }

    /// A source of the blocks, and an empty sink.
    fn endpoints(&self, clock: &Arc<StreamClock>) -> (TimedSource, Collect) {
        unpoisoned(self.collected.lock()).clear();
        let source = TimedSource {
            inner: BlockSource::new(Arc::clone(&self.blocks), self.unit as usize),
            clock: Arc::clone(clock),
        };
        let sink = Collect {
            blocks: Arc::clone(&self.collected),
            room: self.blocks.len(),
            clock: Arc::clone(clock),
        };
        (source, sink)
    }

    /// Seconds that a system should take, by the costs of passes and of both ends. A smaller last unit is not predicted.
    fn predicted(&self, result: &ProductResult, costs: &Costs, ends: EndpointCosts) -> Option<f64> {
        let units = self.blocks.len() as f64 / self.unit as f64;
        let whole = units.floor() as u64;
        let pipeline = |stages: Vec<u32>| {
            let stages = ends.around(costs.stages(&stages));
            replay::pipelines(&[stages], whole)
        };
        let seconds = match result.system {
            System::Auto => return None,
            System::Single | System::Farm => {
                let job = ends.read + costs.whole() + ends.write;
                let jobs = std::iter::repeat_n(job, whole as usize);
                replay::fifo(jobs, result.workers as usize)
            }
            System::Balanced => pipeline(costs.balanced(result.workers)),
            System::Equal => pipeline(predict::equal(result.workers)),
        };
        Some(seconds * units / whole as f64)
    }
}

impl Bench<'_> {
    /// What passes take for a unit, on so many workers at once.
    fn costs(&self, workers: u32, unit: u64) -> Result<Costs, Error> {
        let ways = (unit as usize, workers);
        costs::measure(self.runtime.pool(), self.product, self.simd, ways)
    }

    fn service(&self) -> ProductService {
        ProductService::new(Codebook::new(KEY, Direction::Encrypt, self.simd), None)
    }

    /// The costs of reading and of writing a unit.
    fn ends(&self, stream: &Stream) -> Result<EndpointCosts, Error> {
        let ends = stream.endpoints(&Arc::default());
        EndpointCosts::measure(
            &self.service(),
            ends,
            stream.blocks.len() as u64 / stream.unit,
        )
    }

    /// Runs a stream once and adds what it took.
    fn once(&self, stream: &Stream, result: &mut ProductResult) -> Result<(), Error> {
        let service = self.service();
        let fixed = |structure: &Structure| Choice::Fixed {
            structure: structure.to_string(),
            dispatch: None,
            grain: None,
        };
        let choice = match result.system {
            System::Auto => Choice::Auto,
            System::Single | System::Farm => fixed(&FARM),
            System::Equal | System::Balanced => fixed(&PIPELINE),
        };
        match result.system {
            System::Equal => {
                let ends = predict::equal(result.workers);
                let inner = service;
                self.measured(FixedStages { inner, ends }, choice, stream, result)
            }
            _ => self.measured(service, choice, stream, result),
        }
    }

    fn measured<S>(
        &self,
        service: S,
        choice: Choice,
        stream: &Stream,
        result: &mut ProductResult,
    ) -> Result<(), Error>
    where
        S: Service<Input = product::Batch, Output = UnitOut>,
    {
        let clock = Arc::new(StreamClock::default());
        let (source, sink) = stream.endpoints(&clock);
        let report = self
            .runtime
            .stream(source)
            .through(service)
            .plan(choice)
            .workers(Some(result.workers))
            .into(sink)
            .map_err(|e| failed(result, e))?;
        if *unpoisoned(stream.collected.lock()) != stream.encrypted {
            return Err(failed(result, "its output is wrong"));
        }
        let (seconds, processor) = clock
            .between()
            .ok_or_else(|| failed(result, "it is empty"))?;
        result.seconds.push(seconds);
        result.processor_seconds.push(processor);
        result.plan = report.plan.unwrap_or(result.plan);
        Ok(())
    }
}

impl ProductResult {
    /// Median over rounds of the time, in seconds.
    pub fn median_s(&self) -> f64 {
        median_of(self.seconds.iter().copied())
    }

    /// Median over rounds of the processor time, in seconds.
    pub fn processor_s(&self) -> f64 {
        median_of(self.processor_seconds.iter().copied())
    }

    /// Predicted over measured time, each round by itself.
    pub fn predicted_over_measured(&self) -> Option<f64> {
        let known = !self.predicted_seconds.is_empty();
        known.then(|| paired_ratio(&self.predicted_seconds, &self.seconds))
    }
}

impl ProductReport {
    /// What one worker took for a stream.
    fn single(&self, blocks: u64) -> Option<&ProductResult> {
        let mut results = self.results.iter();
        results.find(|r| r.system == System::Single && r.blocks == blocks)
    }

    /// How much faster than one worker on the same stream, by rounds.
    pub(crate) fn gain(&self, r: &ProductResult) -> Option<f64> {
        Some(paired_ratio(&self.single(r.blocks)?.seconds, &r.seconds))
    }

    /// Lengths of streams, the shortest first.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        distinct(self.results.iter().map(|r| r.blocks))
    }
}

fn failed(result: &ProductResult, reason: impl ToString) -> Error {
    Error::Runtime(format!(
        "{} of {} blocks: {}",
        result.system.name(),
        result.blocks,
        reason.to_string()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_is_measured_and_all_but_auto_predicted() {
        let options = Options {
            lengths: vec![22, 6000],
            workers: vec![2, 1],
            rounds: 2,
        };
        let report = run(&options, &mut |_| ()).unwrap();
        assert_eq!(report.results.len(), 2 * System::ALL.len());
        for r in &report.results {
            assert_eq!((r.seconds.len(), r.processor_seconds.len()), (2, 2));
            assert_eq!(
                r.predicted_over_measured().is_none(),
                r.system == System::Auto,
                "{r:?}"
            );
            assert!(r.median_s() > 0.0);
        }
        let units: Vec<u64> = report.results.iter().map(|r| r.unit).collect();
        assert_eq!((units[0], units[9]), (1, 272));
        let tables = report.tables();
        assert_eq!(tables[0].rows.len(), System::ALL.len());
        assert_eq!(tables[1].rows.len(), 2 * System::ALL.len());
        assert!(tables.iter().all(|table| {
            let columns = table.head.len();
            table.rows.iter().all(|row| row.len() == columns)
        }));
        assert!(crate::report::product_html(&report).contains("balanced pipeline"));
    }

    #[test]
    fn there_may_be_more_workers_than_cpus() {
        let most = workers::all() + 2;
        let options = Options {
            lengths: vec![44],
            workers: vec![most],
            rounds: 1,
        };
        let report = run(&options, &mut |_| ()).unwrap();
        assert!(report.costs.iter().any(|costs| costs.workers == most));
        let on_all = |r: &&ProductResult| r.system == System::Farm && r.plan.workers == most;
        assert_eq!(report.results.iter().filter(on_all).count(), 1);
    }

    #[test]
    fn a_divided_service_runs_the_passes_of_its_stages() {
        let product = Product::new(KEY);
        let bench = Bench {
            runtime: &Runtime::builder().workers(2).memory(false).build().unwrap(),
            product: &product,
            simd: Simd::detect(),
        };
        let stream = Stream::new(5000, &bench);
        for mut result in systems(&[2, 3], &stream) {
            if result.workers > 2 {
                continue;
            }
            // Its output is compared in there.
            bench.once(&stream, &mut result).unwrap();
        }
    }
}
