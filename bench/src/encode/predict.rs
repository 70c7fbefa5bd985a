//! Whole encodes on more workers than there are, by replaying what one worker took.

use std::collections::BTreeMap;
use std::convert::Infallible;

use evener_h264::chosen;
use evener_h264::config::{Config, Rate, Settings};
use evener_h264::kernels::{Kernels, Samples};
use evener_h264::preprocess::Preprocess;
use evener_h264::service::{EncodeService, WAVEFRONT};
use evener_h264::session::parameters;
use evener_h264::syntax::Vui;
use evener_h264::unit::InputFrame;
use evener_runtime::replay::{self, Chunk, Recording};
use evener_runtime::{Choice, Discard, Runtime, Service, Simd, Source};
use serde::Serialize;

use super::clip::Clip;
use crate::error::Error;

/// Numbers of workers that are predicted.
pub const PREDICTED_WORKERS: [u32; 5] = [1, 2, 4, 8, 16];

/// Macroblocks of a chunk that are tried; the best counts, as with a plan that is tuned.
const GRAINS: [u32; 4] = [1, 2, 4, 8];

/// Steps of a chunk while it is recorded: replaying divides its time evenly over them.
const RECORDED: u32 = 1;

/// How much sooner than on one worker an encode should end on so many equal ones.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prediction {
    /// So many.
    pub workers: u32,
    /// All pictures.
    pub gain: f64,
    /// A picture by itself, the mean over pictures: its latency.
    pub alone: f64,
}

/// Encodes the clip on one worker and replays it. A line that a worker takes costs `hand_over` seconds.
pub(super) fn predict(
    runtime: &Runtime,
    clip: Clip,
    hand_over: f64,
) -> Result<Vec<Prediction>, Error> {
    let (recorder, replayed) = (service(&clip)?, service(&clip)?);
    let shapes = replayed.shapes(runtime.topology().private_cache());
    let Some(shape) = shapes.into_iter().find(|s| *s.structure == WAVEFRONT) else {
        return Err(failed("the encoder is no wavefront"));
    };
    let recording = Recording::new();
    let frames = Frames {
        frames: clip.frames,
        next: 0,
    };
    let stream = runtime
        .stream(frames)
        .through(recorder)
        .plan(Choice::Fixed {
            structure: WAVEFRONT.name.to_owned(),
            dispatch: None,
            grain: Some(RECORDED),
        });
    stream
        .workers(Some(1))
        .recording(&recording)
        .into(Discard)
        .map_err(failed)?;
    let chunks = recording.chunks();
    // By itself a picture waits for no other, so it may count as the first.
    let mut pictures: BTreeMap<u64, Vec<Chunk>> = BTreeMap::new();
    for chunk in &chunks {
        let of_picture = pictures.entry(chunk.unit).or_default();
        of_picture.push(Chunk {
            unit: 0,
            ..chunk.clone()
        });
    }
    let seconds = |chunks: &[Chunk], workers: u32| {
        let all = GRAINS.into_iter().filter_map(|grain| {
            let plan = (grain, workers as usize);
            replay::wavefront(&replayed, &shape, chunks, plan, hand_over)
        });
        let best = all.min_by(f64::total_cmp);
        best.ok_or_else(|| failed("the encode cannot be replayed"))
    };
    // The first is a key picture, unlike the others.
    let each: Vec<&Vec<Chunk>> = pictures.values().skip(1).collect();
    let alone = |workers| {
        let all = each.iter().map(|chunks| seconds(chunks, workers));
        all.sum::<Result<f64, Error>>()
    };
    let one = (seconds(&chunks, 1)?, alone(1)?);
    let predict = |workers| {
        Ok(Prediction {
            workers,
            gain: one.0 / seconds(&chunks, workers)?,
            alone: one.1 / alone(workers)?,
        })
    };
    PREDICTED_WORKERS.into_iter().map(predict).collect()
}

fn failed(reason: impl ToString) -> Error {
    Error::Runtime(reason.to_string())
}

/// The encoder with the default preset, at a constant quantisation parameter.
fn service(clip: &Clip) -> Result<EncodeService, Error> {
    let config = Config::new(&Settings {
        rate: Rate::Qp(super::work::QP),
        ..Settings::default()
    });
    let config = config.map_err(failed)?;
    let parameters =
        parameters(&config, &clip.format, clip.rate, Vui::default()).map_err(failed)?;
    let preprocess = Preprocess::new(&clip.format, None).map_err(failed)?;
    let kernels = Kernels {
        samples: Samples::at(chosen::ANALYSIS.level()),
        ..Kernels::at(Simd::detect())
    };
    Ok(EncodeService::new(
        &config,
        &parameters,
        preprocess,
        kernels,
    ))
}

/// The frames of a clip as a source.
struct Frames {
    frames: Vec<InputFrame>,
    next: usize,
}

impl Source<EncodeService> for Frames {
    type Error = Infallible;

    fn read(&mut self, unit: &mut InputFrame) -> Result<bool, Infallible> {
        let Some(frame) = self.frames.get(self.next) else {
            return Ok(false);
        };
        for plane in 0..3 {
            let to = unit.frame.plane_bytes_mut(plane);
            to.copy_from_slice(&frame.ready().plane_bytes(plane));
        }
        unit.number = self.next as u64;
        self.next += 1;
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.frames.len() as u64)
    }
}
