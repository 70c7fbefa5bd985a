//! Random graphs on random frames: every structure gives the bytes of the definition, however a unit is cut.

#![no_main]

use evener_image::exec::service::FilterService;
use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, Depth, Format, reference};
use evener_runtime::{Part, Service, Simd};
use libfuzzer_sys::fuzz_target;

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

fn filter(bytes: &mut Bytes<'_>) -> String {
    match bytes.next() % 13 {
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
        9 => format!("resize={}:{}", 1 + bytes.next() % 60, 1 + bytes.next() % 60),
        10 => format!("posterize={}", 1 + bytes.next() % 40),
        11 => "binary".into(),
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
        depth: [Depth::U8, Depth::U10, Depth::F32][usize::from(bytes.next() % 3)],
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
            Depth::U10 => plane.chunks_exact_mut(2).for_each(|c| {
                let code = u16::from(samples.next().unwrap_or(0)) * 4;
                c.copy_from_slice(&code.to_ne_bytes());
            }),
            Depth::F32 => plane.chunks_exact_mut(4).for_each(|c| {
                let value = f32::from(samples.next().unwrap_or(0)) / 255.0;
                c.copy_from_slice(&value.to_ne_bytes());
            }),
        }
    }
    let expected = reference::frame(&bound, &input);
    let mut scratch = service.scratch();
    // Without storing, the work of a chain of wide stencils grows as a power of its length.
    for shape in service.shapes(cache).iter().filter(|s| s.work.ops < 5e7) {
        let output = service.output();
        for (pass, &items) in shape.passes.iter().enumerate() {
            for start in (0..items).step_by(grain as usize) {
                let items = start..items.min(start + grain);
                let part = Part {
                    structure: shape.structure,
                    pass,
                    items,
                };
                service
                    .run(&part, &input, &output, &mut scratch)
                    .expect("filters do not fail");
            }
        }
        for (p, expected) in expected.iter().enumerate() {
            assert_eq!(
                *output.plane_bytes(p),
                **expected,
                "{text} on {format}, {:?}",
                shape.structure
            );
        }
    }
});
