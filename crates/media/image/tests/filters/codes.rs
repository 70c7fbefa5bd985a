//! What becomes of codes: of full and of limited range, of luma and of chroma.

use evener_image::exec::service::FilterService;
use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, ColourRange, Depth, Format, Frame, reference};
use evener_runtime::structure::FARM;
use evener_runtime::{Part, Service, Simd};

/// The codes of every plane that a graph gives, by its definition; what computes tiles gives the same.
fn filtered(text: &str, planes: Planes, input: &Frame) -> Vec<Vec<u16>> {
    let graph = Graph::parse(text).unwrap();
    let bound = graph.bind(input.format(), planes).unwrap();
    let expected = reference::frame(&bound, input);
    for simd in Simd::levels() {
        let service = FilterService::new(&bound, text.to_owned(), 1 << 20, simd);
        let output = service.output();
        let shapes = service.shapes(1 << 20);
        let farm = shapes.iter().find(|shape| shape.structure == &FARM);
        let part = Part {
            structure: &FARM,
            pass: 0,
            items: 0..farm.unwrap().passes[0],
        };
        service
            .run(&part, input, &output, &mut service.scratch())
            .unwrap();
        for (p, expected) in expected.iter().enumerate() {
            assert!(*output.plane_bytes(p) == **expected, "{text}, {simd}, {p}");
        }
    }
    let codes = |bytes: Vec<u8>| match bound.output.depth {
        Depth::U8 => bytes.into_iter().map(u16::from).collect(),
        _ => bytemuck::pod_collect_to_vec(&bytes),
    };
    expected.into_iter().map(codes).collect()
}

fn format(size: (u32, u32), chroma: Chroma, depth: Depth, range: ColourRange) -> Format {
    Format {
        width: size.0,
        height: size.1,
        chroma,
        depth,
        range,
    }
}

/// A frame whose planes have codes one after the other, again and again.
fn frame(format: &Format, codes: [&[u16]; 3]) -> Frame {
    let mut frame = Frame::new(format);
    for (p, codes) in codes.into_iter().enumerate().take(format.planes()) {
        let bytes = frame.plane_bytes_mut(p);
        let mut codes = codes.iter().cycle();
        match format.depth {
            Depth::U8 => bytes.fill_with(|| *codes.next().unwrap() as u8),
            _ => bytes
                .chunks_exact_mut(2)
                .for_each(|b| b.copy_from_slice(&codes.next().unwrap().to_ne_bytes())),
        }
    }
    frame
}

const RANGES: [ColourRange; 2] = [ColourRange::Full, ColourRange::Limited];

#[test]
fn black_is_black_in_either_range() {
    for (range, depth, black, white, grey) in [
        (ColourRange::Full, Depth::U8, 0, 255, 128),
        (ColourRange::Full, Depth::U10, 0, 1023, 512),
        (ColourRange::Limited, Depth::U8, 16, 235, 128),
        (ColourRange::Limited, Depth::U10, 64, 940, 512),
        (ColourRange::Full, Depth::U12, 0, 4095, 2048),
        (ColourRange::Limited, Depth::U12, 256, 3760, 2048),
        (ColourRange::Full, Depth::U16, 0, 65535, 32768),
        (ColourRange::Limited, Depth::U16, 4096, 60160, 32768),
    ] {
        let format = format((8, 6), Chroma::C420, depth, range);
        // A black frame with colour, then one that is a code brighter.
        let dark = frame(&format, [&[black], &[grey + 30], &[grey - 30]]);
        let bright = frame(&format, [&[black + 1], &[grey + 30], &[grey - 30]]);
        for (text, input, luma) in [
            ("binary", &dark, black),
            ("binary", &bright, white),
            ("threshold=0", &dark, black),
            ("threshold=0", &bright, black + 1),
            ("threshold=0.5", &bright, black),
            ("sobel", &bright, black),
            ("posterize=2", &bright, black),
        ] {
            let planes = filtered(text, Planes::Auto, input);
            let all = |p: usize, code| planes[p].iter().all(|&c| c == code);
            assert!(all(0, luma), "{text} in {range:?}: {:?}", planes[0]);
            assert!(all(1, grey) && all(2, grey), "{text} in {range:?}");
        }
        // Beyond the corners of what is turned there is black without colour, whatever the planes.
        let light = frame(&format, [&[white], &[grey + 30], &[grey - 30]]);
        for planes in [Planes::Auto, Planes::Each] {
            for text in ["rotate=45", "undistort=0.5"] {
                let planes = filtered(text, planes, &light);
                let corners = [0, 1, 2].map(|p| planes[p][0]);
                assert_eq!(corners, [black, grey, grey], "{text} in {range:?}");
            }
        }
    }
}

#[test]
fn a_threshold_is_a_share_of_what_lies_between_black_and_white() {
    // In limited range 0.5 is 16 + 109.5, and 0.25 is 16 + 54.75.
    let format = format((4, 1), Chroma::Mono, Depth::U8, ColourRange::Limited);
    let input = frame(&format, [&[70, 71, 125, 126], &[], &[]]);
    let luma = |text: &str| filtered(text, Planes::Auto, &input).swap_remove(0);
    assert_eq!(luma("threshold"), [16, 16, 16, 126]);
    assert_eq!(luma("threshold=0.25"), [16, 71, 125, 126]);
    assert_eq!(luma("threshold=0.25,binary"), [16, 235, 235, 235]);
    // Foot- and headroom passes through smoothing, and what leaves the codes is cut off.
    let input = frame(&format, [&[0, 0, 255, 255], &[], &[]]);
    let luma = |text: &str| filtered(text, Planes::Auto, &input).swap_remove(0);
    assert_eq!(luma("blur"), [0, 64, 191, 255]);
    // 4 (v - 0) for a step of 255 codes, which is 1020 above 16.
    assert_eq!(luma("sobel_x"), [16, 255, 255, 16]);
    assert_eq!(luma("flip=h,sobel_x"), [16, 0, 0, 16]);
}

#[test]
fn what_moves_samples_keeps_every_code() {
    for (depth, codes) in [
        (Depth::U8, 256),
        (Depth::U10, 1024),
        (Depth::U12, 4096),
        (Depth::U16, 65536),
    ] {
        for range in RANGES {
            let format = format((32, codes / 32), Chroma::C444, depth, range);
            let up: Vec<u16> = (0..=(codes - 1) as u16).collect();
            let down: Vec<u16> = up.iter().rev().copied().collect();
            let input = frame(&format, [&up, &down, &up]);
            let same = format!("resize=32:{}", codes / 32);
            for text in [
                "crop=1",
                "rotate=0",
                "flip=h,flip=h",
                "flip=v,flip=h,rotate=180",
                "crop=fraction=1,flip=v,flip=v",
                &same,
            ] {
                for planes in [Planes::Auto, Planes::Each] {
                    let planes = filtered(text, planes, &input);
                    assert!(
                        planes == [&up[..], &down, &up],
                        "{text}, {depth:?} {range:?}"
                    );
                }
            }
            let mirrored = filtered("rotate=180", Planes::Auto, &input);
            assert!(mirrored == [&down[..], &up, &down]);
        }
    }
}

#[test]
fn posterize_gives_as_many_values_as_it_is_asked_for() {
    for (depth, codes) in [(Depth::U8, 256u32), (Depth::U10, 1024), (Depth::U12, 4096)] {
        for range in RANGES {
            let format = format((codes, 1), Chroma::Mono, depth, range);
            let all: Vec<u16> = (0..codes as u16).collect();
            let input = frame(&format, [&all, &[], &[]]);
            let ends = match (range, depth) {
                (ColourRange::Full, _) => (0, codes as u16 - 1),
                (ColourRange::Limited, Depth::U8) => (16, 235),
                (ColourRange::Limited, Depth::U10) => (64, 940),
                (ColourRange::Limited, _) => (256, 3760),
            };
            for levels in [2, 3, 4, 8, 16, 31, 100] {
                let text = format!("posterize={levels}");
                let mut found = filtered(&text, Planes::Auto, &input).swap_remove(0);
                assert!(found.is_sorted());
                found.dedup();
                assert_eq!(found.len(), levels, "{text} {depth:?} {range:?}");
                assert_eq!((found[0], found[levels - 1]), ends, "{text}");
            }
            if range == ColourRange::Full {
                let text = format!("posterize={codes}");
                assert!(filtered(&text, Planes::Auto, &input)[0] == all, "{text}");
            }
        }
    }
}
