//! The backward executors read as often as [`ops::count`] says: what they need twice they compute twice, and
//! with a cache once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evener_image::exec::access::{Source, Target};
use evener_image::exec::backward::{Backward, Cache, Mode, Scratch};
use evener_image::frame::Samples;
use evener_image::geometry::Rect;
use evener_image::graph::plane::{Node, PlaneGraph};
use evener_image::graph::{Graph, Planes};
use evener_image::kernels::convert::Scale;
use evener_image::kernels::taps::TapRun;
use evener_image::row_view::RowView;
use evener_image::stage::{Point, Resample, RowContext, Stage};
use evener_image::structures::{BACKWARD, BACKWARD_CACHED, BACKWARD_STORE};
use evener_image::{Chroma, Codes, ColourRange, Depth, Format, ops, pipelines};
use evener_runtime::{Simd, Structure};

/// A stage that counts what is asked of it.
#[derive(Debug)]
struct Counted {
    stage: Arc<dyn Stage>,
    reads: AtomicU64,
}

impl Counted {
    fn add(&self, reads: usize) {
        self.reads.fetch_add(reads as u64, Ordering::Relaxed);
    }
}

impl Stage for Counted {
    fn name(&self) -> &'static str {
        self.stage.name()
    }

    fn inputs(&self) -> usize {
        self.stage.inputs()
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        self.stage.taps(x, y, taps);
    }

    // A translation is hidden, so that it is computed as the one tap it is.
    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        self.stage.offsets()
    }

    fn combine(&self, x: i32, y: i32, samples: &[f32]) -> f32 {
        self.add(samples.len());
        self.stage.combine(x, y, samples)
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        self.add(samples.len());
        self.stage.combine_run(simd, samples, out);
    }

    fn source(&self, out: Rect) -> Rect {
        self.stage.source(out)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let mut taps = Vec::new();
        (x0..x0 + out.len() as i32).for_each(|x| self.stage.taps(x, y, &mut taps));
        self.add(taps.len() * self.stage.inputs());
        self.stage.row(cx, input, y, x0, out);
    }

    fn point(&self) -> Option<&dyn Point> {
        self.stage.point().map(|_| self as &dyn Point)
    }

    fn resample(&self) -> Option<&dyn Resample> {
        self.stage.resample().map(|_| self as &dyn Resample)
    }

    fn weight(&self) -> f64 {
        self.stage.weight()
    }
}

impl Point for Counted {
    fn apply(&self, simd: Simd, samples: &mut [f32]) {
        self.add(samples.len());
        self.stage.point().expect("pointwise").apply(simd, samples);
    }

    fn map(&self, simd: Simd, from: &[f32], to: &mut [f32]) {
        self.add(from.len());
        self.stage.point().expect("pointwise").map(simd, from, to);
    }
}

impl Resample for Counted {
    fn taps_run(&self, simd: Simd, xs: &[i32], ys: &[i32], taps: &mut TapRun) {
        self.stage
            .resample()
            .expect("resampling")
            .taps_run(simd, xs, ys, taps);
        self.add(4 * taps.x.iter().filter(|&&x| x >= 0).count());
    }

    fn fill(&self) -> f32 {
        self.stage.resample().expect("resampling").fill()
    }
}

/// Reads of each stage while `mode` computes the whole result.
fn reads(
    graph: &PlaneGraph,
    depth: Depth,
    structure: &'static Structure,
) -> Vec<(&'static str, u64)> {
    let counted: Vec<_> = graph
        .nodes
        .iter()
        .map(|n| {
            Arc::new(Counted {
                stage: Arc::clone(&n.stage),
                reads: AtomicU64::new(0),
            })
        })
        .collect();
    let mut graph = graph.clone();
    for (node, stage) in graph.nodes.iter_mut().zip(&counted) {
        *node = Node {
            stage: Arc::clone(stage) as Arc<dyn Stage>,
            ..node.clone()
        };
    }
    let cache = Cache::new(&graph);
    let mode = match structure {
        s if *s == BACKWARD_CACHED => Mode::Cached(&cache),
        s if *s == BACKWARD_STORE => Mode::Store,
        _ => Mode::Plain,
    };
    let (from, to) = (
        Samples::new(graph.source, depth),
        Samples::new(graph.size, depth),
    );
    let scale = Scale::new(Codes {
        depth,
        range: ColourRange::Full,
        chroma: false,
    });
    let (source, rows) = (
        Source::new(&from, graph.source, scale),
        0..graph.size.h as usize,
    );
    let mut target = Target::new(&to, rows.clone(), scale);
    let backward = Backward::new(&graph);
    backward.rows(
        Simd::detect(),
        &source,
        rows,
        &mut target,
        &mut Scratch::default(),
        mode,
    );
    counted
        .iter()
        .map(|c| (c.stage.name(), c.reads.load(Ordering::Relaxed)))
        .collect()
}

#[test]
fn executors_read_as_often_as_counted() {
    let graphs = pipelines::PIPELINES.iter().map(|p| p.text).chain([
        "blur,gaussian=0.5,flip=h",
        "crop=0.6,flip=v,sobel,blur",
        "resize=131:40,sobel_x,resize=40:13",
        "resize=30:20,threshold,resize=150:90",
    ]);
    for text in graphs {
        for (width, height) in [(150, 40), (37, 52), (2, 5)] {
            let format = Format {
                width,
                height,
                chroma: Chroma::Mono,
                depth: Depth::F32,
                range: ColourRange::Full,
            };
            let bound = Graph::parse(text)
                .expect(text)
                .bind(&format, Planes::Each)
                .expect(text);
            for depth in [Depth::U8, Depth::F32] {
                for structure in [&BACKWARD, &BACKWARD_STORE, &BACKWARD_CACHED] {
                    let graph = &bound.planes[0];
                    let expected = ops::count(graph, structure).expect("countable");
                    let found = reads(graph, depth, structure);
                    assert_eq!(
                        found, expected,
                        "{text} {width}x{height} {depth:?} {structure:?}"
                    );
                }
            }
        }
    }
}
