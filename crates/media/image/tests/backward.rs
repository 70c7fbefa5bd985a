//! The backward structures give what the definition of the stages gives, however the plane is divided.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use evener_image::exec::access::{Source, Target};
use evener_image::exec::backward::{Backward, Cache, Mode, Scratch};
use evener_image::frame::Samples;
use evener_image::graph::plane::{PlaneGraph, Port};
use evener_image::graph::{Graph, GraphError, Planes};
use evener_image::kernels::convert::{self, Scale};
use evener_image::structures::BACKWARD;
use evener_image::{Chroma, Codes, ColourRange, Depth, Format, Size, ops, pipelines, reference};
use evener_runtime::Simd;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn bound(text: &str, width: u32, height: u32) -> Result<PlaneGraph, GraphError> {
    let format = Format {
        width,
        height,
        chroma: Chroma::Mono,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    let bound = Graph::parse(text)
        .expect(text)
        .bind(&format, Planes::Each)?;
    Ok(bound.planes.into_iter().next().expect("a luma plane"))
}

fn graph(text: &str, width: u32, height: u32) -> PlaneGraph {
    bound(text, width, height).expect(text)
}

/// That of chroma in limited range, where no number is a round one.
fn scale(depth: Depth) -> Scale {
    Scale::new(Codes {
        depth,
        range: ColourRange::Limited,
        chroma: true,
    })
}

/// A plane of noise and its values.
fn noise(size: Size, depth: Depth, seed: u64) -> (Samples, Vec<f32>) {
    let mut state = seed | 1;
    let mut next = |below: u64| {
        // xorshift64 (Marsaglia)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let scale = scale(depth);
    let mut samples = Samples::new(size, depth);
    let values = match &mut samples {
        Samples::U8(rows) => {
            rows.as_mut_slice().fill_with(|| next(256) as u8);
            rows.as_mut_slice()
                .iter()
                .map(|&c| scale.value(f32::from(c)))
                .collect()
        }
        Samples::U16(rows) => {
            rows.as_mut_slice().fill_with(|| next(1024) as u16);
            rows.as_mut_slice()
                .iter()
                .map(|&c| scale.value(f32::from(c)))
                .collect()
        }
        Samples::F32(rows) => {
            rows.as_mut_slice()
                .fill_with(|| next(1 << 20) as f32 / (1 << 20) as f32);
            rows.as_mut_slice().to_vec()
        }
    };
    (samples, values)
}

/// What is stored for `values`, as bits.
fn stored(values: &[f32], depth: Depth) -> Vec<u32> {
    match depth {
        Depth::U8 => {
            let mut codes = vec![0; values.len()];
            convert::store_u8(Simd::Scalar, &scale(depth), values, &mut codes);
            codes.into_iter().map(u32::from).collect()
        }
        Depth::U10 | Depth::U12 | Depth::U16 => {
            let mut codes = vec![0; values.len()];
            convert::store_u16(Simd::Scalar, &scale(depth), values, &mut codes);
            codes.into_iter().map(u32::from).collect()
        }
        Depth::F32 => values.iter().map(|v| v.to_bits()).collect(),
    }
}

fn bits(samples: &Samples) -> Vec<u32> {
    match samples {
        Samples::U8(rows) => rows.read().iter().map(|&c| u32::from(c)).collect(),
        Samples::U16(rows) => rows.read().iter().map(|&c| u32::from(c)).collect(),
        Samples::F32(rows) => rows.read().iter().map(|v| v.to_bits()).collect(),
    }
}

/// Runs `graph` in jobs of `grain` rows, the last ones first, and gives the bits of the result.
fn run(
    graph: &PlaneGraph,
    from: &Samples,
    depth: Depth,
    simd: Simd,
    grain: usize,
    scratch: &mut Scratch,
    mode: Mode<'_>,
) -> Vec<u32> {
    let (backward, height) = (Backward::new(graph), graph.size.h as usize);
    let codes = match from {
        Samples::U8(_) => Depth::U8,
        Samples::U16(_) => Depth::U10,
        Samples::F32(_) => Depth::F32,
    };
    let source = Source::new(from, graph.source, scale(codes));
    let to = Samples::new(graph.size, depth);
    for y in (0..height).step_by(grain).rev() {
        let rows = y..height.min(y + grain);
        let mut target = Target::new(&to, rows.clone(), scale(depth));
        backward.rows(simd, &source, rows, &mut target, scratch, mode);
    }
    bits(&to)
}

/// Every mode gives the bits of the reference.
fn check(text: &str, size: Size, depth: Depth, simd: Simd, grain: usize, seed: u64) {
    let graph = graph(text, size.w, size.h);
    let (from, values) = noise(size, depth, seed);
    let expected = stored(&reference::evaluate(&graph, &values), depth);
    let cache = Cache::new(&graph);
    let mut scratch = Scratch::default();
    // A chain of wide stencils would be computed for hours.
    let reads: u64 = ops::count(&graph, &BACKWARD)
        .unwrap()
        .iter()
        .map(|c| c.1)
        .sum();
    let plain = [("backward", Mode::Plain), ("backward-store", Mode::Store)];
    let cached = ("backward-cached", Mode::Cached(&cache));
    let modes = plain
        .into_iter()
        .filter(|_| reads < 20_000_000)
        .chain([cached]);
    for (name, mode) in modes {
        let found = run(&graph, &from, depth, simd, grain, &mut scratch, mode);
        let wrong = found.iter().zip(&expected).position(|(f, e)| f != e);
        assert_eq!(
            wrong, None,
            "{name} of {text} on {size} {depth:?} at {simd} by {grain} rows"
        );
        assert_eq!(found.len(), expected.len());
    }
}

fn filter() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("blur".to_owned()),
        (1..12u32).prop_map(|s| format!("gaussian={}", s as f32 / 8.0)),
        Just("sobel".to_owned()),
        Just("sobel_x".to_owned()),
        Just("sobel_y".to_owned()),
        (0..10u32).prop_map(|t| format!("threshold={}", t as f32 / 10.0)),
        Just("threshold=keep=below".to_owned()),
        (-30..30i32).prop_map(|k| format!("undistort={}", k as f32 / 100.0)),
        (5..10u32).prop_map(|f| format!("crop={}", f as f32 / 10.0)),
        (-180..360i32).prop_map(|d| format!("rotate={d}")),
        (1..90u32, 1..40u32).prop_map(|(w, h)| format!("resize={w}:{h}")),
        (2..9u32).prop_map(|l| format!("posterize={l}")),
        Just("binary".to_owned()),
        prop_oneof![Just("flip=h".to_owned()), Just("flip=v".to_owned())],
    ]
}

fn depth() -> impl Strategy<Value = Depth> {
    prop_oneof![Just(Depth::U8), Just(Depth::U10), Just(Depth::F32)]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_graph_gives_what_its_definition_gives(
        filters in prop::collection::vec(filter(), 1..5),
        w in 2..150u32,
        h in 2..40u32,
        depth in depth(),
        best in any::<bool>(),
        grain in 1..50usize,
        seed in any::<u64>(),
    ) {
        // Small planes may be cropped to nothing.
        prop_assume!(bound(&filters.join(","), w, h).is_ok());
        let simd = if best { Simd::detect() } else { Simd::Scalar };
        check(&filters.join(","), Size { w, h }, depth, simd, grain, seed);
    }
}

#[test]
fn the_published_pipelines_give_what_their_definition_gives() {
    for pipeline in pipelines::PIPELINES {
        for depth in [Depth::U8, Depth::F32] {
            for size in [
                Size { w: 200, h: 31 },
                Size { w: 64, h: 16 },
                Size { w: 5, h: 60 },
            ] {
                check(pipeline.text, size, depth, Simd::detect(), 7, 11);
            }
        }
    }
}

#[test]
fn rows_wider_than_the_longest_run() {
    for text in [
        "posterize,threshold",
        "rotate=30,binary",
        "blur",
        "crop=0.9,blur",
    ] {
        for depth in [Depth::U10, Depth::F32] {
            check(text, Size { w: 2500, h: 4 }, depth, Simd::detect(), 3, 5);
        }
    }
}

#[test]
fn planes_of_one_row_column_or_sample() {
    for text in [
        "blur,sobel",
        "rotate=17,blur,rotate=90",
        "flip=h,sobel_x,undistort",
    ] {
        for (w, h) in [(1, 1), (1, 9), (70, 1), (2, 2)] {
            for depth in [Depth::U8, Depth::F32] {
                check(text, Size { w, h }, depth, Simd::detect(), 2, 3);
            }
        }
    }
}

#[test]
fn a_graph_without_stages_copies_or_fills() {
    let size = Size { w: 130, h: 3 };
    let mut graph = PlaneGraph::new(size);
    let (from, values) = noise(size, Depth::U8, 1);
    let mut scratch = Scratch::default();
    let mut result = |graph: &PlaneGraph| {
        let cache = Cache::new(graph);
        run(
            graph,
            &from,
            Depth::F32,
            Simd::detect(),
            2,
            &mut scratch,
            Mode::Cached(&cache),
        )
    };
    assert_eq!(result(&graph), stored(&values, Depth::F32));
    graph.end(Port::Constant(0.5), size);
    assert_eq!(graph.result, Port::Constant(0.5));
    assert_eq!(result(&graph), stored(&vec![0.5; size.area()], Depth::F32));
}

#[test]
fn store_writes_every_intermediate() {
    let size = Size { w: 150, h: 20 };
    let graph = graph("blur,sobel,threshold", size.w, size.h);
    let (from, values) = noise(size, Depth::U8, 9);
    let planes = reference::planes(&graph, &values);
    let mut scratch = Scratch::default();
    run(
        &graph,
        &from,
        Depth::U8,
        Simd::detect(),
        6,
        &mut scratch,
        Mode::Store,
    );
    for (node, plane) in planes[..planes.len() - 1].iter().enumerate() {
        assert_eq!(scratch.stored(node), plane, "stage {node}");
    }
    assert!(
        scratch.stored(planes.len() - 1).is_empty(),
        "the result goes to the target alone"
    );
}

#[test]
fn clearing_by_shares_clears_each_word_once() {
    let size = Size { w: 150, h: 21 };
    let graph = graph("blur,sobel", size.w, size.h);
    let (from, _) = noise(size, Depth::U8, 2);
    let cache = Cache::new(&graph);
    let intermediates = graph.nodes.len() - 1;
    for of in [1, 2, 7, 64, 1000] {
        let mut scratch = Scratch::default();
        run(
            &graph,
            &from,
            Depth::U8,
            Simd::detect(),
            4,
            &mut scratch,
            Mode::Cached(&cache),
        );
        assert!((0..intermediates).all(|n| cache.valid(n) == size.area()));
        let mut left = size.area();
        for share in 0..of {
            cache.clear(share..share + 1, of);
            assert!(cache.valid(0) <= left);
            left = cache.valid(0);
            assert!(share + 1 == of || share > 0 && of > 63 || left > 0);
        }
        assert!((0..intermediates).all(|n| cache.valid(n) == 0));
    }
}

#[test]
fn workers_share_one_cache_over_many_units() {
    const WORKERS: u32 = 4;
    const UNITS: u64 = 6;
    let size = Size { w: 333, h: 90 };
    for text in [
        "blur,sobel,threshold",
        "undistort,rotate=6,crop=0.8",
        "threshold,binary,rotate=30",
    ] {
        let graph = graph(text, size.w, size.h);
        let (backward, cache) = (Backward::new(&graph), Cache::new(&graph));
        let units: Vec<_> = (1..=UNITS)
            .map(|seed| noise(size, Depth::U8, seed))
            .collect();
        let results: Vec<_> = units
            .iter()
            .map(|_| Samples::new(graph.size, Depth::F32))
            .collect();
        let next: Vec<_> = units.iter().map(|_| AtomicU32::new(0)).collect();
        let barrier = Barrier::new(WORKERS as usize);
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (backward, cache, barrier) = (&backward, &cache, &barrier);
                let (units, results, next, graph) = (&units, &results, &next, &graph);
                scope.spawn(move || {
                    let mut scratch = Scratch::default();
                    for ((unit, to), next) in units.iter().zip(results).zip(next) {
                        cache.clear(worker..worker + 1, WORKERS);
                        barrier.wait();
                        let source = Source::new(&unit.0, graph.source, scale(Depth::U8));
                        // Row by row from one counter: neighbours, which share most, are at work at once.
                        loop {
                            let y = next.fetch_add(1, Ordering::Relaxed) as usize;
                            if y >= graph.size.h as usize {
                                break;
                            }
                            let mut target = Target::new(to, y..y + 1, scale(Depth::F32));
                            let (simd, mode) = (Simd::detect(), Mode::Cached(cache));
                            backward.rows(simd, &source, y..y + 1, &mut target, &mut scratch, mode);
                        }
                        barrier.wait();
                    }
                });
            }
        });
        for (unit, result) in units.iter().zip(&results) {
            let expected = stored(&reference::evaluate(&graph, &unit.1), Depth::F32);
            assert!(bits(result) == expected, "{text}");
        }
    }
}
