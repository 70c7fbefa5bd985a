//! Any legal graph gives the bytes of its definition under every structure, however a unit is cut into parts.

mod common;

use common::{all, fill, formats};
use evener_image::exec::service::{FilterService, Scratch};
use evener_image::graph::bind::{Bound, Planes};
use evener_image::graph::parse::Graph;
use evener_image::graph::plane::Port;
use evener_image::structures::{BATCHED, FARM, SEQUENTIAL, TILED};
use evener_image::{Chroma, ColourRange, Depth, Format, Frame, reference};
use evener_runtime::{Part, Service, Shape, Simd};
use proptest::prelude::*;

/// Filters that frames side by side can go through.
const SIDE_BY_SIDE: &[&str] = &[
    "undistort",
    "undistort=k1=0.3:k2=-0.2",
    "rotate=6",
    "rotate=30",
    "rotate=90",
    "rotate=-160",
    "resize=150:60",
    "resize=170:90",
    "crop=0.7",
    "crop=5:4:1:1",
    "threshold=0.3",
    "threshold=0.6:keep=below",
    "posterize=5",
    "binary",
];

/// An output that held another frame: whatever is computed has to be written again.
fn used(service: &FilterService, bound: &Bound) -> Frame {
    let mut output = service.output();
    for (p, plane) in bound.planes.iter().enumerate() {
        if !matches!(plane.result, Port::Constant(_)) {
            output.plane_bytes_mut(p).fill(0x55);
        }
    }
    output
}

/// Runs every pass of a structure in parts of at most `grain` items, each with the scratch of another worker.
fn run(service: &FilterService, shape: &Shape, grain: u32, input: &Frame, output: &Frame) {
    let mut scratches: Vec<Scratch> = (0..3).map(|_| service.scratch()).collect();
    for (pass, &items) in shape.passes.iter().enumerate() {
        for (turn, start) in (0..items).step_by(grain as usize).enumerate() {
            let items = start..items.min(start + grain);
            let part = Part {
                structure: shape.structure,
                pass,
                items,
            };
            service
                .run(&part, input, output, &mut scratches[turn % 3])
                .unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_structure_gives_the_defined_bytes(
        chain in prop::collection::vec(prop::sample::select(all()), 1..6),
        format in formats(56, 48),
        each in any::<bool>(),
        grain in 1u32..40,
        seed in any::<u32>(),
        cache_kib in prop::sample::select(vec![4usize, 64, 1024]),
    ) {
        let text = chain.join(",");
        let planes = if each { Planes::Each } else { Planes::Auto };
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, planes) else {
            return Ok(());
        };
        for simd in [Simd::Scalar, Simd::detect()] {
            let service = FilterService::new(&bound, text.clone(), cache_kib << 10, simd);
            let mut input = service.input();
            fill(&mut input, seed);
            let expected = reference::frame(&bound, &input);
            // Without storing, the work of a chain of wide stencils grows as a power of its length.
            for shape in service.shapes(cache_kib << 10).iter().filter(|s| s.work.ops < 1e8) {
                let output = used(&service, &bound);
                run(&service, shape, grain, &input, &output);
                for (p, expected) in expected.iter().enumerate() {
                    let got = output.plane_bytes(p);
                    if let Some(at) = (0..expected.len()).find(|&i| got[i] != expected[i]) {
                        let row = bound.planes[p].size.w as usize * bound.output.depth.bytes();
                        prop_assert!(
                            false,
                            "{text} on {format}, {:?}, {simd:?}, grain {grain}, cache {cache_kib} KiB: \
                             plane {p} row {} byte {} is {:#x}, not {:#x}",
                            shape.structure, at / row, at % row, got[at], expected[at],
                        );
                    }
                }
            }
        }
    }
}

/// Tiles narrower than the frame, rings that wrap, upward reading: sizes that small random frames do not reach.
#[test]
fn wide_frames_give_the_defined_bytes() {
    let format = Format {
        width: 1330,
        height: 331,
        chroma: Chroma::Mono,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    for text in [
        "blur,sobel,threshold=0.2",
        "undistort,rotate=60,crop=0.8",
        "threshold,binary,rotate=30",
        "binary,crop=0.9995,rotate=-1",
        "blur,rotate=170,blur",
        "gaussian=3,flip=v,rotate=-25",
        "undistort=k1=0.4,blur,resize=2000:100",
    ] {
        let bound = Graph::parse(text)
            .unwrap()
            .bind(&format, Planes::Auto)
            .unwrap();
        for cache in [16 << 10, 1 << 20] {
            let service = FilterService::new(&bound, text.into(), cache, Simd::detect());
            let mut input = service.input();
            fill(&mut input, 7);
            let expected = reference::frame(&bound, &input);
            let shapes = service.shapes(cache);
            for shape in shapes
                .iter()
                .filter(|s| [&TILED, &FARM, &SEQUENTIAL, &BATCHED].contains(&s.structure))
            {
                let output = service.output();
                run(&service, shape, 90, &input, &output);
                assert!(
                    *output.plane_bytes(0) == *expected[0],
                    "{text} {:?} cache {cache}",
                    shape.structure
                );
            }
        }
    }
}

/// The shape of the batched structure, if the service has it.
fn batched(service: &FilterService) -> Option<Shape> {
    let shapes = service.shapes(1 << 20);
    shapes.into_iter().find(|s| s.structure == &BATCHED)
}

/// How chains begin: with values, with a step, and with what a step may stand for, so that samples take a bit each.
const FIRST: &[&str] = &[
    "",
    "threshold=0.3,binary,",
    "threshold=0.3,rotate=30,binary,",
    "threshold=0.002,rotate=-101,binary,",
    "threshold=0.9,undistort=0.2,binary,",
    "threshold=0.5,resize=150:90,binary,",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn frames_side_by_side_come_out_as_each_alone(
        first in prop::sample::select(FIRST),
        chain in prop::collection::vec(prop::sample::select(SIDE_BY_SIDE), 1..5),
        format in formats(150, 60),
        frames in 1usize..=8,
        grain in 1u32..40,
        seed in any::<u32>(),
    ) {
        let text = format!("{first}{}", chain.join(","));
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, Planes::Each) else {
            return Ok(());
        };
        for simd in Simd::levels() {
            let service = FilterService::new(&bound, text.clone(), 1 << 20, simd);
            let Some(shape) = batched(&service) else {
                return Ok(());
            };
            prop_assert!(frames <= shape.units as usize);
            let mut inputs: Vec<Frame> = (0..frames).map(|_| service.input()).collect();
            for (i, input) in inputs.iter_mut().enumerate() {
                fill(input, seed.wrapping_add(i as u32));
            }
            let outputs: Vec<Frame> = (0..frames).map(|_| used(&service, &bound)).collect();
            let (ins, outs): (Vec<_>, Vec<_>) = inputs.iter().zip(&outputs).unzip();
            let mut scratch = service.scratch();
            for (pass, &items) in shape.passes.iter().enumerate() {
                for start in (0..items).step_by(grain as usize) {
                    let items = start..items.min(start + grain);
                    let part = Part { structure: &BATCHED, pass, items };
                    service.run_group(&part, &ins, &outs, &mut scratch).unwrap();
                }
            }
            for (i, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
                for (p, expected) in reference::frame(&bound, input).iter().enumerate() {
                    prop_assert!(
                        *output.plane_bytes(p) == **expected,
                        "{} on {}, {:?}, grain {}: plane {} of frame {} of {}",
                        text, format, simd, grain, p, i, frames,
                    );
                }
            }
        }
    }
}

/// What a stencil would need does not lie side by side, and planes of large frames would not stay in a cache.
#[test]
fn only_chains_of_warps_on_small_frames_run_batched() {
    let offered = |text: &str, width, height| {
        let format = Format {
            width,
            height,
            chroma: Chroma::Mono,
            depth: Depth::F32,
            range: ColourRange::Full,
        };
        let graph = Graph::parse(text).unwrap();
        let bound = graph.bind(&format, Planes::Auto).unwrap();
        let service = FilterService::new(&bound, text.into(), 1 << 20, Simd::detect());
        batched(&service).map(|shape| shape.passes)
    };
    assert_eq!(offered("rotate=90", 100, 100), Some(vec![100, 100]));
    assert_eq!(
        offered("undistort,binary,rotate=90,crop=0.5", 100, 100).map(|passes| passes.len()),
        Some(3)
    );
    for text in [
        "blur",
        "binary",
        "crop=0.5",
        "rotate=6,blur",
        "sobel,rotate=6",
    ] {
        assert_eq!(offered(text, 100, 100), None, "{text}");
    }
    assert_eq!(offered("rotate=90", 100, 1), None);
    assert_eq!(offered("rotate=90", 1920, 1080), None);
    assert_eq!(offered("threshold=0.5,rotate=30", 1920, 1080), None);
    // Bits of eight frames take a quarter of what the values of one do.
    assert!(offered("threshold=0.5,binary,rotate=30", 1920, 1080).is_some());
    // So do those where all that counts is whether any is above 0.
    assert!(offered("threshold=0.5,rotate=30,binary", 1920, 1080).is_some());
    assert_eq!(
        offered("threshold=0.5,rotate=30,threshold=0.2", 1920, 1080),
        None
    );
    assert_eq!(
        offered("threshold=0.0005,rotate=30,binary", 1920, 1080),
        None
    );
}
