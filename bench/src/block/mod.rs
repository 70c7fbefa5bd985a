//! Requests to a compressed disk image: single blocks, requests of eight blocks on one worker and on several, the device
//! read in order, and the cost of handing out jobs. Each request is cold, since no block is kept.

mod generated;
mod tables;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use evener_block::serve::{Store, Window};
use evener_block::{Decoder, Image, Place};
use evener_runtime::{Batch, Caller, Dispatch, Pool, Rounds, Runtime, Topology, replay};
use serde::Serialize;

use crate::error::Error;
use crate::stats::{median, median_of};
use crate::workers;

/// Large requests in a row on the same workers.
const GROUP: usize = 16;
/// Bytes of a large request: eight blocks of 64 KiB, as was published.
const REQUEST: u64 = 512 << 10;
/// Bytes of a request when the device is read in order.
const READ: u64 = 1 << 20;
/// Most large requests that are measured in a round, and most bytes of the device.
const REQUESTS: usize = 200;
const DEVICE: u64 = 256 << 20;
/// Empty batches for one figure.
const EMPTY: u32 = 2000;
/// Numbers of workers that are predicted.
const PREDICTED_WORKERS: [usize; 4] = [1, 2, 4, 8];

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Images; otherwise made ones.
    pub images: Vec<PathBuf>,
    /// Numbers of workers beside one; otherwise up to one for each cpu.
    pub workers: Vec<u32>,
    /// Times everything is measured.
    pub rounds: u32,
}

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    /// The machine's key.
    pub machine: String,
    /// Of evener.
    pub version: &'static str,
    /// Of each image.
    pub images: Vec<ImageReport>,
    /// What handing out takes, by workers.
    pub hand_over: Vec<HandOver>,
    /// Times everything was measured.
    pub rounds: u32,
}

/// The cost of handing out empty jobs.
#[derive(Clone, Debug, Serialize)]
pub struct HandOver {
    /// On so many.
    pub workers: usize,
    /// A batch of eight empty jobs, in microseconds.
    pub batch_us: f64,
}

/// Figures of one image.
#[derive(Clone, Debug, Serialize)]
pub struct ImageReport {
    /// Its file.
    pub name: String,
    /// Its codec.
    pub codec: String,
    /// Bytes of most blocks.
    pub block: u32,
    /// Decoding a block that is in memory, in microseconds.
    pub decode_us: f64,
    /// The same as a request, from the look-up to the bytes.
    pub request_us: f64,
    /// Requests of 512 KiB, by workers.
    pub large: Vec<Large>,
    /// What is predicted for them from what each of their blocks takes alone.
    #[serde(rename = "foreseen")]
    pub predicted: Vec<Prediction>,
}

/// Requests of 512 KiB.
#[derive(Clone, Debug, Serialize)]
pub struct Large {
    /// On so many.
    pub workers: usize,
    /// Microseconds, in each round the median of its requests.
    pub rounds_us: Vec<f64>,
    /// How much faster than on one worker: the median of the same requests' ratios, one request after the other.
    pub gain: f64,
    /// The same for those that come after a pause, when workers sleep.
    pub gain_after_pause: f64,
    /// MB a second, the device read from its front, 256 MiB at most, by requests of 1 MiB, in each round.
    pub device: Vec<f64>,
}

/// What is predicted.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// On so many.
    pub workers: usize,
    /// How much faster than on one, with the hand-over that was measured.
    pub gain: f64,
}

/// Measures.
///
/// # Errors
/// An image cannot be read, or workers not be started.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<BlockReport, Error> {
    let counts = match options.workers.as_slice() {
        [] => (1..=workers::all()).collect(),
        some => workers::with_one(some),
    };
    let runtimes = counts
        .iter()
        .map(|&count| workers::runtime(&[count]))
        .collect::<Result<Vec<_>, _>>()?;
    let hand_over: Vec<HandOver> = runtimes
        .iter()
        .map(|runtime| hand_over(runtime.pool()))
        .collect();
    let generated = match options.images.is_empty() {
        true => Some(generated::images(&runtimes[runtimes.len() - 1])?),
        false => None,
    };
    let names = generated
        .as_ref()
        .map_or(&options.images, |generated| &generated.images);
    let images = names
        .iter()
        .map(|name| {
            progress(&name.display().to_string());
            let image = Image::open(name).map_err(|error| Error::Picture(error.to_string()))?;
            measure(Arc::new(image), &runtimes, options.rounds, &hand_over)
        })
        .collect::<Result<_, _>>()?;
    Ok(BlockReport {
        machine: Topology::detect().machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        images,
        hand_over,
        rounds: options.rounds,
    })
}

/// Times batches of eight empty jobs.
fn hand_over(pool: &Pool) -> HandOver {
    let batch = Batch {
        dispatch: Dispatch::Fifo,
        items: 8,
        grain: 1,
        workers: pool.workers() as u32,
        deadline: None,
        caller: Caller::Hurries,
    };
    let mut times: Vec<f64> = (0..EMPTY)
        .map(|_| micros(|| drop(pool.run(&batch, &|_, _| {}))))
        .collect();
    HandOver {
        workers: pool.workers(),
        batch_us: median(&mut times),
    }
}

fn measure(
    image: Arc<Image>,
    runtimes: &[Runtime],
    rounds: u32,
    hand_over: &[HandOver],
) -> Result<ImageReport, Error> {
    let (requests, codec) = requests(&image)?;
    let most = runtimes.iter().map(Runtime::workers).max().unwrap_or(1);
    let store = Store::new(Arc::clone(&image), 0, Rounds::plain(most));
    let mut samples = Samples::new(requests.len(), runtimes.len());
    for round in 0..rounds as usize {
        samples.round(&store, runtimes, &requests, round)?;
    }
    // Most of a hand-over is that workers wake, which they do at once.
    let cost = hand_over.iter().map(|h| h.batch_us).fold(0.0, f64::max);
    Ok(ImageReport {
        name: image.file().name().to_owned(),
        codec,
        block: image.block_size(),
        large: (0..runtimes.len())
            .map(|which| samples.large(which, runtimes[which].workers()))
            .collect(),
        predicted: predict(&samples.blocks, cost).into(),
        decode_us: median(&mut samples.decode),
        request_us: median(&mut samples.single),
    })
}

/// What was measured of an image, in microseconds.
struct Samples {
    /// Large requests, by runtime and round.
    large: Vec<Vec<Vec<f64>>>,
    /// MB a second of the device, by runtime and round.
    device: Vec<Vec<f64>>,
    /// Each block of each request in the first round.
    blocks: Vec<Vec<f64>>,
    /// Blocks decoded from memory, and as requests.
    decode: Vec<f64>,
    single: Vec<f64>,
}

impl Samples {
    fn new(requests: usize, runtimes: usize) -> Samples {
        Samples {
            large: vec![Vec::new(); runtimes],
            device: vec![Vec::new(); runtimes],
            blocks: vec![Vec::new(); requests],
            decode: Vec::new(),
            single: Vec::new(),
        }
    }

    /// Measures everything once more.
    fn round(
        &mut self,
        store: &Store,
        runtimes: &[Runtime],
        requests: &[Range<u64>],
        round: usize,
    ) -> Result<(), Error> {
        let mut window = Window::default();
        for rounds in &mut self.large {
            rounds.push(Vec::new());
        }
        for (number, group) in requests.chunks(GROUP).enumerate() {
            // The second runtime finds packed bytes in a cache of the processor, so they take turns in being first.
            for turn in 0..runtimes.len() {
                let which = (turn + round + number) % runtimes.len();
                let pool = runtimes[which].pool();
                for request in group {
                    let took = read(store, pool, request.clone(), &mut window)?;
                    self.large[which][round].push(took);
                }
            }
            for (number, request) in (number * GROUP..).zip(group) {
                let (alone, cold) = by_blocks(store, &runtimes[0], request.clone(), &mut window)?;
                if round == 0 {
                    self.blocks[number] = cold.clone();
                }
                self.decode.extend(alone);
                self.single.extend(cold);
            }
        }
        for (device, runtime) in self.device.iter_mut().zip(runtimes) {
            device.push(whole(store, runtime.pool(), &mut window)?);
        }
        Ok(())
    }

    /// The figures of large requests on one of the runtimes.
    fn large(&self, which: usize, workers: usize) -> Large {
        Large {
            workers,
            rounds_us: self.large[which]
                .iter()
                .map(|round| median_of(round.iter().copied()))
                .collect(),
            gain: self.gain(which, false),
            gain_after_pause: self.gain(which, true),
            device: self.device[which].clone(),
        }
    }

    /// How much faster than on one worker, request by request: the first of each group, which comes after a pause, or all
    /// others.
    fn gain(&self, which: usize, after_pause: bool) -> f64 {
        let alone = self.blocks.len() == 1;
        let rounds = self.large[0].iter().zip(&self.large[which]);
        let ratios = rounds.flat_map(|(one, some)| {
            let ratios = one.iter().zip(some).map(|(one, some)| one / some);
            ratios.enumerate()
        });
        let those = ratios.filter(|(i, _)| alone || i.is_multiple_of(GROUP) == after_pause);
        median_of(those.map(|(_, ratio)| ratio))
    }
}

/// Gains on other numbers of workers, from what each block of each request takes and what a hand-over costs.
fn predict(requests: &[Vec<f64>], hand_over: f64) -> [Prediction; PREDICTED_WORKERS.len()] {
    PREDICTED_WORKERS.map(|workers| Prediction {
        workers,
        gain: median_of(requests.iter().map(|jobs| {
            let cost = if workers > 1 { hand_over } else { 0.0 };
            let took = replay::fifo(jobs.iter().copied(), workers) + cost;
            replay::fifo(jobs.iter().copied(), 1) / took
        })),
    })
}

/// Places of requests all of whose blocks have to be decoded, from the whole of the image, and their codec.
fn requests(image: &Image) -> Result<(Vec<Range<u64>>, String), Error> {
    let (mut all, mut codec) = (Vec::new(), String::new());
    let mut at = 0;
    while at + REQUEST <= image.size() {
        let range = at..at + REQUEST;
        at = range.end;
        let mut to = range.start;
        let mut packed = true;
        while to < range.end && packed {
            let block = image.block(to).map_err(unreadable)?;
            to = block.start + block.len;
            match block.place {
                Place::Packed { codec: found, .. } => codec = found.name.to_owned(),
                _ => packed = false,
            }
        }
        if packed {
            all.push(range);
        }
    }
    if all.is_empty() {
        let reason = "no 512 KiB of it are packed throughout";
        return Err(Error::Picture(format!("{}: {reason}", image.file().name())));
    }
    let step = all.len().div_ceil(REQUESTS);
    Ok((all.into_iter().step_by(step).collect(), codec))
}

/// Microseconds of each block of a request alone: to decode it from memory, and as a request.
fn by_blocks(
    store: &Store,
    runtime: &Runtime,
    request: Range<u64>,
    window: &mut Window,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let image = store.image();
    let mut decoder = Decoder::new();
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    let (mut alone, mut cold) = (Vec::new(), Vec::new());
    let mut at = request.start;
    while at < request.end {
        let block = image.block(at).map_err(unreadable)?;
        let end = (block.start + block.len).min(request.end);
        cold.push(read(store, runtime.pool(), at..end, window)?);
        if let Place::Packed { .. } = block.place {
            image.fetch(&block, &mut packed).map_err(unreadable)?;
            plain.resize(block.len as usize, 0);
            let mut done = Ok(());
            alone.push(micros(|| {
                done = image.unpack(&mut decoder, &block, &packed, &mut plain);
            }));
            done.map_err(unreadable)?;
        }
        at = end;
    }
    Ok((alone, cold))
}

/// MB a second of the device from front to end.
fn whole(store: &Store, pool: &Pool, window: &mut Window) -> Result<f64, Error> {
    let end = store.image().size().min(DEVICE);
    let (mut at, mut took) = (0, 0.0);
    while at < end {
        let next = end.min(at + READ);
        took += read(store, pool, at..next, window)?;
        at = next;
    }
    Ok(end as f64 / took)
}

/// Microseconds of a request.
fn read(
    store: &Store,
    pool: &Pool,
    request: Range<u64>,
    window: &mut Window,
) -> Result<f64, Error> {
    let mut done = Ok(());
    let took = micros(|| {
        let found = store.look_up(request.clone(), READ, window);
        done = found.and_then(|_| store.fill(pool, window));
    });
    window.clear();
    match done {
        Ok(()) => Ok(took),
        Err(bad) => Err(Error::Picture(format!(
            "{}: byte {} cannot be read",
            store.image().file().name(),
            bad.at
        ))),
    }
}

fn unreadable(error: evener_block::Error) -> Error {
    Error::Picture(error.to_string())
}

fn micros(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64() * 1e6
}
