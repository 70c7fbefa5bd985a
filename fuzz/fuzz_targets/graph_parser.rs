//! Any text as a graph: no panic, errors of one line; what is read can be written and read again, and where it fits a
//! format its planes have the sizes that the output format says.

#![no_main]
#![forbid(unsafe_code)]

use evener_image::geometry::Rect;
use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, ColourRange, Depth, Format};
use libfuzzer_sys::fuzz_target;

const FORMATS: [(u32, u32, Chroma); 4] = [
    (352, 288, Chroma::C420),
    (1, 1, Chroma::C422),
    (33, 2, Chroma::C444),
    (65536, 65536, Chroma::Mono),
];

fuzz_target!(|text: &str| {
    let graph = match Graph::parse(text) {
        Ok(graph) => graph,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let shown = graph.to_string();
    let again = Graph::parse(&shown).expect("what was written is right");
    assert_eq!(again.to_string(), shown);
    for (width, height, chroma) in FORMATS {
        let format = Format {
            width,
            height,
            chroma,
            depth: Depth::U8,
            range: ColourRange::Full,
        };
        for planes in [Planes::Auto, Planes::Each, Planes::Luma] {
            match graph.bind(&format, planes) {
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
                Ok(bound) => check(&bound),
            }
        }
    }
});

fn check(bound: &evener_image::graph::Bound) {
    for (p, plane) in bound.planes.iter().enumerate() {
        assert_eq!(plane.size, bound.output.plane_size(p));
        for node in &plane.nodes {
            let (right, bottom) = (node.size.w as i32 - 1, node.size.h as i32 - 1);
            for (x, y) in [(0, 0), (right, 0), (right / 2, bottom / 2), (right, bottom)] {
                let one = Rect {
                    x0: x,
                    y0: y,
                    x1: x + 1,
                    y1: y + 1,
                };
                let source = node.stage.source(one).clamp_to(node.input_size);
                let mut taps = Vec::new();
                node.stage.taps(x, y, &mut taps);
                for (tx, ty) in taps {
                    let tx = tx.clamp(0, node.input_size.w as i32 - 1);
                    let ty = ty.clamp(0, node.input_size.h as i32 - 1);
                    assert!(
                        (source.x0..source.x1).contains(&tx)
                            && (source.y0..source.y1).contains(&ty),
                        "{} at ({x}, {y}) reads ({tx}, {ty}), said {source:?}",
                        node.stage.name()
                    );
                }
            }
        }
    }
}
