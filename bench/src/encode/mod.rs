//! `evener bench encode`: the analysis of an H.264 encoder in jobs of a search, a macroblock, a row and a frame.
//!
//! An encoder was published that handed two of its functions to other processors. Half-pel filtering, in jobs of a row of
//! macroblocks, paid. Motion search, in jobs of one search, did not: handing over cost more than half of the time. Here
//! both are handed to other workers or done by the calling one, and jobs of the search have several sizes.
#![forbid(unsafe_code)]

mod clip;
mod lines;
mod predict;
mod single;
mod tables;
mod work;

use std::ffi::OsString;

use evener_runtime::Topology;
use serde::Serialize;

use crate::error::Error;
use crate::stats::{distinct, median_of, paired_ratio, rotated};
use crate::workers;

pub use predict::{PREDICTED_WORKERS, Prediction};
pub use single::Single;
pub use work::Job;

use clip::Clip;
use work::Work;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Inputs as `evener encode` takes them; a generated scene when empty.
    pub clips: Vec<OsString>,
    /// Sizes of jobs.
    pub jobs: Vec<Job>,
    /// Numbers of workers besides one; all there are when empty.
    pub workers: Vec<u32>,
    /// Pictures that are analysed at a time; 4 to 16 by their size when absent.
    pub frames: Option<u32>,
    /// Times everything is measured.
    pub rounds: u32,
}

/// Depths of refinement between samples: those of the publication.
pub const SUBPEL: [u8; 3] = [2, 5, 7];

/// The scene where there is no clip.
const SCENE: &str = "testsrc:352x288:17";

/// What is handed to other workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Whether half-pel planes are, in jobs of a row of macroblocks.
    pub half_pel: bool,
    /// The jobs in which the search is; of all others the calling worker does the refinement.
    pub search: Option<Job>,
}

impl Way {
    /// The calling worker does everything.
    pub const NOTHING: Way = Way {
        half_pel: false,
        search: None,
    };
    /// Half-pel planes alone.
    pub const HALF_PEL: Way = Way {
        half_pel: true,
        search: None,
    };

    /// The search alone.
    pub fn search(job: Job) -> Way {
        Way {
            half_pel: false,
            search: Some(job),
        }
    }

    /// Half-pel planes and the search.
    pub fn both(job: Job) -> Way {
        Way {
            half_pel: true,
            search: Some(job),
        }
    }

    /// The name in tables.
    pub fn name(&self) -> &'static str {
        match (self.half_pel, self.search) {
            (false, None) => "nothing",
            (true, None) => "half-pel",
            (false, Some(_)) => "search",
            (true, Some(_)) => "both",
        }
    }
}

/// The analysis of all pictures in one way.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The depth of refinement.
    pub subpel: u8,
    /// What is handed over.
    #[serde(flatten)]
    pub way: Way,
    /// Workers, the calling one included.
    pub workers: u32,
    /// Round by round.
    pub seconds: Vec<f64>,
}

/// What was measured with a clip.
#[derive(Clone, Debug, Serialize)]
pub struct ClipResult {
    /// The clip.
    pub name: String,
    /// Width x height.
    pub size: String,
    /// Pictures that are analysed.
    pub pictures: u32,
    /// Macroblocks of a picture.
    pub macroblocks: u32,
    /// Jobs handed over one at a time.
    pub single: Vec<Single>,
    /// Whole analyses.
    pub runs: Vec<Run>,
    /// Encodes on more workers.
    pub predicted: Vec<Prediction>,
}

/// Everything that was measured, and what follows from it.
#[derive(Clone, Debug, Serialize)]
pub struct EncodeReport {
    /// Processor, cores and SIMD level.
    pub machine: String,
    /// Version of evener.
    pub version: &'static str,
    /// Instructions of the kernels.
    pub simd: String,
    /// Times everything was measured.
    pub rounds: u32,
    /// Microseconds until an empty job that was handed over is done, round by round.
    pub empty_us: Vec<f64>,
    /// Microseconds from a step of a wavefront to one that waited for it, round by round.
    pub hand_over_us: Vec<f64>,
    /// Clip by clip.
    pub clips: Vec<ClipResult>,
}

/// Measures; `progress` is told what comes next.
///
/// # Errors
/// A clip cannot be read, there is no thread for it, or ways differ in what they find.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<EncodeReport, Error> {
    let counts = workers::with_one(&options.workers);
    // A job that is handed over alone needs a worker beside the calling one.
    let runtime = workers::runtime(&[counts.as_slice(), &[2]].concat())?;
    let jobs = distinct(options.jobs.iter().copied());
    let mut report = EncodeReport {
        machine: Topology::detect().machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        simd: evener_h264::chosen::ANALYSIS.level().to_string(),
        rounds: options.rounds,
        empty_us: Vec::new(),
        hand_over_us: Vec::new(),
        clips: Vec::new(),
    };
    let inputs = match options.clips.as_slice() {
        [] => vec![SCENE.into()],
        some => some.to_vec(),
    };
    let mut clips = Vec::new();
    for input in &inputs {
        clips.push(Clip::read(input, options.frames)?);
    }
    for round in 0..options.rounds {
        report.empty_us.push(single::empty(runtime.pool(), round)?);
        report.hand_over_us.push(lines::hand_over(&runtime)?);
    }
    let hand_over = report.hand_over();
    for clip in clips {
        let work = Work::new(&clip);
        let mut result = ClipResult {
            name: clip.name.clone(),
            size: clip.size(),
            pictures: work.pairs() as u32,
            macroblocks: work.macroblocks() as u32,
            single: single::all(&jobs),
            runs: runs(&jobs, &counts),
            predicted: Vec::new(),
        };
        for round in 0..options.rounds {
            progress(&format!("{}, round {}", clip.name, round + 1));
            single::measure(&work, runtime.pool(), &mut result.single)?;
            for turn in rotated(result.runs.len(), round) {
                let run = &mut result.runs[turn];
                let seconds = work.once(runtime.pool(), run.subpel, &run.way, run.workers)?;
                run.seconds.push(seconds);
            }
        }
        progress(&format!("{}, an encode to replay", clip.name));
        result.predicted = predict::predict(&runtime, clip, hand_over * 1e-6)?;
        report.clips.push(result);
    }
    Ok(report)
}

/// All ways, at all depths. One worker has no other to hand anything to.
fn runs(jobs: &[Job], counts: &[u32]) -> Vec<Run> {
    let mut all = Vec::new();
    for subpel in SUBPEL {
        let mut add = |way, workers| {
            all.push(Run {
                subpel,
                way,
                workers,
                seconds: Vec::new(),
            });
        };
        add(Way::NOTHING, 1);
        for &workers in counts.iter().filter(|&&workers| workers > 1) {
            add(Way::HALF_PEL, workers);
            for &job in jobs {
                add(Way::search(job), workers);
                add(Way::both(job), workers);
            }
        }
    }
    all
}

impl EncodeReport {
    /// Median over rounds, in microseconds.
    pub fn empty(&self) -> f64 {
        median_of(self.empty_us.iter().copied())
    }

    /// The same of a line of a wavefront.
    pub fn hand_over(&self) -> f64 {
        median_of(self.hand_over_us.iter().copied())
    }
}

impl ClipResult {
    fn run(&self, subpel: u8, way: Way, workers: u32) -> Option<&Run> {
        let mut runs = self.runs.iter().filter(|run| run.subpel == subpel);
        runs.find(|run| match workers {
            1 => run.way == Way::NOTHING,
            _ => run.way == way && (run.workers == workers || way == Way::NOTHING),
        })
    }

    /// Pictures a second: median over rounds. With one worker nothing is handed over.
    pub fn fps(&self, subpel: u8, way: Way, workers: u32) -> Option<f64> {
        let run = self.run(subpel, way, workers)?;
        Some(f64::from(self.pictures) / median_of(run.seconds.iter().copied()))
    }

    /// Speed relative to a calling worker that does everything, round by round.
    pub fn gain(&self, subpel: u8, way: Way, workers: u32) -> Option<f64> {
        let alone = self.run(subpel, Way::NOTHING, 1)?;
        let run = self.run(subpel, way, workers)?;
        Some(paired_ratio(&alone.seconds, &run.seconds))
    }

    /// Numbers of workers, and 1.
    pub fn workers(&self) -> Vec<u32> {
        distinct(self.runs.iter().map(|run| run.workers))
    }

    /// Sizes of jobs, the smallest first.
    pub fn jobs(&self) -> Vec<Job> {
        distinct(self.single.iter().map(|single| single.job))
    }

    /// The smallest job from which on all sizes make the largest number of workers faster than a calling worker that does
    /// everything.
    pub fn pays_from(&self, subpel: u8) -> Option<Job> {
        let most = *self.workers().last()?;
        let jobs = self.jobs().into_iter().rev();
        jobs.take_while(|&job| {
            most > 1
                && self
                    .gain(subpel, Way::search(job), most)
                    .is_some_and(|g| g > 1.0)
        })
        .last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured_and_finds_the_same() {
        let options = Options {
            clips: vec!["testsrc:64x48:3".into(), "testsrc:40x32:4:444".into()],
            jobs: Job::ALL.into(),
            workers: vec![2, 3],
            frames: None,
            rounds: 2,
        };
        let report = run(&options, &mut |_| ()).unwrap();
        assert_eq!(report.clips.len(), 2);
        for (clip, (pictures, macroblocks)) in report.clips.iter().zip([(2, 12), (3, 6)]) {
            assert_eq!((clip.pictures, clip.macroblocks), (pictures, macroblocks));
            assert_eq!(
                clip.runs.len(),
                SUBPEL.len() * (1 + 2 * (1 + 2 * Job::ALL.len()))
            );
            assert!(clip.runs.iter().all(|run| run.seconds.len() == 2));
            for single in &clip.single {
                assert_eq!((single.own_us.len(), single.handed_us.len()), (2, 2));
            }
            let alone = &clip.predicted[0];
            assert_eq!((alone.workers, alone.gain, alone.alone), (1, 1.0, 1.0));
            assert!(
                clip.predicted
                    .iter()
                    .all(|p| p.gain <= f64::from(p.workers) * 1.001)
            );
        }
        assert!(report.tables().iter().all(|table| !table.rows.is_empty()));
        assert_eq!(report.sentences().len(), 2);
    }

    #[test]
    fn jobs_pay_from_the_smallest_after_which_none_is_slower() {
        let run = |way: Way, workers, seconds| Run {
            subpel: 5,
            way,
            workers,
            seconds: vec![seconds],
        };
        let clip = |times: [f64; 4]| {
            let mut runs = vec![run(Way::NOTHING, 1, 1.0)];
            for (job, seconds) in Job::ALL.into_iter().zip(times) {
                runs.push(run(Way::search(job), 2, seconds));
            }
            ClipResult {
                name: String::new(),
                size: String::new(),
                pictures: 1,
                macroblocks: 1,
                single: single::all(&Job::ALL),
                runs,
                predicted: Vec::new(),
            }
        };
        assert_eq!(clip([0.9, 0.8, 0.6, 0.6]).pays_from(5), Some(Job::Search));
        assert_eq!(clip([0.9, 1.1, 0.6, 0.6]).pays_from(5), Some(Job::Row));
        assert_eq!(clip([0.9, 0.9, 0.6, 1.6]).pays_from(5), None);
        assert_eq!(clip([0.5; 4]).gain(5, Way::search(Job::Row), 2), Some(2.0));
        assert_eq!(clip([0.5; 4]).pays_from(2), None);
    }

    #[test]
    fn what_cannot_be_analysed_is_an_error() {
        let mut options = Options {
            clips: vec!["testsrc:64x48:1".into()],
            jobs: vec![Job::Row],
            workers: vec![2],
            frames: None,
            rounds: 1,
        };
        let error = run(&options, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("two frames"), "{error}");
        options.clips = vec!["no-such-file.y4m".into()];
        assert!(run(&options, &mut |_| ()).is_err());
    }
}
