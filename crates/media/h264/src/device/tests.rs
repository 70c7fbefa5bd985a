//! The kernels' text, compiled by the C compiler and by OpenCL where there is a driver, and what a simulated device
//! computes, against the search of a core.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use evener_devices::c::CDevice;
use evener_devices::opencl::{self, OpenCl};
use evener_runtime::Simd;
use evener_runtime::device::sim::SimDevice;
use evener_runtime::device::{Buffer, Command, Device, HostMemory};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::*;
use crate::config::{Config, Preset, Rate, Settings, Tools};
use crate::encoder::{Pass, Planes, Scratch};
use crate::estimate::Estimate;
use crate::kernels::Kernels;
use crate::rate::Rates;
use crate::search::SearchResult;
use crate::syntax::{Demand, Level, Parameters, Picture, Profile, Sequence, Vui};

const LIMIT: Duration = Duration::from_secs(100);

/// Every device there is.
static DEVICES: LazyLock<Vec<Arc<dyn Device>>> = LazyLock::new(|| {
    let sim = SimDevice::parse("sim:latency=0us").expect("a description");
    let mut devices: Vec<Arc<dyn Device>> = vec![Arc::new(CDevice::new()), Arc::new(sim)];
    match opencl::list().map(|found| found.into_iter().next()) {
        Ok(Some(found)) => devices.push(Arc::new(OpenCl::open(found).expect("a device"))),
        Ok(None) => eprintln!("without OpenCL, which has no device; install pocl-opencl-icd"),
        Err(error) => eprintln!("without OpenCL: {error}; install pocl-opencl-icd"),
    }
    devices
});

type Frame = [Vec<u8>; 3];

/// Frames of a texture that moves, with as much noise as `noise` says. With little of it, many vectors cost the same.
fn frames((width, height): (usize, usize), count: usize, noise: u8, seed: u32) -> Vec<Frame> {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as u8
    };
    let (dx, dy) = (usize::from(random() % 13), usize::from(random() % 9));
    let period = 3 + usize::from(random() % 60);
    let frame = |n: usize| {
        let mut sample = |i: usize| {
            let (x, y) = (i % width + n * dx, i / width + n * dy);
            let texture = (x * x / period + y * (x % period) + y * y / 7) % 256;
            let texture = if noise == 0 {
                texture / 64 * 64
            } else {
                texture
            };
            let noise = random().checked_rem(noise).unwrap_or(0);
            (texture as u8).saturating_add(noise)
        };
        let luma = (0..width * height).map(&mut sample).collect();
        let chroma = vec![128; width * height / 4];
        [luma, chroma.clone(), chroma]
    };
    (0..count).map(frame).collect()
}

/// An encoder whose search goes on from `starts` vectors.
fn encoder((width, height): (usize, usize), (references, starts): (u8, u8), rate: Rate) -> Encoder {
    let config = Config::new(&Settings {
        preset: Preset::Medium,
        rate,
        ..Settings::default()
    });
    let config = config.expect("options that fit together");
    let parameters = Parameters {
        sequence: Sequence {
            profile: Profile::High,
            level: Level::lowest(&Demand {
                profile: Profile::High,
                width: width as u32,
                height: height as u32,
                references,
                picture_rate: None,
                bit_rate: None,
                buffer: None,
            })
            .expect("a level"),
            width: width as u32,
            height: height as u32,
            references,
            frame_num_bits: 4,
            vui: Vui::default(),
        },
        picture: Picture {
            references,
            ..Picture::default()
        },
    };
    let tools = Tools {
        references,
        search_starts: starts,
        scene_cut: false,
        ..config.tools
    };
    let rates = Rates::new(&config, &parameters);
    Encoder::new(&parameters, tools, rates, Kernels::at(Simd::detect()), 1)
}

/// Runs a pass of a picture on this core.
fn run(encoder: &Encoder, number: u64, pass: Pass, [luma, cb, cr]: &Frame) {
    let planes = Planes {
        luma,
        chroma: [cb, cr],
    };
    let (lines, steps) = pass.lines(encoder.geometry());
    for line in 0..lines {
        let part = (pass, line, 0..steps);
        let out = Coded::default();
        encoder.run(number, part, planes, &out, &mut Scratch::default());
    }
}

/// Searches frames on every device and compares what is found with a core's.
fn compare(encoder: &Encoder, frames: &[Frame]) -> TestCaseResult {
    let mut lanes = Vec::new();
    for device in DEVICES.iter() {
        let lane = device.lane(&PROGRAM).expect("a lane");
        let lane = SearchLane::new(encoder, lane).expect("memory");
        lanes.push((device.info().name.clone(), lane));
    }
    for (number, frame) in (0..).zip(frames) {
        run(encoder, number, Pass::Prepare, frame);
        for (name, lane) in &mut lanes {
            forget(encoder, number);
            lane.search(number, LIMIT).expect("a run");
            let right = is_right(encoder, number);
            prop_assert!(right, "{} finds something else in picture {}", name, number);
        }
    }
    Ok(())
}

/// Leaves nothing of what was found in a picture.
fn forget(encoder: &Encoder, number: u64) {
    let picture = encoder.picture(number);
    for line in &picture.found {
        unpoisoned(line.write()).fill([SearchResult::default(); 4]);
    }
    for line in &picture.estimates {
        unpoisoned(line.write()).fill([Estimate::default(); 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn devices_find_what_a_core_finds(
        size in (8..80usize, 8..80usize),
        references in 1..=3u8,
        starts in 1..=2u8,
        estimates: bool,
        noise in prop::sample::select(vec![0, 1, 6, 120]),
        seed: u32,
    ) {
        let size = (2 * size.0, 2 * size.1);
        let rate = if estimates { Rate::Crf(23.0) } else { Rate::Qp(30) };
        let encoder = encoder(size, (references, starts), rate);
        compare(&encoder, &frames(size, 5, noise, seed))?;
    }
}

#[test]
fn wide_pictures_are_searched_twice_as_far() {
    for (size, seed) in [((1040, 48), 3), ((1024, 18), 4)] {
        let encoder = encoder(size, (1, 2), Rate::Crf(23.0));
        compare(&encoder, &frames(size, 3, 2, seed)).expect("the same");
    }
}

#[test]
fn what_differs_is_not_right() {
    let size = (96, 80);
    let encoder = encoder(size, (1, 2), Rate::Crf(23.0));
    let frames = frames(size, 2, 9, 7);
    for (number, frame) in (0..).zip(&frames) {
        run(&encoder, number, Pass::Prepare, frame);
        run(&encoder, number, Pass::Search, frame);
        assert!(is_right(&encoder, number));
    }
    let picture = encoder.picture(1);
    unpoisoned(picture.found[2].write())[1][1].sub_macroblocks[3].y += 4;
    assert!(!is_right(&encoder, 1));
    unpoisoned(picture.found[2].write())[1][1].sub_macroblocks[3].y -= 4;
    assert!(is_right(&encoder, 1));
    unpoisoned(picture.estimates[0].write())[0][0].intra ^= 1;
    assert!(!is_right(&encoder, 1));
}

#[test]
fn pictures_go_up_once() {
    let size = (64, 48);
    let encoder = encoder(size, (2, 2), Rate::Qp(30));
    let up = Arc::new(AtomicUsize::new(0));
    let lane = Counting {
        lane: DEVICES[1].lane(&PROGRAM).expect("a lane"),
        up: Arc::clone(&up),
    };
    let mut lane = SearchLane::new(&encoder, Box::new(lane)).expect("memory");
    for (number, frame) in (0..).zip(&frames(size, 5, 9, 1)) {
        run(&encoder, number, Pass::Prepare, frame);
        lane.search(number, LIMIT).expect("a run");
        // Three planes each; nothing is searched in the first picture.
        let pictures = if number == 0 { 0 } else { number as usize + 1 };
        assert_eq!(up.load(Ordering::Relaxed), 3 * pictures);
    }
}

/// A lane that counts what goes up.
struct Counting {
    lane: Box<dyn Lane>,
    up: Arc<AtomicUsize>,
}

impl Lane for Counting {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.lane.buffer(bytes)
    }

    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError> {
        let up = commands
            .iter()
            .filter(|c| matches!(c, Command::Upload { .. }));
        self.up.fetch_add(up.count(), Ordering::Relaxed);
        self.lane.run(commands, limit)
    }
}

/// A lane whose device gives ones.
struct Ones(HostMemory);

impl Lane for Ones {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        Ok(self.0.add(bytes))
    }

    fn run(&mut self, commands: &mut [Command<'_>], _: Duration) -> Result<(), DeviceError> {
        for command in commands {
            if let Command::Download { to, .. } = command {
                to.fill(1);
            }
        }
        Ok(())
    }
}

#[test]
fn what_no_search_finds_is_an_error() {
    let size = (64, 48);
    for (rate, number) in [(Rate::Qp(30), 1), (Rate::Crf(20.0), 0)] {
        let encoder = encoder(size, (1, 2), rate);
        for (number, frame) in (0..).zip(&frames(size, 2, 9, 1)) {
            run(&encoder, number, Pass::Prepare, frame);
        }
        let lane = Box::new(Ones(HostMemory::default()));
        let mut lane = SearchLane::new(&encoder, lane).expect("memory");
        let error = lane
            .search(number, LIMIT)
            .expect_err("vectors between samples");
        assert!(matches!(error, DeviceError::Impossible { .. }), "{error}");
    }
}
