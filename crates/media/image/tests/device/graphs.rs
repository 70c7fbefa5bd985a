//! Every filter in every format, and the pipelines of the literature.

use evener_image::graph::bind::Planes;
use evener_image::graph::parse::Graph;
use evener_image::pipelines::PIPELINES;
use evener_image::{Chroma, ColourRange, Depth, Format};

use super::{common, compare, random};

/// Arguments that the filters of `common` lack.
const MORE: &[&str] = &[
    "gaussian=6",
    "threshold=0",
    "undistort=k1=-1000:k2=1000",
    "undistort=k1=3e38:k2=-3e38",
    "crop=1:1:0:0",
    "rotate=0",
    "rotate=180",
    "rotate=270",
    "resize=1:1",
    "resize=3:80",
    "posterize=2",
    "posterize=65536",
    "flip=h,flip=v",
];

fn formats(sizes: &[(u32, u32)]) -> Vec<Format> {
    let mut formats = Vec::new();
    for &(width, height) in sizes {
        for chroma in [Chroma::Mono, Chroma::C420, Chroma::C422, Chroma::C444] {
            for depth in [Depth::U8, Depth::U10, Depth::U16, Depth::F32] {
                for range in [ColourRange::Full, ColourRange::Limited] {
                    formats.push(Format {
                        width,
                        height,
                        chroma,
                        depth,
                        range,
                    });
                }
            }
        }
    }
    formats
}

#[test]
fn every_filter_in_every_format() {
    let mut compared = 0;
    for format in formats(&[(1, 1), (3, 2), (17, 13)]) {
        for text in common::FILTERS.iter().chain(MORE) {
            // Some crops leave nothing of the smallest frames.
            let Ok(bound) = Graph::parse(text).unwrap().bind(&format, Planes::Each) else {
                continue;
            };
            compare(&bound, text, &[random(&format, compared)]).unwrap();
            compared += 1;
        }
    }
    assert!(compared > 2000, "{compared}");
}

#[test]
fn pipelines_in_every_format() {
    for format in formats(&[(3, 2), (17, 13)]) {
        for pipeline in PIPELINES {
            for planes in [Planes::Auto, Planes::Each, Planes::Luma] {
                let graph = Graph::parse(pipeline.text).unwrap();
                let Ok(bound) = graph.bind(&format, planes) else {
                    continue;
                };
                compare(&bound, pipeline.text, &[random(&format, 7)]).unwrap();
            }
        }
    }
}

#[test]
fn pipelines_on_whole_frames_several_at_a_time() {
    for (depth, frames) in [(Depth::U8, 8), (Depth::U10, 4)] {
        let format = Format {
            width: 352,
            height: 288,
            chroma: Chroma::C420,
            depth,
            range: ColourRange::Limited,
        };
        let inputs: Vec<_> = (0..frames).map(|i| random(&format, 11 * i)).collect();
        for pipeline in PIPELINES {
            let graph = Graph::parse(pipeline.text).unwrap();
            let bound = graph.bind(&format, Planes::Auto).unwrap();
            compare(&bound, pipeline.text, &inputs).unwrap();
        }
    }
}

/// Codes beyond ten bits, as a damaged file may have them.
#[test]
fn every_code_of_16_bits() {
    let format = Format {
        width: 256,
        height: 256,
        chroma: Chroma::C444,
        depth: Depth::U10,
        range: ColourRange::Limited,
    };
    let mut input = random(&format, 1);
    for p in 0..3 {
        let codes = input.plane_bytes_mut(p).chunks_exact_mut(2);
        for (to, code) in codes.zip(0..=u16::MAX) {
            to.copy_from_slice(&code.to_ne_bytes());
        }
    }
    for text in ["flip=h", "posterize=300", "threshold=0.4:keep=below"] {
        let bound = Graph::parse(text)
            .unwrap()
            .bind(&format, Planes::Each)
            .unwrap();
        compare(&bound, text, std::slice::from_ref(&input)).unwrap();
    }
}
