//! A stream under one plan, compared with a loop written by hand over the same parts of the same kernels.
//!
//! The loop has no tuner and no queue. On one worker it calls the service for one part after the other. On several, each
//! thread computes its share of every frame and spins until the others are done. Both use the same buffers. The making of
//! buffers and the first frames, while caches and processors warm up, are not timed. Streams are short and take turns with
//! loops, since the speed of a shared processor changes from one tenth of a second to the next.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use evener_image::exec::service::{FilterService, Scratch};
use evener_image::structures::TILED;
use evener_runtime::{Choice, Discard, Dispatch, Part, Plan, Runtime, Service, Structure};
use serde::Serialize;

use super::buffer_pool::PooledFrame;
use super::static_source::{Making, StaticSource, StreamCounters, UnitHook};
use super::stream::Bench;
use super::topology_guard::GuardReport;
use super::{ALL_PIPELINES, CIF, FULL_HD, Options, short, subjects};
use crate::error::Error;
use crate::stats::paired_ratio;
use evener_report::Table;

/// Most time a stream may take beyond the loop, as a share of the loop's.
pub const TARGET: f64 = 0.02;
/// Streams and loops of a round, in turns.
const PAIRS: u32 = 12;
/// Length of a stream or loop in seconds, and limits of its frames.
const LENGTH_S: f64 = 0.05;
const FRAMES: Range<u64> = 20..20_000;
/// Frames of warm-up: one for each `WARM_OF` timed frames, and at least `WARM_LEAST`.
const WARM_OF: u64 = 10;
const WARM_LEAST: u64 = 4;
/// Polls before a thread yields.
const SPINS: u32 = 20_000;

/// One graph at one size on one number of workers.
#[derive(Clone, Debug, Serialize)]
pub struct OverheadResult {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// Frames of each stream and loop that are timed.
    pub frames: u64,
    /// Frames of warm-up.
    pub warm: u64,
    /// The plan of the stream, whose parts the loop runs as well.
    pub plan: Plan,
    /// Time of the stream by that of the loop, less 1: the median over pairs.
    pub overhead: f64,
    /// The same in processor time, which other processes disturb less. Only on one worker, and if the operating system
    /// reports it.
    pub processor_overhead: Option<f64>,
    /// Each stream.
    pub stream: Vec<Elapsed>,
    /// Each loop.
    pub by_hand: Vec<Elapsed>,
    /// How they were kept comparable.
    pub processors: GuardReport,
}

/// Time in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Elapsed {
    /// By the clock.
    pub wall_s: f64,
    /// Of the processor, by the thread that began.
    pub processor_s: Option<f64>,
}

/// A point in time.
#[derive(Clone, Copy)]
struct Timestamp {
    wall: Instant,
    processor_s: Option<f64>,
}

impl Timestamp {
    fn now() -> Timestamp {
        Timestamp {
            processor_s: processor_s(),
            wall: Instant::now(),
        }
    }
}

impl Elapsed {
    fn between(begin: Timestamp, end: Timestamp) -> Elapsed {
        let processor = begin.processor_s.zip(end.processor_s);
        Elapsed {
            wall_s: (end.wall - begin.wall).as_secs_f64(),
            processor_s: processor.map(|(begin, end)| end - begin),
        }
    }
}

/// Seconds of processor time that the calling thread has had.
#[cfg(target_os = "linux")]
fn processor_s() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(target_os = "linux"))]
fn processor_s() -> Option<f64> {
    None
}

pub(super) fn run(
    options: &Options,
    runtime: &Runtime,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<OverheadResult>, Error> {
    let mut workers = vec![1, runtime.workers() as u32];
    workers.dedup();
    let mut results = Vec::new();
    for subject in &subjects(options, runtime, ALL_PIPELINES, &[CIF, FULL_HD])? {
        let bench = Bench::new(runtime, subject);
        for &workers in &workers {
            let (graph, size) = (&subject.graph, subject.size);
            progress(&format!("{graph} {size}, {workers} workers"));
            results.push(measure(options, &bench, workers)?);
        }
    }
    Ok(results)
}

fn measure(options: &Options, bench: &Bench<'_>, workers: u32) -> Result<OverheadResult, Error> {
    let (plan, items) = plan(bench, workers)
        .ok_or_else(|| bench.subject.failed("tiled", "filters do not run this way"))?;
    let first = bench.estimate(&plan, options.frames.unwrap_or(FRAMES.start))?;
    let frames = options.frames.unwrap_or_else(|| {
        let frames = (LENGTH_S / first.mean_s()) as u64;
        frames.clamp(FRAMES.start, FRAMES.end)
    });
    let (mut streams, mut loops) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS * options.rounds {
        if pair % 2 == 0 {
            streams.push(bench.guard.run_guarded(|| stream(bench, &plan, frames))?);
        }
        loops.push(
            bench
                .guard
                .run_guarded(|| by_hand(bench, &plan, items, frames))?,
        );
        if pair % 2 == 1 {
            streams.push(bench.guard.run_guarded(|| stream(bench, &plan, frames))?);
        }
    }
    Ok(OverheadResult {
        graph: bench.subject.graph.clone(),
        size: bench.subject.size.to_string(),
        frames,
        warm: warm(frames),
        plan,
        overhead: paired_ratio(&wall(&streams), &wall(&loops)) - 1.0,
        processor_overhead: processor(&streams)
            .zip(processor(&loops))
            .filter(|_| workers == 1)
            .map(|(streams, loops)| paired_ratio(&streams, &loops) - 1.0),
        stream: streams,
        by_hand: loops,
        processors: bench.guard.report(),
    })
}

/// Frames of warm-up for so many timed frames.
fn warm(frames: u64) -> u64 {
    (frames / WARM_OF).max(WARM_LEAST)
}

fn wall(spent: &[Elapsed]) -> Vec<f64> {
    spent.iter().map(|s| s.wall_s).collect()
}

fn processor(spent: &[Elapsed]) -> Option<Vec<f64>> {
    spent.iter().map(|s| s.processor_s).collect()
}

/// A plan whose parts a loop can run as well, and the items it divides. On several workers it has one job for each.
fn plan(bench: &Bench<'_>, workers: u32) -> Option<(Plan, u32)> {
    let structure = &TILED;
    let shape = bench.shapes.iter().find(|s| s.structure == structure)?;
    let items = shape.passes.first().copied()?;
    let plan = if workers == 1 {
        bench.plan(structure, Dispatch::Fifo, 1)?
    } else {
        Plan {
            structure,
            dispatch: Dispatch::Mailbox,
            grain: items.div_ceil(workers).max(1),
            workers,
            devices: 0,
        }
    };
    Some((plan, items))
}

/// Time of a stream, from the first timed unit to its end.
fn stream(bench: &Bench<'_>, plan: &Plan, frames: u64) -> Result<Elapsed, Error> {
    let failed = |reason: String| bench.subject.failed(plan.structure.name, reason);
    let counters: Arc<StreamCounters> = Arc::default();
    let (tell, told) = mpsc::channel();
    let warm = warm(frames);
    let frames = warm + frames;
    let hook = UnitHook::at([warm, frames], move |_| {
        // The receiver outlives the stream.
        let _ = tell.send(Timestamp::now());
    });
    bench
        .runtime
        .stream(StaticSource::new(Arc::clone(&counters), frames, Some(hook)))
        .through(bench.service(Making::Excluded, counters))
        .plan(Choice::Fixed {
            structure: plan.structure.to_string(),
            dispatch: Some(plan.dispatch),
            grain: Some(plan.grain),
        })
        .workers(Some(plan.workers))
        .into(Discard)
        .map_err(|e| failed(e.to_string()))?;
    match (told.recv(), told.recv()) {
        (Ok(begin), Ok(end)) => Ok(Elapsed::between(begin, end)),
        _ => Err(failed("it did not come to its end".into())),
    }
}

/// Time of a loop.
fn by_hand(bench: &Bench<'_>, plan: &Plan, items: u32, frames: u64) -> Result<Elapsed, Error> {
    let hand = HandLoop::new(bench, plan, items, frames);
    let spent = match plan.workers {
        1 => hand.serial(),
        _ => hand.parallel(),
    };
    spent.map_err(|e| bench.subject.failed("loop", e))
}

/// The items of a unit in jobs of `grain`.
fn parts(structure: &'static Structure, items: u32, grain: u32) -> Vec<Part> {
    let starts = (0..items).step_by(grain.max(1) as usize);
    let part = |start: u32| Part {
        structure,
        pass: 0,
        items: start..(start + grain).min(items),
    };
    starts.map(part).collect()
}

/// A loop written by hand.
struct HandLoop {
    service: FilterService,
    parts: Vec<Part>,
    warm: u64,
    frames: u64,
    input: PooledFrame,
    output: PooledFrame,
}

impl HandLoop {
    fn new(bench: &Bench<'_>, plan: &Plan, items: u32, frames: u64) -> HandLoop {
        let service = bench.subject.service();
        HandLoop {
            parts: parts(plan.structure, items, plan.grain),
            warm: warm(frames),
            frames,
            input: bench.pool.input(),
            output: bench.pool.output(&service),
            service,
        }
    }

    fn run(&self, part: &Part, scratch: &mut Scratch) -> Result<(), String> {
        self.service.run(part, &self.input, &self.output, scratch)
    }

    /// One part after the other.
    fn serial(&self) -> Result<Elapsed, String> {
        let mut scratch = self.service.scratch();
        let mut run = |frames: u64| {
            for _ in 0..frames {
                for part in &self.parts {
                    self.run(part, &mut scratch)?;
                }
            }
            Ok::<(), String>(())
        };
        run(self.warm)?;
        let begin = Timestamp::now();
        run(self.frames)?;
        Ok(Elapsed::between(begin, Timestamp::now()))
    }

    /// Each part on a thread of its own, the first on this one.
    fn parallel(&self) -> Result<Elapsed, String> {
        let others = self.parts.len().saturating_sub(1) as u32;
        // The frame to compute, counted from 1, and the number of threads that have finished it or are ready.
        let (frame, done) = (AtomicU64::new(0), AtomicU32::new(0));
        let failed = AtomicBool::new(false);
        let run = |part: &Part, scratch: &mut Scratch| {
            failed.fetch_or(self.run(part, scratch).is_err(), Ordering::Relaxed);
        };
        thread::scope(|scope| {
            for part in self.parts.iter().skip(1) {
                let (frame, done, run) = (&frame, &done, &run);
                scope.spawn(move || {
                    let mut scratch = self.service.scratch();
                    done.fetch_add(1, Ordering::Release);
                    for number in 1..=self.warm + self.frames {
                        spin_until(|| frame.load(Ordering::Acquire) >= number);
                        run(part, &mut scratch);
                        done.fetch_add(1, Ordering::Release);
                    }
                });
            }
            spin_until(|| done.load(Ordering::Acquire) == others);
            let mut begin = Timestamp::now();
            let mut scratch = self.service.scratch();
            for number in 1..=self.warm + self.frames {
                if number == self.warm + 1 {
                    begin = Timestamp::now();
                }
                done.store(0, Ordering::Relaxed);
                frame.store(number, Ordering::Release);
                if let Some(part) = self.parts.first() {
                    run(part, &mut scratch);
                }
                spin_until(|| done.load(Ordering::Acquire) == others);
            }
            match failed.load(Ordering::Relaxed) {
                false => Ok(Elapsed::between(begin, Timestamp::now())),
                true => Err("a kernel failed".to_owned()),
            }
        })
    }
}

fn spin_until(mut ready: impl FnMut() -> bool) {
    let mut spins = 0;
    while !ready() {
        spins += 1;
        if spins < SPINS {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

pub(super) fn table(results: &[OverheadResult]) -> Table {
    let row = |r: &OverheadResult| {
        let (stream, by_hand) = (least(&wall(&r.stream)), least(&wall(&r.by_hand)));
        vec![
            r.graph.clone(),
            r.size.clone(),
            r.frames.to_string(),
            short(&r.plan),
            format!("{:+.1} %", 100.0 * r.overhead),
            r.processor_overhead.map_or_else(
                || "-".to_owned(),
                |share| format!("{:+.1} %", 100.0 * share),
            ),
            format!("{:.3}", stream * 1e6 / r.frames as f64),
            format!("{:.3}", by_hand * 1e6 / r.frames as f64),
        ]
    };
    Table {
        title: "A stream beside a loop written by hand",
        about: format!(
            "Time beyond the loop's by the clock, and in processor time on one worker: medians over pairs; target \
             {:.0} %. Times of a frame are those of the fastest stream and loop.",
            100.0 * TARGET
        ),
        head: vec![
            "graph",
            "size",
            "frames",
            "plan",
            "overhead",
            "of a CPU",
            "stream us",
            "loop us",
        ],
        rows: results.iter().map(row).collect(),
    }
}

fn least(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;

    #[test]
    fn parts_cover_a_unit() {
        let items = |grain| -> Vec<Range<u32>> {
            let parts = parts(&TILED, 10, grain);
            parts.into_iter().map(|part| part.items).collect()
        };
        assert_eq!(items(4), [0..4, 4..8, 8..10]);
        assert_eq!(items(5), [0..5, 5..10]);
        assert_eq!(items(6), [0..6, 6..10]);
    }

    #[test]
    fn loops_compute_what_the_runtime_computes() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let size = evener_image::Size { w: 64, h: 48 };
        let subject = Subject::new("blur", size, false, &runtime).unwrap();
        let bench = Bench::new(&runtime, &subject);
        for workers in [1, 2] {
            let (plan, items) = plan(&bench, workers).unwrap();
            let hand = HandLoop::new(&bench, &plan, items, 3);
            let spent = match workers {
                1 => hand.serial(),
                _ => hand.parallel(),
            };
            assert!(spent.unwrap().wall_s > 0.0);
            let expected = hand.service.output();
            let mut executor = runtime.executor(&hand.service);
            executor.run(&plan, &hand.input, &expected).unwrap();
            assert!(hand.output.plane_bytes(0)[..] == expected.plane_bytes(0)[..]);
            assert!(hand.output.plane_bytes(0).iter().any(|byte| *byte != 0));
            assert!(stream(&bench, &plan, 3).unwrap().wall_s > 0.0);
        }
    }
}
