//! Random graphs on random frames: every structure gives the bytes of the definition, however a unit is cut.

#![no_main]

use arbitrary::Arbitrary;
use evener_image::exec::service::FilterService;
use evener_image::graph::bind::Planes;
use evener_image::graph::parse::Graph;
use evener_image::{Chroma, Depth, Format, reference};
use evener_runtime::{Part, Service, Simd};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Filter {
    Blur,
    Gaussian(u8),
    SobelX,
    SobelY,
    Sobel,
    Threshold(u8, bool),
    Undistort(i8, i8),
    Crop(u8),
    Rotate(i16),
    Resize(u8, u8),
    Posterize(u8),
    Binary,
    Flip(bool),
}

impl Filter {
    fn text(&self) -> String {
        match *self {
            Filter::Blur => "blur".into(),
            Filter::Gaussian(s) => format!("gaussian={}", 0.2 + f64::from(s % 32) / 16.0),
            Filter::SobelX => "sobel_x".into(),
            Filter::SobelY => "sobel_y".into(),
            Filter::Sobel => "sobel".into(),
            Filter::Threshold(t, above) => {
                let keep = if above { "above" } else { "below" };
                format!("threshold={}:keep={keep}", f64::from(t) / 255.0)
            }
            Filter::Undistort(k1, k2) => {
                format!("undistort=k1={}:k2={}", f64::from(k1) / 64.0, f64::from(k2) / 64.0)
            }
            Filter::Crop(f) => format!("crop={}", 0.3 + f64::from(f % 64) / 91.0),
            Filter::Rotate(d) => format!("rotate={}", f64::from(d) / 8.0),
            Filter::Resize(w, h) => format!("resize={}:{}", 1 + w % 60, 1 + h % 60),
            Filter::Posterize(n) => format!("posterize={}", 1 + n % 40),
            Filter::Binary => "binary".into(),
            Filter::Flip(h) => format!("flip={}", if h { "h" } else { "v" }),
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Case {
    filters: Vec<Filter>,
    size: (u8, u8),
    chroma: u8,
    depth: u8,
    each: bool,
    grain: u8,
    small_cache: bool,
    samples: Vec<u8>,
}

fuzz_target!(|case: Case| {
    if case.filters.is_empty() || case.filters.len() > 5 {
        return;
    }
    let text = case.filters.iter().map(Filter::text).collect::<Vec<_>>().join(",");
    let format = Format {
        width: 1 + u32::from(case.size.0 % 56),
        height: 1 + u32::from(case.size.1 % 56),
        chroma: [Chroma::Mono, Chroma::C420, Chroma::C422, Chroma::C444][usize::from(case.chroma % 4)],
        depth: [Depth::U8, Depth::U10, Depth::F32][usize::from(case.depth % 3)],
    };
    let planes = if case.each { Planes::Each } else { Planes::Auto };
    let Ok(bound) = Graph::parse(&text).and_then(|g| g.bind(&format, planes)) else { return };
    let cache = if case.small_cache { 8 << 10 } else { 1 << 20 };
    let service = FilterService::new(&bound, text.clone(), cache, Simd::detect());
    let mut input = service.input();
    for p in 0..format.planes() {
        let bytes = input.plane_bytes_mut(p);
        let mut samples = case.samples.iter().copied().chain(1..=255).cycle();
        match format.depth {
            Depth::U8 => bytes.iter_mut().for_each(|b| *b = samples.next().unwrap_or(0)),
            Depth::U10 => bytes.chunks_exact_mut(2).for_each(|c| {
                let code = u16::from(samples.next().unwrap_or(0)) * 4;
                c.copy_from_slice(&code.to_ne_bytes());
            }),
            Depth::F32 => bytes.chunks_exact_mut(4).for_each(|c| {
                let value = f32::from(samples.next().unwrap_or(0)) / 255.0;
                c.copy_from_slice(&value.to_ne_bytes());
            }),
        }
    }
    let expected = reference::frame(&bound, &input);
    let mut scratch = service.scratch();
    for shape in service.shapes(cache) {
        let output = service.output();
        for (pass, &items) in shape.passes.iter().enumerate() {
            let grain = 1 + u32::from(case.grain % 64);
            for start in (0..items).step_by(grain as usize) {
                let items = start..items.min(start + grain);
                let part = Part { structure: shape.structure, pass, items };
                service.run(&part, &input, &output, &mut scratch).expect("filters do not fail");
            }
        }
        for (p, expected) in expected.iter().enumerate() {
            assert_eq!(*output.plane_bytes(p), **expected, "{text} on {format}, {:?}", shape.structure);
        }
    }
});
