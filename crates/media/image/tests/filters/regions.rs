//! Region inference: what a stage says it reads holds what it reads, and not much more.

use std::ops::Range;
use std::sync::Arc;

use evener_image::geometry::Rect;
use evener_image::graph::{Graph, Planes};
use evener_image::stage::Stage;
use evener_image::{Chroma, ColourRange, Depth, Format, Size};
use proptest::prelude::*;

/// The stages of a graph on luma, each with the sizes of its input and output; none where it has no place.
fn stages(text: &str, size: Size) -> Vec<(Arc<dyn Stage>, Size, Size)> {
    let format = Format {
        width: size.w,
        height: size.h,
        chroma: Chroma::Mono,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    let Ok(bound) = Graph::parse(text).unwrap().bind(&format, Planes::Auto) else {
        return Vec::new();
    };
    let nodes = &bound.planes[0].nodes;
    nodes
        .iter()
        .map(|n| (n.stage.clone(), n.input_size, n.size))
        .collect()
}

/// The samples that the outputs in `out` read.
fn read(stage: &dyn Stage, out: Rect, input: Size) -> Rect {
    let mut taps = Vec::new();
    let mut read = Rect::default();
    for y in out.y0..out.y1 {
        for x in out.x0..out.x1 {
            taps.clear();
            stage.taps(x, y, &mut taps);
            for &(x, y) in &taps {
                let x = x.clamp(0, input.w as i32 - 1);
                let y = y.clamp(0, input.h as i32 - 1);
                read = read.union(&Rect {
                    x0: x,
                    y0: y,
                    x1: x + 1,
                    y1: y + 1,
                });
            }
        }
    }
    read
}

fn holds(outer: Rect, inner: Rect) -> bool {
    inner.is_empty()
        || outer.x0 <= inner.x0
            && outer.y0 <= inner.y0
            && outer.x1 >= inner.x1
            && outer.y1 >= inner.y1
}

/// Checks one rectangle of every stage; the rectangle is given by shares of the output and at most 24 samples a side.
fn check(
    text: &str,
    size: Size,
    place: (f64, f64),
    sides: (i32, i32),
) -> Result<(), TestCaseError> {
    for (stage, input, output) in stages(text, size) {
        let axis = |share: f64, side: i32, end: u32| {
            let end = end as i32;
            let low = ((share * f64::from(end)) as i32).min(end - 1);
            (low, (low + side).min(end))
        };
        let (x0, x1) = axis(place.0, sides.0, output.w);
        let (y0, y1) = axis(place.1, sides.1, output.h);
        let out = Rect { x0, y0, x1, y1 };
        let source = stage.source(out).clamp_to(input);
        let read = read(&*stage, out, input);
        prop_assert!(
            holds(source, read),
            "{text} on {size}, {}: {out:?} reads {read:?}, said {source:?}",
            stage.name()
        );
        prop_assert!(
            holds(Rect::of(input), source),
            "{text} on {size}: {source:?} of {input}"
        );
        if stage.resample().is_none() {
            prop_assert_eq!(source, read, "{} on {}, {}", text, size, stage.name());
        }
        check_columns(&*stage, out, input, source)
            .map_err(|e| TestCaseError::fail(format!("{text} on {size}, {}: {e}", stage.name())))?;
    }
    Ok(())
}

/// Checks the columns of some runs of rows of `source`.
fn check_columns(stage: &dyn Stage, out: Rect, input: Size, source: Rect) -> Result<(), String> {
    for height in [1, 2, 5] {
        for y0 in (source.y0..source.y1).step_by(3 * height as usize) {
            let rows = y0..(y0 + height).min(source.y1);
            let columns = stage.source_columns(out, rows.clone());
            let within = |r: &Range<i32>, v: i32| r.contains(&v);
            let mut taps = Vec::new();
            for (x, y) in (out.y0..out.y1).flat_map(|y| (out.x0..out.x1).map(move |x| (x, y))) {
                taps.clear();
                stage.taps(x, y, &mut taps);
                let beyond = taps.iter().find(|&&(tx, ty)| {
                    let held = Rect {
                        x0: columns.start,
                        x1: columns.end,
                        y0: 0,
                        y1: 1,
                    };
                    let held = held.clamp_to(input);
                    within(&rows, ty.clamp(0, input.h as i32 - 1))
                        && !within(&(held.x0..held.x1), tx.clamp(0, input.w as i32 - 1))
                });
                if let Some(tap) = beyond {
                    return Err(format!(
                        "{out:?} reads columns {columns:?} of rows {rows:?}, but ({x}, {y}) reads {tap:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}

fn sizes() -> impl Strategy<Value = Size> {
    let side = prop_oneof![1u32..4, 1u32..80, 1u32..5000];
    (side.clone(), side).prop_map(|(w, h)| Size { w, h })
}

/// Weights of every magnitude, most of them of the kind a lens has.
fn weight() -> impl Strategy<Value = f64> {
    let sign = prop_oneof![Just(1.0), Just(-1.0)];
    prop_oneof![
        3 => -2.0..2.0,
        1 => (sign, -4.0..38.0f64).prop_map(|(sign, power)| sign * 10f64.powf(power)),
        1 => Just(0.0),
    ]
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (weight(), weight()).prop_map(|(k1, k2)| format!("undistort={k1}:{k2}")),
        // Weights that nearly cancel at some radius, where rounding counts most.
        2 => (0.1..3.0f64, 0.0..6.0f64).prop_map(|(u, power)| {
            let k1 = -10f64.powf(power);
            format!("undistort={k1}:{}", (-k1 - 1.0 / u) / u)
        }),
        4 => (-720.0..720.0f64).prop_map(|angle| format!("rotate={angle}")),
        2 => (-8..8i32).prop_map(|quarters| format!("rotate={}", quarters * 45)),
        4 => (1..6000u32, 1..6000u32).prop_map(|(w, h)| format!("resize={w}:{h}")),
        1 => (0.01..1.0f64).prop_map(|fraction| format!("crop={fraction}")),
        1 => (0.1..3.0f64).prop_map(|sigma| format!("gaussian={sigma}")),
        2 => proptest::sample::select(
            &["blur", "sobel", "sobel_x", "sobel_y", "threshold", "posterize", "binary", "flip=h", "flip=v"][..]
        ).prop_map(str::to_owned),
    ]
}

fn place() -> impl Strategy<Value = (f64, f64)> {
    let share = || prop_oneof![Just(0.0), Just(0.5), 0.0..1.0, Just(0.9999)];
    (share(), share())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_source_holds_every_tap(
        text in texts(),
        size in sizes(),
        place in place(),
        sides in (1..24i32, 1..24i32),
    ) {
        check(&text, size, place, sides)?;
    }
}

#[test]
fn sources_of_whole_planes_hold_every_tap() {
    let texts = [
        "undistort",
        "undistort=0.4:-0.5",
        "undistort=-3:2",
        "rotate=33",
        "resize=50:90",
    ];
    for text in texts {
        for (w, h) in [(1, 1), (1, 90), (90, 1), (61, 47), (200, 3)] {
            let size = Size { w, h };
            for (stage, input, output) in stages(text, size) {
                let out = Rect::of(output);
                let source = stage.source(out).clamp_to(input);
                let read = read(&*stage, out, input);
                assert!(
                    holds(source, read),
                    "{text} on {size}: {read:?} not in {source:?}"
                );
            }
        }
    }
}

#[test]
fn sources_of_tiles_are_tight() {
    let size = Size { w: 1920, h: 1080 };
    let texts = [
        "undistort",
        "undistort=0.2:0.1",
        "rotate=6",
        "rotate=60",
        "resize=1280:720",
        "flip=h",
    ];
    for text in texts {
        let mut tiles = 0;
        for (stage, input, output) in stages(text, size) {
            for (tile_w, tile_h) in [(64, 32), (256, 128), (1920, 32)] {
                for (sx, sy) in [(0, 0), (1, 1), (1, 0), (2, 3), (3, 1)] {
                    let low = |share: i32, side: i32, end: u32| {
                        (end as i32 * share / 4).min(end as i32 - side).max(0)
                    };
                    let (x0, y0) = (low(sx, tile_w, output.w), low(sy, tile_h, output.h));
                    let (x1, y1) = (
                        (x0 + tile_w).min(output.w as i32),
                        (y0 + tile_h).min(output.h as i32),
                    );
                    let out = Rect { x0, y0, x1, y1 };
                    let source = stage.source(out).clamp_to(input);
                    // Outputs that are fill make the rest read less than their rectangle maps to.
                    let mut taps = Vec::new();
                    let corners = [(x0, y0), (x1 - 1, y0), (x0, y1 - 1), (x1 - 1, y1 - 1)];
                    let filled = corners.iter().any(|&(x, y)| {
                        taps.clear();
                        stage.taps(x, y, &mut taps);
                        taps.is_empty()
                    });
                    if filled {
                        continue;
                    }
                    tiles += 1;
                    let read = read(&*stage, out, input);
                    assert!(
                        holds(read.grow(3, 3), source),
                        "{text}: {out:?} reads {read:?}, said {source:?}"
                    );
                }
            }
        }
        assert!(tiles >= 3, "{text}: only {tiles} tiles were inside");
    }
}

#[test]
fn outputs_outside_the_source_read_nothing() {
    let size = Size { w: 400, h: 100 };
    let corner = Rect {
        x0: 0,
        y0: 0,
        x1: 20,
        y1: 20,
    };
    for (stage, ..) in stages("rotate=90", size) {
        assert!(
            stage.source(corner).is_empty(),
            "{:?}",
            stage.source(corner)
        );
        assert!(stage.source(Rect::default()).is_empty());
    }
}

/// With weights like these the terms of the scale are 10⁴ to 10⁶ and cancel on a thin ring, the only outputs that are
/// not fill. Rounding moves what they read by several samples.
#[test]
fn sources_hold_taps_where_rounding_is_large() {
    // Squared distances beyond 2²⁴ are rounded, and this is what the sizes of the terms multiply.
    let size = Size { w: 24000, h: 18000 };
    let (cx, cy) = (11999.5f64, 8999.5f64);
    for weight in [1e4, 1e5, 1e6] {
        // 1 - weight·u + (weight / u0 - 1 / u0²)·u² is 0 at u0, u being the squared distance from the centre in units
        // of that of the corners.
        let u0: f64 = 0.5;
        let text = format!("undistort={}:{}", -weight, (weight - 1.0 / u0) / u0);
        let stages = stages(&text, size);
        let (stage, input, _) = &stages[0];
        let radius = (u0 * (cx * cx + cy * cy)).sqrt();
        let mut inside = 0;
        for y in 0..size.h as i32 {
            let dy = f64::from(y) - cy;
            let x = (cx + (radius * radius - dy * dy).sqrt()).round() as i32;
            for x in x - 1..=x + 1 {
                let out = Rect {
                    x0: x,
                    y0: y,
                    x1: x + 1,
                    y1: y + 1,
                };
                let source = stage.source(out).clamp_to(*input);
                let read = read(&**stage, out, *input);
                inside += usize::from(!read.is_empty());
                assert!(
                    holds(source, read),
                    "{text}: {out:?} reads {read:?}, said {source:?}"
                );
            }
        }
        assert!(inside > 10, "{text}: only {inside} outputs are inside");
    }
}
