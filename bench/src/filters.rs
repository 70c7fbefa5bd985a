//! `evener bench filters`: time to compute a frame, by graph, size, plan, workers and placement.
//!
//! Only computation is measured, as Espeland et al. did. Frames of f32 planes stay in memory: nothing is read, converted or
//! written. The same frame is computed again and again, so what fits in a cache is found there.

use std::time::{Duration, Instant};

use evener_image::exec::service::FilterService;
use evener_image::structures::{BACKWARD, BACKWARD_CACHED, BACKWARD_STORE, SEQUENTIAL};
use evener_image::{Size, ops};
use evener_runtime::{Choice, Dispatch, Placement, Plan, Runtime, Service, Structure};
use serde::Serialize;

pub use crate::error::Error;
use crate::fixed_schedule::FixedSchedule;
use crate::memory_io::{Repeat, Verify};
use crate::picture::Picture;
use crate::plan;
use crate::subject::{Subject, bind, unusable};
use crate::workers;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Graphs: a letter A to G, or a chain of filters.
    pub graphs: Vec<String>,
    /// Frame sizes; that of the picture where one is given.
    pub sizes: Vec<Size>,
    /// What the frames show.
    pub picture: Picture,
    /// Plans.
    pub plans: Vec<Plans>,
    /// Numbers of workers; those of the machine when empty, and one beside them where all plans are measured.
    pub workers: Vec<u32>,
    /// Placements. If there is one, an I/O thread writes each frame before it is computed, so that the frame is in the cache
    /// of that thread's core.
    pub affinities: Vec<Placement>,
    /// Frames of each measurement. The default is a second's worth, at least 30. In streams (plan auto, units that overlap,
    /// placements) it is 300, or 3000 for frames below 640x480.
    pub frames: Option<u64>,
    /// Whether plans of earlier runs are remembered and those of this one kept.
    pub memory: bool,
    /// Counts operations per structure too.
    pub ops: bool,
    /// Planes of a frame: luma alone, or 4:2:0 with every filter on each plane.
    pub each: bool,
}

/// Plans to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plans {
    /// Every structure with every dispatch flavour.
    All,
    /// One, or the tuner's choice.
    One(Choice),
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub struct FilterReport {
    /// Processor, cores and SIMD level.
    pub machine: String,
    /// Version of evener.
    pub version: &'static str,
    /// One for each graph, size, plan, number of workers and placement.
    pub results: Vec<FilterResult>,
    /// Operations per sample, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<OpsRow>,
}

/// One measurement. Times in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct FilterResult {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// The plan as asked for.
    pub plan: String,
    /// Structure in force at the end.
    pub structure: &'static Structure,
    /// Dispatch flavour in force at the end.
    pub dispatch: Dispatch,
    /// Rows of a job at the end.
    pub grain: u32,
    /// Workers of the runtime.
    pub workers: u32,
    /// Workers the plan used at the end.
    pub workers_used: u32,
    /// Placement, where one was asked for.
    pub affinity: Option<Placement>,
    /// Frames computed, warm-up included.
    pub frames: u64,
    /// Over the frames after warm-up; for plan auto over the last quarter.
    pub ms: Milliseconds,
    /// Over every frame from the first, learning included.
    pub whole_ms_mean: f64,
    /// SHA-256 of the first output frame. Frames whose number is a power of two are compared with it.
    pub sha256: String,
}

/// Times of a frame in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Milliseconds {
    /// Shortest.
    pub min: f64,
    /// Middle.
    pub median: f64,
    /// Average.
    pub mean: f64,
    /// 99 % took no longer.
    pub p99: f64,
}

/// Operations of one stage per sample of the input frame.
#[derive(Debug, Serialize)]
pub struct OpsRow {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// Structure counted.
    pub structure: &'static Structure,
    /// Stage.
    pub stage: &'static str,
    /// Samples read per sample of the input.
    pub ops: f64,
}

/// Measures everything in turn; `progress` is told what is measured next.
///
/// # Errors
/// A graph cannot be parsed or bound, or a run fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<FilterReport, Error> {
    let mut report = FilterReport {
        machine: String::new(),
        version: env!("CARGO_PKG_VERSION"),
        results: Vec::new(),
        ops: Vec::new(),
    };
    let placements: Vec<Option<Placement>> = match options.affinities.as_slice() {
        // Placements are compared where there are several.
        [] | [Placement::None] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    let compared = options.plans.contains(&Plans::All);
    let workers = match options.workers.as_slice() {
        [] if compared => workers::with_one(&[]),
        [] => vec![workers::all()],
        some => some.to_vec(),
    };
    for workers in workers {
        for &placement in &placements {
            let runtime = Runtime::builder()
                .workers(workers as usize)
                .placement(placement.unwrap_or_default())
                .memory(options.memory)
                .build()
                .map_err(|e| Error::Runtime(e.to_string()))?;
            report.machine = runtime.topology().machine_key();
            for &size in &options.sizes {
                for graph in &options.graphs {
                    let subject = Subject::new(graph, size, options.each, &runtime)?;
                    for plan in choices(options, &subject) {
                        progress(&format!(
                            "{graph} {size} {} {workers} workers",
                            plan_name(&plan)
                        ));
                        report.results.push(measure(
                            options, &runtime, &subject, plan, workers, placement,
                        )?);
                    }
                }
            }
        }
    }
    if options.ops {
        for &size in &options.sizes {
            for graph in &options.graphs {
                report.ops.extend(operations(graph, size, options.each)?);
            }
        }
    }
    Ok(report)
}

fn choices(options: &Options, subject: &Subject) -> Vec<Choice> {
    let mut choices = Vec::new();
    for plan in &options.plans {
        match plan {
            Plans::One(choice) => choices.push(choice.clone()),
            Plans::All => {
                for shape in subject.service().shapes(subject.private_cache) {
                    for dispatch in Dispatch::ALL {
                        choices.push(Choice::Fixed {
                            structure: shape.structure.to_string(),
                            dispatch: Some(dispatch),
                            grain: None,
                        });
                    }
                }
            }
        }
    }
    choices
}

fn plan_name(choice: &Choice) -> String {
    match choice {
        Choice::Auto => "auto".into(),
        Choice::Fixed {
            structure,
            dispatch,
            grain,
        } => {
            let dispatch = dispatch.map(|d| format!("/{d}")).unwrap_or_default();
            let grain = grain.map(|g| format!("/{g}")).unwrap_or_default();
            format!("{structure}{dispatch}{grain}")
        }
    }
}

fn measure(
    options: &Options,
    runtime: &Runtime,
    subject: &Subject,
    choice: Choice,
    workers: u32,
    affinity: Option<Placement>,
) -> Result<FilterResult, Error> {
    let plan = plan_name(&choice);
    let service = subject.service();
    let fixed = fixed_plan(runtime, subject, &service, choice, workers)?;
    let measured = match fixed {
        Some(fixed) if !fixed.structure.overlaps() && affinity.is_none() => {
            one_plan(options, runtime, subject, &service, fixed)?
        }
        Some(fixed) => one_plan_streamed(
            options,
            runtime,
            subject,
            service,
            fixed,
            affinity.is_some(),
        )?,
        None => tuned(options, runtime, subject, service, affinity.is_some())?,
    };
    Ok(FilterResult {
        graph: subject.graph.clone(),
        size: subject.size.to_string(),
        plan,
        structure: measured.plan.structure,
        dispatch: measured.plan.dispatch,
        grain: measured.plan.grain,
        workers,
        workers_used: measured.plan.workers,
        affinity,
        frames: measured.frames,
        ms: measured.ms,
        whole_ms_mean: measured.whole,
        sha256: measured.sha256,
    })
}

struct Measured {
    plan: Plan,
    frames: u64,
    ms: Milliseconds,
    whole: f64,
    sha256: String,
}

/// The plan that was asked for; `None` if the tuner chooses.
fn fixed_plan(
    runtime: &Runtime,
    subject: &Subject,
    service: &FilterService,
    choice: Choice,
    workers: u32,
) -> Result<Option<Plan>, Error> {
    if choice == Choice::Auto {
        return Ok(None);
    }
    let shapes = service.shapes(subject.private_cache);
    let plan = plan::complete(runtime, &shapes, choice.clone(), workers);
    plan.map(Some)
        .map_err(|e| subject.failed(&plan_name(&choice), e))
}

/// One plan, unit after unit, without a stream.
fn one_plan(
    options: &Options,
    runtime: &Runtime,
    subject: &Subject,
    service: &FilterService,
    plan: Plan,
) -> Result<Measured, Error> {
    let name = plan.to_string();
    let mut executor = runtime.executor(service);
    let (mut input, output) = (service.input(), service.output());
    options.picture.fill(&mut input);
    let mut verify = Verify::default();
    let mut times: Vec<f64> = Vec::new();
    let begin = Instant::now();
    let enough = |n: usize| match options.frames {
        Some(frames) => n as u64 >= frames.max(1),
        None => n >= 30 && begin.elapsed() > Duration::from_secs(1),
    };
    while !enough(times.len()) {
        let start = Instant::now();
        executor
            .run(&plan, &input, &output)
            .map_err(|e| subject.failed(&name, e))?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        verify.see(&output);
    }
    Ok(Measured {
        plan,
        frames: times.len() as u64,
        ms: Milliseconds::after_warm_up(&times),
        whole: times.iter().sum::<f64>() / times.len() as f64,
        sha256: digest(subject, &name, &verify)?,
    })
}

/// Frames of a stream whose number is not given.
fn streamed(size: Size) -> u64 {
    match size.area() < 640 * 480 {
        true => 3000,
        false => 300,
    }
}

/// One plan in a stream between sources and sinks in memory: for farms, batches of frames, and placements.
fn one_plan_streamed(
    options: &Options,
    runtime: &Runtime,
    subject: &Subject,
    service: FilterService,
    plan: Plan,
    rewrite: bool,
) -> Result<Measured, Error> {
    let name = plan.to_string();
    let frames = options.frames.unwrap_or(streamed(subject.size));
    let (mut verify, mut schedule) = (Verify::default(), FixedSchedule::new(plan));
    let report = runtime
        .stream(Repeat::new(frames, rewrite, options.picture.clone()))
        .through(service)
        .scheduled_by(&mut schedule)
        .into(&mut verify)
        .map_err(|e| subject.failed(&name, e))?;
    if schedule.ms.is_empty() {
        return Err(subject.failed(&name, NOTHING));
    }
    Ok(Measured {
        plan,
        frames: report.units,
        ms: Milliseconds::after_warm_up(&schedule.ms),
        whole: report.times.mean_s * 1e3,
        sha256: digest(subject, &name, &verify)?,
    })
}

/// Plan auto, in a stream.
fn tuned(
    options: &Options,
    runtime: &Runtime,
    subject: &Subject,
    service: FilterService,
    rewrite: bool,
) -> Result<Measured, Error> {
    let name = plan_name(&Choice::Auto);
    let frames = options.frames.unwrap_or(streamed(subject.size));
    let mut verify = Verify::default();
    let report = runtime
        .stream(Repeat::new(frames, rewrite, options.picture.clone()))
        .through(service)
        .into(&mut verify)
        .map_err(|e| subject.failed(&name, e))?;
    let times = report.last_quarter;
    Ok(Measured {
        plan: report.plan.ok_or_else(|| subject.failed(&name, NOTHING))?,
        frames: report.units,
        ms: Milliseconds {
            min: times.min_s * 1e3,
            median: times.median_s * 1e3,
            mean: times.mean_s * 1e3,
            p99: times.p99_s * 1e3,
        },
        whole: report.times.mean_s * 1e3,
        sha256: digest(subject, &name, &verify)?,
    })
}

const NOTHING: &str = "no frame was computed";

impl Milliseconds {
    /// Figures over the frames after warm-up, which is the first tenth and at least two frames.
    fn after_warm_up(times: &[f64]) -> Milliseconds {
        let warm = (times.len() / 10).max(2).min(times.len() - 1);
        let mut warmed = times[warm..].to_vec();
        warmed.sort_by(f64::total_cmp);
        let at = |q: f64| warmed[((warmed.len() - 1) as f64 * q).round() as usize];
        Milliseconds {
            min: warmed[0],
            median: at(0.5),
            mean: warmed.iter().sum::<f64>() / warmed.len() as f64,
            p99: at(0.99),
        }
    }
}

fn digest(subject: &Subject, plan: &str, verify: &Verify) -> Result<String, Error> {
    match verify.differs() {
        Some(frame) => Err(Error::Differs {
            graph: subject.graph.clone(),
            size: subject.size.to_string(),
            plan: plan.to_owned(),
            frame,
        }),
        None => Ok(verify.sha256()),
    }
}

/// Structures whose operations can be counted, those of Table III first.
const COUNTED: [&Structure; 4] = [&SEQUENTIAL, &BACKWARD, &BACKWARD_CACHED, &BACKWARD_STORE];

fn operations(graph: &str, size: Size, each: bool) -> Result<Vec<OpsRow>, Error> {
    let bound = bind(graph, size, each)?;
    let mut rows = Vec::new();
    for structure in COUNTED {
        let table = ops::table(&bound, structure).map_err(|e| unusable(graph, e))?;
        rows.extend(table.into_iter().map(|(stage, ops)| OpsRow {
            graph: graph.to_owned(),
            size: size.to_string(),
            structure,
            stage,
            ops,
        }));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tenth_and_at_least_two_frames_warm_up() {
        let ms = Milliseconds::after_warm_up(&[9.0, 9.0, 3.0, 1.0, 2.0]);
        assert_eq!((ms.min, ms.median, ms.mean, ms.p99), (1.0, 2.0, 2.0, 3.0));
        let times = [vec![9.0; 3], vec![1.0; 27]].concat();
        assert_eq!(Milliseconds::after_warm_up(&times).p99, 1.0);
        assert_eq!(Milliseconds::after_warm_up(&[4.0]).mean, 4.0);
    }
}
