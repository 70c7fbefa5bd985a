//! Planes that are computed in integers: every level and every division into parts gives the bytes of their definition,
//! which are within a code of those in floats.

mod common;

use common::fill;
use evener_image::exec::service::FilterService;
use evener_image::graph::{Bound, Graph, Planes};
use evener_image::integer::{Integer, MOST_ERROR};
use evener_image::{Chroma, ColourRange, Depth, Format, Frame, reference};
use evener_runtime::{Part, Service, Shape, Simd};
use proptest::prelude::*;

/// Filters that are computed in integers in 8 bits, with windows of every kind: of one sample, of two, of several in one
/// load and in many, and of samples far apart.
const FILTERS: &[&str] = &[
    "scale=2*iw:2*ih",
    "scale=2*iw:2*ih:flags=bilinear",
    "scale=3*iw:ih:flags=lanczos",
    "scale=iw+7:3*ih",
    "scale=iw:ih+5:flags=area",
    "scale=2*iw/3:2*ih/3",
    "scale=2*iw/3:2*ih/3:flags=area",
    "scale=iw/2:ih/2:flags=lanczos",
    "scale=iw/2:2*ih:flags=bilinear",
    "scale=iw/3:ih/3",
    "scale=ceil(iw/5):ceil(ih/5)",
    "scale=ceil(iw/9):ceil(ih/9):flags=bilinear",
    "scale=ceil(iw/7):ceil(ih/7):flags=neighbor",
    "scale=2*iw+1:2*ih+1:flags=neighbor",
    "resize=31:17",
    "resize=8:8:area",
    "gaussian=0.4",
    "gaussian=1.5",
    "gaussian=4",
    "gaussian=5",
];

/// Bells in two steps. Their definition takes long, so frames of them are small.
const BELLS: &[&str] = &["gaussian=5", "gaussian=10", "gaussian=23", "gaussian=50"];

const MOVES: &[&str] = &[
    "hflip",
    "vflip",
    "transpose=clock",
    "transpose",
    "transpose=cclock",
    "crop=iw-3:ih-2:2:1",
    "crop=0.7",
];

fn format(width: u32, height: u32, chroma: Chroma, depth: Depth) -> Format {
    Format {
        width,
        height,
        chroma,
        depth,
        range: ColourRange::Limited,
    }
}

fn codes(bytes: &[u8], depth: Depth) -> Vec<u16> {
    match depth {
        Depth::U8 => bytes.iter().map(|&code| u16::from(code)).collect(),
        _ => bytemuck::pod_collect_to_vec(bytes),
    }
}

/// Runs a shape with one pass in parts of `grain` items.
fn run(service: &FilterService, shape: &Shape, grain: u32, input: &Frame) -> Frame {
    let output = service.output();
    let mut scratch = service.scratch();
    for (pass, &items) in shape.passes.iter().enumerate() {
        for start in (0..items).step_by(grain as usize) {
            let items = start..items.min(start + grain);
            let part = Part {
                structure: shape.structure,
                pass,
                items,
            };
            service.run(&part, input, &output, &mut scratch).unwrap();
        }
    }
    output
}

/// Compares every structure at every level with the definition, and that with floats. Returns how many planes were
/// computed in integers.
fn check(text: &str, bound: &Bound, input: &Frame, grain: u32) -> usize {
    let expected = reference::frame(bound, input);
    let floats = reference::frame_in_floats(bound, input);
    let depth = bound.input.depth;
    let mut integers = 0;
    for (p, graph) in bound.planes.iter().enumerate() {
        let Some(integer) = Integer::of(graph, depth) else {
            assert!(expected[p] == floats[p]);
            continue;
        };
        assert!(integer.error <= MOST_ERROR);
        integers += 1;
        let (own, floats) = (codes(&expected[p], depth), codes(&floats[p], depth));
        for (i, (a, b)) in own.iter().zip(&floats).enumerate() {
            let at = (i % graph.size.w as usize, i / graph.size.w as usize);
            assert!(
                a.abs_diff(*b) <= 1,
                "{text} on {}: plane {p} at {at:?} is {a}, in floats {b}",
                bound.input
            );
        }
    }
    for simd in Simd::levels() {
        let service = FilterService::new(bound, text.to_owned(), 64 << 10, simd);
        for shape in service.shapes(64 << 10).iter().filter(|s| s.units == 1) {
            let got = run(&service, shape, grain, input);
            for (p, expected) in expected.iter().enumerate() {
                let got = got.plane_bytes(p);
                if let Some(at) = (0..expected.len()).find(|&i| got[i] != expected[i]) {
                    let row = bound.planes[p].size.w as usize * depth.bytes();
                    panic!(
                        "{text} on {}, {:?}, {simd}, grain {grain}: plane {p} row {} byte {} is {}, not {}",
                        bound.input,
                        shape.structure,
                        at / row,
                        at % row,
                        got[at],
                        expected[at]
                    );
                }
            }
        }
    }
    integers
}

#[test]
fn filters_are_within_a_code_of_floats_at_every_level() {
    let mut integers = 0;
    for text in FILTERS {
        for (w, h, chroma) in [
            (200, 120, Chroma::C420),
            (67, 45, Chroma::Mono),
            (9, 70, Chroma::C444),
        ] {
            for depth in [Depth::U8, Depth::U10, Depth::U12, Depth::U16] {
                let format = format(w, h, chroma, depth);
                let graph = Graph::parse(text).unwrap();
                let bound = graph.bind(&format, Planes::Auto).unwrap();
                let mut input = Frame::new(&format);
                fill(&mut input, w * h);
                let found = check(text, &bound, &input, 1000);
                // Of 8 bits all, of more those that do not need more bits than there are.
                assert!(depth != Depth::U8 || found == bound.planes.len(), "{text}");
                assert!(depth != Depth::U16 || found == 0, "{text}");
                integers += found;
            }
        }
    }
    assert!(integers > 200, "{integers}");
}

#[test]
fn wide_bells_are_within_a_code_of_floats_at_every_level() {
    for text in BELLS {
        for (w, h, moves) in [
            (70, 33, ""),
            (33, 40, ",transpose"),
            (1, 1, ""),
            (5, 80, ",hflip"),
        ] {
            let format = format(w, h, Chroma::Mono, Depth::U8);
            let graph = Graph::parse(&format!("{text}{moves}")).unwrap();
            let bound = graph.bind(&format, Planes::Auto).unwrap();
            let mut input = Frame::new(&format);
            fill(&mut input, w * h);
            assert_eq!(check(text, &bound, &input, 9), 1);
            // Where a half is black and the other white, what lies between is most off.
            for (i, code) in input.plane_bytes_mut(0).iter_mut().enumerate() {
                *code = if i as u32 % w < w / 2 { 0 } else { 255 };
            }
            assert_eq!(check(text, &bound, &input, 1000), 1);
        }
    }
}

/// Black and white samples side by side, where sums are largest, and codes beyond those of the depth.
#[test]
fn extremes_do_not_overflow() {
    for text in FILTERS {
        for depth in [Depth::U8, Depth::U10, Depth::U12] {
            let format = format(90, 50, Chroma::Mono, depth);
            let graph = Graph::parse(text).unwrap();
            let bound = graph.bind(&format, Planes::Auto).unwrap();
            let most = depth.maximum().unwrap() as u16;
            for period in [1, 2, 3, 5, 8] {
                let mut input = Frame::new(&format);
                let code = |i: usize| {
                    let white = (i % 90 / period + i / 90 / period) % 2 == 1;
                    if white { most } else { 0 }
                };
                let bytes = input.plane_bytes_mut(0);
                match depth {
                    Depth::U8 => {
                        for (i, byte) in bytes.iter_mut().enumerate() {
                            *byte = code(i) as u8;
                        }
                    }
                    _ => {
                        for (i, two) in bytes.chunks_exact_mut(2).enumerate() {
                            two.copy_from_slice(&code(i).to_ne_bytes());
                        }
                    }
                }
                check(text, &bound, &input, 7);
            }
        }
    }
    // All of 16 bits: what is no code counts as the largest.
    let wide = format(256, 256, Chroma::Mono, Depth::U10);
    let bound = Graph::parse("scale=400:200")
        .unwrap()
        .bind(&wide, Planes::Auto);
    let bound = bound.unwrap();
    let mut input = Frame::new(&wide);
    let all = 0..=u16::MAX;
    for (two, code) in input.plane_bytes_mut(0).chunks_exact_mut(2).zip(all) {
        two.copy_from_slice(&code.to_ne_bytes());
    }
    let expected = reference::frame(&bound, &input);
    for simd in Simd::levels() {
        let service = FilterService::new(&bound, String::new(), 64 << 10, simd);
        for shape in service.shapes(64 << 10).iter().filter(|s| s.units == 1) {
            let got = run(&service, shape, 30, &input);
            assert!(*got.plane_bytes(0) == *expected[0], "{simd}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn moves_before_and_after_a_filter_are_one_with_it(
        before in prop::collection::vec(prop::sample::select(MOVES), 0..4),
        filter in prop::sample::select(FILTERS),
        after in prop::collection::vec(prop::sample::select(MOVES), 0..4),
        pad in any::<bool>(),
        size in (8u32..180, 8u32..90),
        depth in prop::sample::select(vec![Depth::U8, Depth::U10]),
        chroma in prop::sample::select(vec![Chroma::Mono, Chroma::C420, Chroma::C444]),
        grain in 1u32..60,
        seed in any::<u32>(),
    ) {
        let pad = pad.then_some("pad=iw+20:ih+10:6:4:gray");
        let chain: Vec<_> = before.into_iter().chain([filter]).chain(after).chain(pad).collect();
        let text = chain.join(",");
        let format = format(size.0, size.1, chroma, depth);
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, Planes::Auto) else {
            return Ok(());
        };
        let mut input = Frame::new(&format);
        fill(&mut input, seed);
        let integers = check(&text, &bound, &input, grain);
        // A filter that changes nothing leaves moves.
        let computed = bound.planes.iter().filter(|plane| {
            plane.nodes.iter().any(|node| node.stage.moves().is_none())
        });
        prop_assert!(depth != Depth::U8 || integers == computed.count(), "{}", text);
    }
}

/// Only what has one filter of sums, so that there is one rounding to codes.
#[test]
fn what_is_computed_in_integers() {
    let in_integers = |text: &str, depth: Depth| {
        let format = format(320, 240, Chroma::C420, depth);
        let bound = Graph::parse(text)
            .unwrap()
            .bind(&format, Planes::Auto)
            .unwrap();
        Integer::of(&bound.planes[0], depth).is_some()
    };
    for text in [
        "scale=640:480",
        "hflip,scale=100:100,transpose,pad=120:120",
        "crop=0.5,gaussian=2,vflip",
    ] {
        assert!(in_integers(text, Depth::U8), "{text}");
        assert!(!in_integers(text, Depth::F32), "{text}");
    }
    for text in [
        "null",
        "hflip",
        "blur",
        "scale=640:480,gaussian",
        "pad=400:300,scale=100:100",
        "scale=640:480,sobel",
        "rotate=6",
        // Windows of more samples than sums have.
        "scale=320:6",
    ] {
        assert!(!in_integers(text, Depth::U8), "{text}");
    }
}
