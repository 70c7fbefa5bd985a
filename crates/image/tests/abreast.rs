//! Several frames side by side, each different, come out as each by itself does.

use evener_image::exec::service::FilterService;
use evener_image::graph::bind::Planes;
use evener_image::graph::parse::Graph;
use evener_image::{Chroma, Depth, Format, Frame, reference};
use evener_runtime::{Part, Service, Shape, Simd, Structure};
use proptest::prelude::*;

const FILTERS: &[&str] = &[
    "undistort",
    "undistort=k1=0.3:k2=-0.2",
    "rotate=6",
    "rotate=30",
    "rotate=90",
    "rotate=-160",
    "resize=37:23",
    "resize=90:64",
    "crop=0.7",
    "crop=5:4:1:1",
    "threshold=0.3",
    "threshold=0.6:keep=below",
    "posterize=5",
    "binary",
];

fn formats() -> impl Strategy<Value = Format> {
    let chroma = prop::sample::select(vec![Chroma::Mono, Chroma::C420, Chroma::C422, Chroma::C444]);
    let depth = prop::sample::select(vec![Depth::U8, Depth::U10, Depth::F32]);
    (4u32..150, 4u32..60, chroma, depth).prop_map(|(width, height, chroma, depth)| Format {
        width,
        height,
        chroma,
        depth,
    })
}

fn fill(frame: &mut Frame, mut state: u32) {
    let (planes, depth) = (frame.format().planes(), frame.format().depth);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    for p in 0..planes {
        let bytes = frame.plane_bytes_mut(p);
        match depth {
            Depth::U8 => bytes.iter_mut().for_each(|b| *b = next() as u8),
            Depth::U10 => bytes
                .chunks_exact_mut(2)
                .for_each(|c| c.copy_from_slice(&((next() % 1024) as u16).to_ne_bytes())),
            Depth::F32 => bytes
                .chunks_exact_mut(4)
                .for_each(|c| c.copy_from_slice(&((next() % 1000) as f32 / 999.0).to_ne_bytes())),
        }
    }
}

fn shape(service: &FilterService) -> Option<Shape> {
    let shapes = service.shapes(1 << 20);
    shapes
        .into_iter()
        .find(|s| s.structure == Structure::Abreast)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn frames_side_by_side_come_out_as_each_alone(
        chain in prop::collection::vec(prop::sample::select(FILTERS), 1..5),
        format in formats(),
        frames in 1usize..=8,
        grain in 1u32..40,
        seed in any::<u32>(),
    ) {
        let text = chain.join(",");
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, Planes::Each) else {
            return Ok(());
        };
        for simd in Simd::levels() {
            let service = FilterService::new(&bound, text.clone(), 1 << 20, simd);
            let Some(shape) = shape(&service) else {
                return Ok(());
            };
            prop_assert!(frames <= shape.units as usize);
            let mut inputs: Vec<Frame> = (0..frames).map(|_| service.input()).collect();
            for (i, input) in inputs.iter_mut().enumerate() {
                fill(input, seed.wrapping_add(i as u32));
            }
            let mut outputs: Vec<Frame> = (0..frames).map(|_| service.output()).collect();
            for output in &mut outputs {
                (0..output.format().planes())
                    .for_each(|p| output.plane_bytes_mut(p).fill(0x55));
            }
            let (ins, outs): (Vec<_>, Vec<_>) = inputs.iter().zip(&outputs).unzip();
            let mut scratch = service.scratch();
            for (pass, &items) in shape.passes.iter().enumerate() {
                for start in (0..items).step_by(grain as usize) {
                    let items = start..items.min(start + grain);
                    let part = Part { structure: Structure::Abreast, pass, items };
                    service.run_abreast(&part, &ins, &outs, &mut scratch).unwrap();
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
fn only_chains_of_warps_on_small_frames_stand_abreast() {
    let offered = |text: &str, width, height| {
        let format = Format {
            width,
            height,
            chroma: Chroma::Mono,
            depth: Depth::F32,
        };
        let graph = Graph::parse(text).unwrap();
        let bound = graph.bind(&format, Planes::Auto).unwrap();
        let service = FilterService::new(&bound, text.into(), 1 << 20, Simd::detect());
        shape(&service).map(|shape| shape.passes)
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
}
