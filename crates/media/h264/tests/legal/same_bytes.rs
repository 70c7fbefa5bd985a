//! One stream, whatever the number of workers, the size of jobs and the SIMD level.

use std::convert::Infallible;
use std::sync::Arc;

use evener_h264::config::{Config, Preset, Rate, Settings};
use evener_h264::encoder::{Encoder, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::preprocess::Preprocess;
use evener_h264::rate::Rates;
use evener_h264::service::EncodeService;
use evener_h264::syntax::{Entropy, LEVELS, Parameters, Picture, Sequence, Vui};
use evener_h264::unit::{Coded, InputFrame};
use evener_image::{Chroma, ColourRange, Depth, Format};
use evener_runtime::stream::{Report, Sink, Source};
use evener_runtime::{Runtime, Simd};

use crate::content::{self, Frame};
use crate::rng::Rng;

pub const SIZE: (usize, usize) = (84, 66);
pub const FRAMES: usize = 26;
const WORKERS: usize = 8;
const GRAINS: [u32; 4] = [1, 2, 8, 1000];

/// Scenes, each of a random frame that moves, with noise.
pub fn frames() -> Arc<[Frame]> {
    let mut rng = Rng::new(34);
    let mut frames: Vec<Frame> = Vec::new();
    for number in 0..FRAMES {
        let frame = match number % 9 {
            0 => content::frame(&mut rng, SIZE, None),
            _ => content::moved(&mut rng, SIZE, &frames[number - 1]),
        };
        frames.push(frame);
    }
    frames.into()
}

pub fn configs() -> Vec<Config> {
    let settings = |preset, rate| Settings {
        preset,
        rate,
        keyint: 11,
        ..Settings::default()
    };
    let limited = Settings {
        maxrate: Some(300_000),
        bufsize: Some(150_000),
        ..settings(Preset::Fast, Rate::Bitrate(200_000))
    };
    let few = Settings {
        maxrate: Some(200_000),
        bufsize: Some(100_000),
        ..settings(Preset::Superfast, Rate::Crf(18.0))
    };
    [
        settings(Preset::Ultrafast, Rate::Qp(24)),
        settings(Preset::Slow, Rate::Crf(23.0)),
        settings(Preset::Medium, Rate::Bitrate(150_000)),
        limited,
        few,
    ]
    .iter()
    .map(|settings| Config::new(settings).unwrap())
    .collect()
}

fn parameters(config: &Config) -> Parameters {
    Parameters {
        sequence: Sequence {
            profile: config.profile,
            level: LEVELS.iter().find(|level| level.name == "4").unwrap(),
            width: SIZE.0 as u32,
            height: SIZE.1 as u32,
            references: config.tools.references,
            frame_num_bits: 8,
            vui: Vui::default(),
        },
        picture: Picture {
            entropy: match config.tools.cabac {
                true => Entropy::Cabac,
                false => Entropy::Cavlc,
            },
            references: config.tools.references,
            transform_8x8: config.tools.transform_8x8,
            ..Picture::default()
        },
    }
}

/// Picture after picture, pass after pass, without the runtime.
pub fn in_order(config: &Config, frames: &[Frame]) -> Vec<Vec<u8>> {
    let parameters = parameters(config);
    let rates = Rates::new(config, &parameters);
    let kernels = Kernels::at(Simd::Scalar);
    let encoder = Encoder::new(&parameters, config.tools, rates, kernels, 1);
    let (coded, mut scratch) = (Coded::default(), Scratch::default());
    let pictures = (0..).zip(frames).map(|(number, frame)| {
        let planes = Planes {
            luma: &frame[0],
            chroma: [&frame[1], &frame[2]],
        };
        for pass in Pass::ALL {
            let (lines, steps) = pass.lines(encoder.geometry());
            for line in 0..lines {
                let part = (pass, line, 0..steps);
                encoder.run(number, part, planes, &coded, &mut scratch);
            }
        }
        coded.picture().bytes.clone()
    });
    pictures.collect()
}

struct Numbered {
    frames: Arc<[Frame]>,
    next: usize,
}

impl Source<EncodeService> for Numbered {
    type Error = Infallible;

    fn read(&mut self, unit: &mut InputFrame) -> Result<bool, Infallible> {
        let Some(frame) = self.frames.get(self.next) else {
            return Ok(false);
        };
        for (p, plane) in frame.iter().enumerate() {
            unit.frame.plane_bytes_mut(p).copy_from_slice(plane);
        }
        unit.number = self.next as u64;
        self.next += 1;
        Ok(true)
    }
}

struct Pictures<'a>(&'a mut Vec<Vec<u8>>);

impl Sink<EncodeService> for Pictures<'_> {
    type Error = Infallible;

    fn write(&mut self, unit: &Coded) -> Result<(), Infallible> {
        self.0.push(unit.picture().bytes.clone());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Codes frames as a stream of the runtime.
pub fn streamed(
    runtime: &Runtime,
    config: &Config,
    frames: &Arc<[Frame]>,
    (plan, simd): (&str, Simd),
) -> (Vec<Vec<u8>>, Report) {
    let format = Format {
        width: SIZE.0 as u32,
        height: SIZE.1 as u32,
        chroma: Chroma::C420,
        depth: Depth::U8,
        range: ColourRange::Limited,
    };
    let service = EncodeService::new(
        config,
        &parameters(config),
        Preprocess::new(&format, None).unwrap(),
        Kernels::at(simd),
    );
    let source = Numbered {
        frames: frames.clone(),
        next: 0,
    };
    let mut pictures = Vec::new();
    let stream = runtime.stream(source).through(service);
    let stream = stream.plan(plan.parse().unwrap());
    let report = stream.into(Pictures(&mut pictures)).unwrap();
    (pictures, report)
}

#[test]
fn bytes_depend_on_neither_workers_nor_grain_nor_kernels() {
    let frames = frames();
    let configs = configs();
    let expected: Vec<_> = configs.iter().map(|c| in_order(c, &frames)).collect();
    let levels = Simd::levels();
    for workers in 1..=WORKERS {
        let builder = Runtime::builder().workers(workers).memory(false);
        let runtime = builder.build().unwrap();
        for (config, expected) in configs.iter().zip(&expected) {
            for (i, grain) in GRAINS.into_iter().enumerate() {
                let simd = levels[(workers + i) % levels.len()];
                let plan = format!("wavefront/fifo/{grain}");
                let (pictures, _) = streamed(&runtime, config, &frames, (&plan, simd));
                let what = format!("{workers} workers, {plan}, {simd}, {config:?}");
                let wrong = pictures.iter().zip(expected).position(|(a, b)| a != b);
                assert_eq!(wrong, None, "{what}");
                assert_eq!(pictures.len(), FRAMES, "{what}");
            }
        }
    }
}

/// The frames have what makes a stream depend on order: changes of scene and limits that are reached.
#[test]
fn scenes_and_limits_are_met() {
    let frames = frames();
    let [_, slow, _, limited, few] = &configs()[..] else {
        panic!("five configurations")
    };
    let keys = |config: &Config| {
        let pictures = in_order(config, &frames);
        let key = |bytes: &Vec<u8>| bytes[4] & 31 == 7;
        pictures.iter().map(key).collect::<Vec<_>>()
    };
    let cut = keys(slow)
        .iter()
        .enumerate()
        .any(|(n, &key)| key && n % 11 != 0);
    assert!(cut, "no change of scene");
    for config in [limited, few] {
        let free = Config {
            vbv: None,
            ..config.clone()
        };
        assert!(in_order(&free, &frames) != in_order(config, &frames));
    }
}
