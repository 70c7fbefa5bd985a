//! Kernels that are chosen by measurement.
//!
//! One level serves all row kernels: a graph has several, and its rows should stay in registers of one width.

use evener_runtime::{Kernels, Simd};

use crate::format::{Chroma, ColourRange, Depth, Format, Size};
use crate::geometry::Rect;
use crate::graph::plane::Node;
use crate::graph::{Graph, Planes};
use crate::kernels::{self, STRIP};
use crate::row_view::RowView;
use crate::stage::RowContext;

/// The graph of a trial: kernels of which each level has its own.
const GRAPH: &str = "blur,rotate=6,sobel";
/// The plane of a trial, which stays in the nearest cache.
const SIZE: Size = Size { w: 256, h: 16 };

/// The row kernels of filters.
pub static FILTERS: Kernels = Kernels::new("filters", "256x16 samples", variant, |simd| {
    let nodes = nodes();
    let samples: Vec<f32> = (0..SIZE.w * SIZE.h)
        .map(|i| (i % 251) as f32 / 250.0)
        .collect();
    let mut out = samples.clone();
    let mut temp = Vec::new();
    Box::new(move || {
        for node in &nodes {
            run(node, simd, &samples, &mut out, &mut temp);
        }
    })
});

/// All of them.
pub static KERNELS: [&Kernels; 1] = [&FILTERS];

fn variant(simd: Simd) -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if kernels::has_avx512(simd) {
        return "avx512";
    } else if kernels::has_avx2(simd) {
        return "avx2";
    }
    let _ = simd;
    "baseline"
}

fn nodes() -> Vec<Node> {
    let format = Format {
        width: SIZE.w,
        height: SIZE.h,
        chroma: Chroma::Mono,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    let graph = Graph::parse(GRAPH).expect("a graph");
    let bound = graph.bind(&format, Planes::Auto).expect("a size for it");
    bound.planes[0].nodes.clone()
}

/// All rows of a stage, with the same plane for every input.
fn run(node: &Node, simd: Simd, samples: &[f32], out: &mut [f32], temp: &mut Vec<f32>) {
    let plane = Rect {
        x0: 0,
        y0: 0,
        x1: SIZE.w as i32,
        y1: SIZE.h as i32,
    };
    let inputs = vec![RowView::plane(samples, SIZE.w as usize, plane); node.stage.inputs()];
    let mut context = RowContext { simd, temp };
    for (strip, rows) in out.chunks_mut(STRIP * SIZE.w as usize).enumerate() {
        let mut rows: Vec<&mut [f32]> = rows.chunks_mut(SIZE.w as usize).collect();
        let y = (strip * STRIP) as i32;
        node.stage.rows(&mut context, &inputs, y, 0, &mut rows);
    }
}
