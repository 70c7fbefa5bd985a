//! The analysis of a clip, in jobs of every size.

use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use evener_files::unpoisoned;
use evener_h264::analysis::{Analysis, Coarse, Pair, Picture, Planes, Searched};
use evener_h264::chosen;
use evener_h264::config::{Preset, Tools};
use evener_h264::kernels::{Kernels, Samples};
use evener_h264::unit::InputFrame;
use evener_runtime::dispatch::Caller;
use evener_runtime::{Batch, Dispatch, Pool, Simd};
use serde::Serialize;

use super::clip::Clip;
use super::{SUBPEL, Way};
use crate::error::Error;

/// What a job of the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// One motion search of 16x16 samples. Refinement stays with the calling worker.
    Search,
    /// Search and refinement of a macroblock.
    Macroblock,
    /// The same of a row of macroblocks.
    Row,
    /// The same of a picture.
    Frame,
}

impl Job {
    /// The smallest first.
    pub const ALL: [Job; 4] = [Job::Search, Job::Macroblock, Job::Row, Job::Frame];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Job::Search => "search",
            Job::Macroblock => "macroblock",
            Job::Row => "row",
            Job::Frame => "frame",
        }
    }

    /// Items of a job, of so many columns and rows.
    fn grain(self, (columns, rows): (usize, usize)) -> usize {
        match self {
            Job::Search | Job::Macroblock => 1,
            Job::Row => columns,
            Job::Frame => columns * rows,
        }
    }
}

/// The quantisation parameter whose price of bits refinement uses.
pub(super) const QP: u8 = 27;

/// The pictures of a clip, and what is found for them.
pub(super) struct Work {
    analyses: Vec<(u8, Analysis)>,
    pictures: Vec<Picture>,
    /// Cell by cell, picture by picture.
    coarse: Vec<Mutex<Option<Coarse>>>,
    /// Macroblock by macroblock, picture by picture.
    searched: Vec<Mutex<Searched>>,
    costs: Vec<AtomicU32>,
    /// The sum of costs at each depth.
    sums: [OnceLock<u64>; SUBPEL.len()],
}

impl Work {
    pub(super) fn new(clip: &Clip) -> Work {
        let (width, height) = (clip.format.width as usize, clip.format.height as usize);
        let kernels = Kernels {
            samples: Samples::at(chosen::ANALYSIS.level()),
            ..Kernels::at(Simd::detect())
        };
        let analysis = |subpel| {
            let tools = Tools {
                subpel,
                partitions: true,
                ..Preset::default().tools()
            };
            (subpel, Analysis::new(width, height, kernels, tools, QP))
        };
        let analyses: Vec<(u8, Analysis)> = SUBPEL.into_iter().map(analysis).collect();
        let first = &analyses[0].1;
        let pictures: Vec<Picture> = clip.frames.iter().map(|f| picture(first, f)).collect();
        let pairs = pictures.len() - 1;
        let of = |(columns, rows): (usize, usize)| pairs * columns * rows;
        let (cells, macroblocks) = (of(first.cells()), of(first.macroblocks()));
        Work {
            coarse: (0..cells).map(|_| Mutex::new(None)).collect(),
            searched: (0..macroblocks).map(|_| Mutex::default()).collect(),
            costs: (0..macroblocks).map(|_| AtomicU32::new(0)).collect(),
            sums: Default::default(),
            analyses,
            pictures,
        }
    }

    /// Pictures that are searched, each in the one before it.
    pub(super) fn pairs(&self) -> usize {
        self.pictures.len() - 1
    }

    /// Macroblocks of a picture.
    pub(super) fn macroblocks(&self) -> usize {
        self.searched.len() / self.pairs()
    }

    /// The analysis at a depth.
    pub(super) fn analysis(&self, subpel: u8) -> &Analysis {
        let found = self.analyses.iter().find(|(depth, _)| *depth == subpel);
        &found.unwrap_or(&self.analyses[0]).1
    }

    /// Seconds of the analysis of all pictures, with things handed over to `workers`, the calling one included.
    pub(super) fn once(
        &self,
        pool: &Pool,
        subpel: u8,
        way: &Way,
        workers: u32,
    ) -> Result<f64, Error> {
        let analysis = self.analysis(subpel);
        let begin = Instant::now();
        let bands = analysis.bands();
        let half_pel = way.half_pel.then_some((1, workers));
        each(pool, self.pairs() * bands, half_pel, &|item| {
            analysis.interpolate(&self.pictures[item / bands], item % bands);
        })?;
        let job = way.search.unwrap_or(Job::Macroblock);
        let handed = |size| way.search.map(|job| (job.grain(size), workers));
        let pairs = self.all_pairs(analysis);
        let cells = handed(analysis.cells());
        each(pool, self.coarse.len(), cells, &|item| {
            self.coarse(analysis, &pairs, item)
        })?;
        let macroblocks = handed(analysis.macroblocks());
        let count = self.searched.len();
        if job == Job::Search {
            each(pool, count, macroblocks, &|item| {
                self.search(analysis, &pairs, item)
            })?;
            each(pool, count, None, &|item| {
                self.refine(analysis, &pairs, item)
            })?;
        } else {
            each(pool, count, macroblocks, &|item| {
                self.search(analysis, &pairs, item);
                self.refine(analysis, &pairs, item);
            })?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        self.check(subpel)?;
        Ok(seconds)
    }

    /// Makes all that a search needs.
    pub(super) fn prepare(&self, analysis: &Analysis) {
        for picture in &self.pictures[..self.pairs()] {
            (0..analysis.bands()).for_each(|band| analysis.interpolate(picture, band));
        }
        let pairs = self.all_pairs(analysis);
        (0..self.coarse.len()).for_each(|item| self.coarse(analysis, &pairs, item));
    }

    /// Each picture with the one before it.
    pub(super) fn all_pairs<'a>(&'a self, analysis: &'a Analysis) -> Vec<Pair<'a>> {
        let pairs = self.pictures.windows(2);
        pairs
            .map(|pair| analysis.pair(&pair[1], &pair[0]))
            .collect()
    }

    /// Runs job number `index` of a size.
    pub(super) fn job(&self, analysis: &Analysis, pairs: &[Pair<'_>], job: Job, index: usize) {
        let grain = job.grain(analysis.macroblocks());
        for item in index * grain..(index + 1) * grain {
            self.search(analysis, pairs, item);
            if job != Job::Search {
                self.refine(analysis, pairs, item);
            }
        }
    }

    /// Jobs of a size that all pictures have.
    pub(super) fn jobs(&self, analysis: &Analysis, job: Job) -> usize {
        self.searched.len() / job.grain(analysis.macroblocks())
    }

    fn coarse(&self, analysis: &Analysis, pairs: &[Pair<'_>], item: usize) {
        let (pair, at) = place(item, analysis.cells());
        *unpoisoned(self.coarse[item].lock()) = Some(pairs[pair].coarse(at));
    }

    fn search(&self, analysis: &Analysis, pairs: &[Pair<'_>], item: usize) {
        let (pair, (x, y)) = place(item, analysis.macroblocks());
        let (columns, rows) = analysis.cells();
        let cell = (pair * rows + y / 2) * columns + x / 2;
        let coarse = *unpoisoned(self.coarse[cell].lock());
        if let Some(coarse) = coarse {
            let found = pairs[pair].search((x, y), &coarse);
            *unpoisoned(self.searched[item].lock()) = found;
        }
    }

    fn refine(&self, analysis: &Analysis, pairs: &[Pair<'_>], item: usize) {
        let (pair, at) = place(item, analysis.macroblocks());
        let searched = *unpoisoned(self.searched[item].lock());
        let cost = pairs[pair].refine(at, &searched);
        self.costs[item].store(cost, Ordering::Relaxed);
    }

    /// Checks that macroblocks cost as much as in other ways, and forgets them.
    fn check(&self, subpel: u8) -> Result<(), Error> {
        let costs = self.costs.iter();
        let sum = costs
            .map(|cost| u64::from(cost.swap(0, Ordering::Relaxed)))
            .sum();
        let depth = SUBPEL.iter().position(|&depth| depth == subpel);
        let known = *self.sums[depth.unwrap_or(0)].get_or_init(|| sum);
        match sum == known {
            true => Ok(()),
            false => Err(Error::Runtime(format!("pictures cost {sum} and {known}"))),
        }
    }
}

/// The pair, column and row of an item, of so many columns and rows.
fn place(item: usize, (columns, rows): (usize, usize)) -> (usize, (usize, usize)) {
    let (line, x) = (item / columns, item % columns);
    (line / rows, (x, line % rows))
}

/// Runs items, in jobs of so many on so many workers, or on this thread alone.
fn each(
    pool: &Pool,
    items: usize,
    handed: Option<(usize, u32)>,
    run: &(dyn Fn(usize) + Sync),
) -> Result<(), Error> {
    let Some((grain, workers)) = handed else {
        (0..items).for_each(run);
        return Ok(());
    };
    let batch = Batch {
        dispatch: Dispatch::Fifo,
        items: u32::try_from(items).map_err(|_| Error::Runtime("too many jobs".into()))?,
        grain: grain as u32,
        workers,
        deadline: None,
        caller: Caller::Works,
    };
    let ran = pool.run(&batch, &|_, items| {
        (items.start as usize..items.end as usize).for_each(run);
    });
    ran.map_err(|e| Error::Runtime(e.to_string()))?;
    Ok(())
}

fn picture(analysis: &Analysis, frame: &InputFrame) -> Picture {
    let frame = frame.ready();
    let planes = [0, 1, 2].map(|p| frame.plane_bytes(p));
    let [luma, cb, cr] = &planes;
    analysis.picture(Planes {
        luma,
        chroma: [cb, cr],
    })
}
