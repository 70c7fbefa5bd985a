//! Frames in memory with padding through streams that stay open are what the service makes of frames without it.

use std::time::{Duration, Instant};

use evener_image::exec::service::FilterService;
use evener_image::frame::{Frame, Samples};
use evener_image::graph::{Graph, Planes};
use evener_image::open::OpenGraph;
use evener_image::{Chroma, ColourRange, Depth, Format, Size, pipelines};
use evener_runtime::buffer::{Rows, Sample};
use evener_runtime::stream::{RunOptions, Turn};
use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::{Dispatch, Plan, Runtime, Service};

const WIDTH: u32 = 93;
const HEIGHT: u32 = 61;
const FRAMES: u32 = 12;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn format(chroma: Chroma, depth: Depth) -> Format {
    Format {
        width: WIDTH,
        height: HEIGHT,
        chroma,
        depth,
        range: ColourRange::Limited,
    }
}

/// Noise from a seed; of codes as many bits as there are.
fn noise(seed: u32, i: usize) -> u32 {
    let mixed = (seed ^ 0x9E37_79B9).wrapping_mul(i as u32 | 1);
    (mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B) >> 22
}

/// A plane with `padding` samples between rows, which have a value of their own.
fn plane(size: Size, depth: Depth, padding: usize, mut value: impl FnMut(usize) -> u32) -> Samples {
    fn rows<T: Sample>(
        size: Size,
        padding: usize,
        between: T,
        mut value: impl FnMut(usize) -> T,
    ) -> Rows<T> {
        let (w, h) = (size.w as usize, size.h as usize);
        let stride = w + padding;
        let mut rows = Rows::padded(w, stride, h);
        for (at, sample) in rows.as_mut_slice().iter_mut().enumerate() {
            let (x, y) = (at % stride, at / stride);
            *sample = if x < w { value(y * w + x) } else { between };
        }
        rows
    }
    match depth {
        Depth::U8 => Samples::U8(rows(size, padding, 0xAB, |i| (value(i) >> 2) as u8)),
        Depth::U10 | Depth::U12 | Depth::U16 => {
            Samples::U16(rows(size, padding, 0x3AB, |i| value(i) as u16))
        }
        Depth::F32 => Samples::F32(rows(size, padding, -7.0, |i| value(i) as f32 / 1023.0)),
    }
}

fn frame(format: &Format, padding: usize, seed: Option<u32>) -> Frame {
    let planes = (0..format.planes()).map(|p| {
        let value = |i| seed.map_or(0, |seed| noise(seed + p as u32, i));
        plane(format.plane_size(p), format.depth, padding, value)
    });
    Frame::of_planes(format, planes.collect())
}

/// The samples of a plane as bits, and whether all that is between rows is as it was made.
fn samples(plane: &Samples) -> (Vec<u32>, bool) {
    fn of<T: Sample>(rows: &Rows<T>, bits: impl Fn(T) -> u32, between: T) -> (Vec<u32>, bool) {
        let (width, stride) = (rows.width(), rows.stride());
        let all = rows.read();
        let lines = all.chunks(stride);
        let (mut samples, mut whole) = (Vec::new(), true);
        for line in lines {
            samples.extend(line[..width].iter().map(|&sample| bits(sample)));
            whole &= line[width..].iter().all(|&s| bits(s) == bits(between));
        }
        (samples, whole)
    }
    match plane {
        Samples::U8(rows) => of(rows, u32::from, 0xAB),
        Samples::U16(rows) => of(rows, u32::from, 0x3AB),
        Samples::F32(rows) => of(rows, f32::to_bits, -7.0),
    }
}

fn service(runtime: &Runtime, graph: &Graph, format: &Format) -> FilterService {
    let bound = graph.bind(format, Planes::Auto).unwrap();
    let topology = runtime.topology();
    let cache = topology.private_cache();
    FilterService::new(&bound, graph.to_string(), cache, topology.simd)
}

/// What the definition gives for frames without padding.
fn expected(graph: &Graph, format: &Format, seed: u32) -> Vec<Vec<u32>> {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let service = service(&runtime, graph, format);
    let output = service.output();
    let plan = Plan {
        structure: &SEQUENTIAL,
        dispatch: Dispatch::Fifo,
        grain: 1000,
        workers: 1,
        devices: 0,
    };
    let input = frame(format, 0, Some(seed));
    runtime.execute(&service, &plan, &input, &output).unwrap();
    let planes = 0..service.output_format().planes();
    planes.map(|p| samples(output.plane(p)).0).collect()
}

#[test]
fn padding_changes_nothing_under_any_plan() {
    let mut structures = std::collections::BTreeSet::new();
    for pipeline in pipelines::PIPELINES {
        let graph = Graph::parse(pipeline.text).unwrap();
        for (chroma, depth) in [
            (Chroma::Mono, Depth::U8),
            (Chroma::C420, Depth::U10),
            (Chroma::C422, Depth::U16),
            (Chroma::Mono, Depth::F32),
        ] {
            let format = format(chroma, depth);
            let wanted: Vec<_> = (0..FRAMES).map(|n| expected(&graph, &format, n)).collect();
            let of_service = service(&Runtime::new().unwrap(), &graph, &format);
            for shape in of_service.shapes(1 << 20) {
                structures.insert(shape.structure.name);
                let options = RunOptions {
                    plan: shape.structure.name.parse().unwrap(),
                    ..RunOptions::default()
                };
                let runtime = Runtime::builder().workers(2).build().unwrap();
                let open = OpenGraph::new(runtime, &graph, &format, Planes::Auto, options).unwrap();
                let mut pulled = 0;
                for n in 0..FRAMES {
                    let input = frame(&format, 35, Some(n));
                    let output = frame(open.output(), 19, None);
                    assert_eq!(open.push(soon(), input, output, n), Turn::Done(()));
                    // Some are in work at once.
                    while open.under_way() > 3 || n + 1 == FRAMES && pulled < FRAMES {
                        let Turn::Done((input, output, number)) = open.pull(soon()) else {
                            panic!("no result");
                        };
                        assert_eq!(number, pulled);
                        for (p, wanted) in wanted[pulled as usize].iter().enumerate() {
                            let (got, whole) = samples(output.plane(p));
                            let name = (pipeline.name, shape.structure.name, format, pulled, p);
                            assert!(got == *wanted, "{name:?}");
                            assert!(whole, "padding is written: {name:?}");
                        }
                        assert!(samples(input.plane(0)).1);
                        pulled += 1;
                    }
                }
                assert_eq!(open.close().unwrap().units, u64::from(FRAMES));
            }
        }
    }
    assert!(structures.len() >= 7, "{structures:?}");
}

#[test]
fn red_green_and_blue_are_filtered_as_gray_frames_are() {
    for text in ["blur,sobel,threshold=0.2", "rotate=20", "resize=40:30"] {
        let graph = Graph::parse(text).unwrap();
        for depth in [Depth::U8, Depth::U10, Depth::F32] {
            let format = Format {
                range: ColourRange::Full,
                ..format(Chroma::Rgb, depth)
            };
            let mono = Format {
                chroma: Chroma::Mono,
                ..format
            };
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let options = RunOptions::default();
            let open = OpenGraph::new(runtime, &graph, &format, Planes::Auto, options).unwrap();
            // The planes have the seeds 3, 4 and 5.
            let frames = || (frame(&format, 7, Some(3)), frame(open.output(), 7, None), 9);
            assert_eq!(open.push_with(soon(), frames), Turn::Done(()));
            let colours = open.pull_with(soon(), |_, output, nine| {
                assert_eq!(nine, 9);
                [0, 1, 2].map(|p| samples(output.plane(p)).0)
            });
            let gray = [3, 4, 5].map(|seed| expected(&graph, &mono, seed).remove(0));
            assert!(colours == Turn::Done(gray), "{text}, {depth:?}");
        }
    }
}

#[test]
fn frames_are_made_only_where_there_is_room() {
    let graph = Graph::parse("blur").unwrap();
    let format = format(Chroma::Mono, Depth::U8);
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let options = RunOptions::default();
    let open = OpenGraph::new(runtime, &graph, &format, Planes::Auto, options).unwrap();
    let mut made = 0;
    let mut push = |until| {
        open.push_with(until, || {
            made += 1;
            (
                frame(&format, 0, Some(1)),
                frame(open.output(), 0, None),
                (),
            )
        })
    };
    let mut pushed = 0;
    while push(Instant::now() + Duration::from_millis(200)) == Turn::Done(()) {
        pushed += 1;
    }
    open.cancel();
    while !matches!(open.pull(soon()), Turn::Ended) {}
    assert_eq!(push(soon()), Turn::Ended);
    assert_eq!(made, pushed);
    assert!(open.close().unwrap().cancelled);
}
