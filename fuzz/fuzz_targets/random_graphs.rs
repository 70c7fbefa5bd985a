//! Random graphs on random frames: every plan gives the bytes of the definition, in a stream that switches from each to
//! the next.

#![no_main]
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use evener_image::exec::service::FilterService;
use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, ColourRange, Depth, Format, Frame, reference};
use evener_runtime::device::sim::SimDevice;
use evener_runtime::stream::{Schedule, Sink, Source};
use evener_runtime::tuner::{Epoch, Measured, Purpose};
use evener_runtime::{Dispatch, Plan, Runtime, Service, Simd};
use libfuzzer_sys::fuzz_target;

const WORKERS: u32 = 2;
/// Units between two changes of the plan, at most.
const UNITS: u32 = 3;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let builder = Runtime::builder().workers(WORKERS as usize);
    builder.memory(false).build().expect("two workers")
});

/// The input as numbers, then zeros for ever: so every input is a case.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn signed(&mut self) -> f64 {
        f64::from(self.next() as i8)
    }
}

/// The same frame again and again.
struct Again(Box<Frame>, u64);

impl Source<FilterService> for Again {
    type Error = Infallible;

    fn read(&mut self, frame: &mut Frame) -> Result<bool, Infallible> {
        if self.1 == 0 {
            return Ok(false);
        }
        self.1 -= 1;
        for p in 0..frame.format().planes() {
            frame
                .plane_bytes_mut(p)
                .copy_from_slice(&self.0.plane_bytes(p));
        }
        Ok(true)
    }

    fn inline(&self) -> bool {
        true
    }
}

const DEPTHS: [Depth; 5] = [Depth::U8, Depth::U10, Depth::U12, Depth::U16, Depth::F32];

/// Every plane is as it should be.
struct Compare<'a> {
    expected: &'a [Vec<u8>],
    text: &'a str,
    frames: u64,
}

impl Sink<FilterService> for &mut Compare<'_> {
    type Error = Infallible;

    fn write(&mut self, frame: &Frame) -> Result<(), Infallible> {
        for (p, expected) in self.expected.iter().enumerate() {
            let (text, number) = (self.text, self.frames);
            assert!(
                *frame.plane_bytes(p) == **expected,
                "{text}: plane {p} of frame {number}"
            );
        }
        self.frames += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}

/// Plans in turn.
struct Turns<'a> {
    plans: &'a [Plan],
    number: u64,
}

impl Schedule for Turns<'_> {
    fn next(&mut self) -> Epoch {
        let plan = self.plans[self.number as usize % self.plans.len()];
        self.number += 1;
        Epoch {
            number: self.number,
            plan,
            units: 1 + self.number as u32 % UNITS,
            cutoff: None,
            fallback: plan,
            pin_workers: false,
            purpose: Purpose::Fixed,
        }
    }

    fn record(&mut self, _: Measured<'_>) {}
    fn buffers(&mut self, _: Duration, _: u32) {}
    fn prepared(&mut self, _: Duration) {}
}

fn filter(bytes: &mut Bytes<'_>) -> String {
    match bytes.next() % 27 {
        0 => "blur".into(),
        1 => format!("gaussian={}", 0.2 + f64::from(bytes.next() % 32) / 16.0),
        2 => "sobel_x".into(),
        3 => "sobel_y".into(),
        4 => "sobel".into(),
        5 => {
            let keep = if bytes.next() % 2 == 0 {
                "above"
            } else {
                "below"
            };
            format!("threshold={}:keep={keep}", f64::from(bytes.next()) / 255.0)
        }
        6 => format!(
            "undistort=k1={}:k2={}",
            bytes.signed() / 64.0,
            bytes.signed() / 64.0
        ),
        7 => format!("crop={}", 0.3 + f64::from(bytes.next() % 64) / 91.0),
        8 => format!("rotate={}", bytes.signed() * 2.0 + bytes.signed() / 64.0),
        9 => {
            let methods = ["bilinear", "bicubic", "lanczos", "area", "neighbor"];
            let method = methods[usize::from(bytes.next()) % methods.len()];
            let (w, h) = (1 + bytes.next() % 60, 1 + bytes.next() % 60);
            format!("resize={w}:{h}:{method}")
        }
        10 => format!("posterize={}", 2 + bytes.next() % 40),
        11 => "binary".into(),
        12 => format!("transpose={}", bytes.next() % 4),
        13 => format!(
            "pad=iw+{}:ih+{}:-1:{}",
            bytes.next() % 20,
            bytes.next() % 20,
            -1 + i32::from(bytes.next() % 2)
        ),
        14 => format!(
            "eq={}:0.1:0.5:{}",
            bytes.signed() / 32.0,
            0.1 + f64::from(bytes.next() % 64) / 8.0
        ),
        15 => format!(
            "unsharp={}:5:{}",
            3 + bytes.next() % 5 * 2,
            bytes.signed() / 64.0
        ),
        16 => "median".into(),
        17 => format!("denoise={}", 0.01 + f64::from(bytes.next()) / 255.0),
        18 => ["deinterlace=keep=top", "deinterlace=keep=bottom"][usize::from(bytes.next() % 2)]
            .into(),
        19 => format!("boxblur={}:{}", bytes.next() % 5, bytes.next() % 4),
        20 => format!(
            "avgblur={}:{}:{}",
            1 + bytes.next() % 20,
            bytes.next() % 16,
            bytes.next() % 9
        ),
        21 => ["negate", "negate=y", "negate=u+v"][usize::from(bytes.next() % 3)].into(),
        22 => format!("lut='val*{}':u=negval", bytes.signed() / 64.0),
        23 => format!(
            "hue=s={}:b={}",
            bytes.signed() / 13.0,
            bytes.signed() / 13.0
        ),
        24 => format!(
            "drawbox={}:{}:{}:{}:red@0.4:{}",
            bytes.signed() / 4.0,
            bytes.signed() / 4.0,
            bytes.next() % 60,
            bytes.next() % 60,
            bytes.next() % 9
        ),
        25 => format!(
            "vignette={}:{}",
            f64::from(bytes.next()) / 160.0,
            bytes.signed()
        ),
        _ => format!("flip={}", if bytes.next() % 2 == 0 { "h" } else { "v" }),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data.iter());
    let filters: Vec<String> = (0..=bytes.next() % 5).map(|_| filter(&mut bytes)).collect();
    let text = filters.join(",");
    let format = Format {
        width: 1 + u32::from(bytes.next() % 56),
        height: 1 + u32::from(bytes.next() % 56),
        chroma: [Chroma::Mono, Chroma::C420, Chroma::C422, Chroma::C444]
            [usize::from(bytes.next() % 4)],
        depth: DEPTHS[usize::from(bytes.next()) % DEPTHS.len()],
        range: [ColourRange::Full, ColourRange::Limited][usize::from(bytes.next() % 2)],
    };
    let planes = if bytes.next() % 2 == 0 {
        Planes::Each
    } else {
        Planes::Auto
    };
    let grain = 1 + u32::from(bytes.next() % 64);
    let cache = if bytes.next() % 2 == 0 {
        8 << 10
    } else {
        1 << 20
    };
    let fault = FAULTS[usize::from(bytes.next()) % FAULTS.len()];
    let after = 1 + bytes.next() % 16;
    let Ok(bound) = Graph::parse(&text).and_then(|g| g.bind(&format, planes)) else {
        return;
    };
    let service = FilterService::new(&bound, text.clone(), cache, Simd::detect());
    let mut input = service.input();
    let rest: Vec<u8> = bytes.0.copied().collect();
    for p in 0..format.planes() {
        let plane = input.plane_bytes_mut(p);
        let mut samples = rest.iter().copied().chain(1..=255).cycle();
        match format.depth {
            Depth::U8 => plane
                .iter_mut()
                .for_each(|b| *b = samples.next().unwrap_or(0)),
            Depth::U10 | Depth::U12 | Depth::U16 => {
                let bits = format.depth.bits().unwrap_or(8);
                plane.chunks_exact_mut(2).for_each(|c| {
                    let code = u16::from(samples.next().unwrap_or(0)) << (bits - 8);
                    c.copy_from_slice(&code.to_ne_bytes());
                });
            }
            Depth::F32 => plane.chunks_exact_mut(4).for_each(|c| {
                let value = f32::from(samples.next().unwrap_or(0)) / 255.0;
                c.copy_from_slice(&value.to_ne_bytes());
            }),
        }
    }
    let expected = reference::frame(&bound, &input);
    // Without storing, the work of a chain of wide stencils grows as a power of its length.
    let shapes = service.shapes(cache);
    let shapes = shapes.iter().filter(|s| s.work.ops < 5e6);
    let plans: Vec<Plan> = shapes
        .flat_map(|shape| {
            Dispatch::ALL
                .into_iter()
                .enumerate()
                .map(move |(i, dispatch)| Plan {
                    structure: shape.structure,
                    dispatch,
                    grain,
                    workers: WORKERS - u32::from(i == 0),
                    devices: 0,
                })
        })
        .collect();
    if plans.is_empty() {
        return;
    }
    let units = u64::from(UNITS) * plans.len() as u64;
    let mut compare = Compare {
        expected: &expected,
        text: &format!("{text} on {format}"),
        frames: 0,
    };
    let mut again = service.input();
    for p in 0..format.planes() {
        again
            .plane_bytes_mut(p)
            .copy_from_slice(&input.plane_bytes(p));
    }
    let stream = RUNTIME
        .stream(Again(Box::new(input), units))
        .through(service);
    let plans = Turns {
        plans: &plans,
        number: 0,
    };
    stream
        .scheduled_by(plans)
        .into(&mut compare)
        .expect("filters do not fail");
    assert_eq!(compare.frames, units);

    // The same beside a device that fails after some calls; every unit is compared with a core's.
    let sim = format!("sim:latency=1us,{}", fault.replace('N', &after.to_string()));
    let device = SimDevice::parse(&sim).expect("a description");
    let builder = Runtime::builder().workers(1).device_checks(1);
    let runtime = builder.devices(vec![Arc::new(device)]).build();
    compare.frames = 0;
    runtime
        .expect("one worker")
        .stream(Again(Box::new(again), DEVICE_UNITS))
        .through(FilterService::new(
            &bound,
            text.clone(),
            cache,
            Simd::detect(),
        ))
        .plan("farm".parse().expect("a plan"))
        .into(&mut compare)
        .expect("filters do not fail");
    assert_eq!(compare.frames, DEVICE_UNITS);
});

/// What may happen to a device at a call.
const FAULTS: [&str; 5] = ["drift=Nx3", "lost=N", "flip=N", "memory=NK", "engines=1"];
/// Units of the stream beside a device.
const DEVICE_UNITS: u64 = 24;
