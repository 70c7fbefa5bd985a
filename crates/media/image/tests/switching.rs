//! Random graphs in streams whose plan is switched again and again: every frame comes out once, in order, with the bytes
//! of its definition, whatever the structures, dispatches, grains, workers and SIMD levels.

mod common;

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use common::{FILTERS, all, fill, formats};
use evener_devices::c::CDevice;
use evener_image::exec::service::FilterService;
use evener_image::graph::bind::{Bound, Planes};
use evener_image::graph::parse::Graph;
use evener_image::structures;
use evener_image::{Chroma, ColourRange, Depth, Format, Frame, reference};
use evener_runtime::device::Device;
use evener_runtime::device::sim::SimDevice;
use evener_runtime::stream::{Schedule, Sink, Source};
use evener_runtime::tuner::{Epoch, Measured, Purpose};
use evener_runtime::{Dispatch, Plan, Runtime, Service, Simd, Structure};
use proptest::prelude::*;

/// More workers than there may be processors: jobs then wait at any place.
const WORKERS: u32 = 3;
/// Frames that differ, which come again and again.
const DIFFERENT: u64 = 5;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let builder = Runtime::builder().workers(WORKERS as usize);
    builder.memory(false).build().unwrap()
});

/// Frames by number, from those that differ.
struct Numbered {
    frames: Arc<[Frame]>,
    next: u64,
    end: u64,
}

impl Source<FilterService> for Numbered {
    type Error = Infallible;

    fn read(&mut self, frame: &mut Frame) -> Result<bool, Infallible> {
        if self.next == self.end {
            return Ok(false);
        }
        let from = &self.frames[self.next as usize % self.frames.len()];
        for p in 0..from.format().planes() {
            frame
                .plane_bytes_mut(p)
                .copy_from_slice(&from.plane_bytes(p));
        }
        self.next += 1;
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.end)
    }
}

/// Compares what comes with what is to come.
struct Expects<'a> {
    frames: &'a [Vec<Vec<u8>>],
    came: u64,
    wrong: Option<String>,
}

impl Sink<FilterService> for &mut Expects<'_> {
    type Error = Infallible;

    fn write(&mut self, frame: &Frame) -> Result<(), Infallible> {
        let expected = &self.frames[self.came as usize % self.frames.len()];
        for (p, expected) in expected.iter().enumerate() {
            if *frame.plane_bytes(p) != **expected && self.wrong.is_none() {
                self.wrong = Some(format!("plane {p} of frame {}", self.came));
            }
        }
        self.came += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Plans in turn, each for some units; now and then one is cut off at once and its unit done again.
struct Turns {
    plans: Vec<(Plan, u32, bool)>,
    number: u64,
}

impl Schedule for Turns {
    fn next(&mut self) -> Epoch {
        let at = |number: u64| self.plans[number as usize % self.plans.len()];
        let (plan, units, cut_off) = at(self.number);
        self.number += 1;
        Epoch {
            number: self.number,
            plan,
            units,
            cutoff: cut_off.then_some(Duration::ZERO),
            fallback: at(self.number).0,
            pin_workers: units % 2 == 0,
            purpose: Purpose::Fixed,
        }
    }

    fn record(&mut self, _: Measured<'_>) {}
    fn buffers(&mut self, _: Duration, _: u32) {}
    fn prepared(&mut self, _: Duration) {}
}

fn service(bound: &Bound, text: &str, simd: Simd, cache: usize) -> FilterService {
    FilterService::new(bound, text.to_owned(), cache, simd)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn plans_switched_in_mid_stream_lose_repeat_reorder_and_change_nothing(
        chain in prop::collection::vec(prop::sample::select(all()), 1..5),
        format in formats(56, 48),
        each in any::<bool>(),
        seed in any::<u32>(),
        units in 0u64..60,
        turns in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(Dispatch::ALL.to_vec()), 1u32..80, 1..=WORKERS, 0u32..9,
             prop::bool::weighted(0.1)),
            1..24,
        ),
    ) {
        let text = chain.join(",");
        let planes = if each { Planes::Each } else { Planes::Auto };
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, planes) else {
            return Ok(());
        };
        let cache = 64 << 10;
        let frames: Arc<[Frame]> = (0..DIFFERENT)
            .map(|i| {
                let mut frame = service(&bound, &text, Simd::Scalar, cache).input();
                fill(&mut frame, seed.wrapping_add(i as u32));
                frame
            })
            .collect();
        let expected: Vec<_> = frames.iter().map(|f| reference::frame(&bound, f)).collect();
        for simd in Simd::levels() {
            let filters = service(&bound, &text, simd, cache);
            // Without storing, the work of a chain of wide stencils grows as a power of its length.
            let shapes = filters.shapes(cache);
            let structures: Vec<&'static Structure> =
                shapes.iter().filter(|s| s.work.ops < 1e7).map(|s| s.structure).collect();
            if structures.is_empty() {
                return Ok(());
            }
            let plans = turns.iter().map(|&(ref structure, dispatch, grain, workers, units, cut_off)| {
                let structure = *structure.get(&structures);
                (Plan { structure, dispatch, grain, workers, devices: 0 }, units, cut_off)
            });
            let schedule = Turns { plans: plans.collect(), number: 0 };
            let source = Numbered { frames: Arc::clone(&frames), next: 0, end: units };
            let mut sink = Expects { frames: &expected, came: 0, wrong: None };
            let stream = RUNTIME.stream(source).through(filters);
            let report = stream.scheduled_by(schedule).into(&mut sink).unwrap();
            prop_assert_eq!((report.units, sink.came), (units, units), "{} {:?}", text, simd);
            prop_assert_eq!(sink.wrong, None, "{} on {}, {:?}", text, format, simd);
        }
    }
}

/// The device of a name: the kernels on the C compiler, or a simulated one, which may fail.
fn device(name: &str) -> Arc<dyn Device> {
    static C: LazyLock<Arc<CDevice>> = LazyLock::new(|| Arc::new(CDevice::new()));
    match name {
        "c" => Arc::clone(&C) as _,
        sim => Arc::new(SimDevice::parse(sim).unwrap()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn devices_beside_the_workers_change_nothing_whether_they_fail_or_not(
        chain in prop::collection::vec(prop::sample::select(FILTERS), 1..5),
        format in formats(56, 48),
        each in any::<bool>(),
        seed in any::<u32>(),
        units in 1u64..200,
        name in prop::sample::select(vec![
            "c", "sim:latency=10us", "sim:unit=1ms", "sim:lost=1", "sim:lost=7", "sim:flip=1", "sim:flip=9",
            "sim:memory=100000",
        ]),
    ) {
        let text = chain.join(",");
        let planes = if each { Planes::Each } else { Planes::Auto };
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, planes) else {
            return Ok(());
        };
        let filters = service(&bound, &text, Simd::detect(), 64 << 10);
        let frames: Arc<[Frame]> = (0..DIFFERENT)
            .map(|i| {
                let mut frame = filters.input();
                fill(&mut frame, seed.wrapping_add(i as u32));
                frame
            })
            .collect();
        let expected: Vec<_> = frames.iter().map(|f| reference::frame(&bound, f)).collect();
        let builder = Runtime::builder().workers(2).device_checks(1);
        let runtime = builder.devices(vec![device(name)]).build().unwrap();
        let source = Numbered { frames, next: 0, end: units };
        let mut sink = Expects { frames: &expected, came: 0, wrong: None };
        let stream = runtime.stream(source).through(filters).plan("farm".parse().unwrap());
        let report = stream.into(&mut sink).unwrap();
        prop_assert_eq!((report.units, sink.came), (units, units), "{} {}", text, name);
        prop_assert_eq!(sink.wrong, None, "{} on {}, {}", text, format, name);
    }
}

/// What plans are switched between.
#[test]
fn filters_offer_every_structure_of_theirs() {
    let format = Format {
        width: 40,
        height: 30,
        chroma: Chroma::Mono,
        depth: Depth::U8,
        range: ColourRange::Full,
    };
    let structures = |text: &str| {
        let bound = Graph::parse(text).unwrap().bind(&format, Planes::Auto);
        let filters = service(&bound.unwrap(), text, Simd::detect(), 64 << 10);
        filters.shapes(64 << 10)
    };
    let shapes = [structures("blur,sobel"), structures("rotate=30,binary")].concat();
    for structure in structures::ALL {
        assert!(
            shapes.iter().any(|s| s.structure == structure),
            "{structure}"
        );
    }
}
