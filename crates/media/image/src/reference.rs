//! The result of a graph by the definition of its stages alone, with which every executor is compared.
#![forbid(unsafe_code)]

use crate::format::{Codes, Depth, Size};
use crate::frame::Frame;
use crate::graph::bind::Bound;
use crate::graph::plane::{PlaneGraph, Port};
use crate::integer::{Integer, definition};
use crate::stage::Stage;

/// The bytes of every plane of the output frame that a bound graph gives for `input`.
///
/// # Panics
/// If `input` does not have the format that the graph was bound to.
pub fn frame(bound: &Bound, input: &Frame) -> Vec<Vec<u8>> {
    frames(bound, &[input])
}

/// The same for a graph that reads several frames.
///
/// # Panics
/// If they do not have the formats that the graph was bound to.
pub fn frames(bound: &Bound, inputs: &[&Frame]) -> Vec<Vec<u8>> {
    let plane = |(p, graph): (usize, &PlaneGraph)| match Integer::of(graph, bound.input.depth) {
        Some(integer) => integers(&integer, graph, inputs[0], p, bound.output.codes(p)),
        None => in_floats(bound, p, graph, inputs),
    };
    bound.planes.iter().enumerate().map(plane).collect()
}

/// As [`frame`], with every plane computed in floats, whose result differs by one code at most.
///
/// # Panics
/// As [`frame`].
pub fn frame_in_floats(bound: &Bound, input: &Frame) -> Vec<Vec<u8>> {
    let planes = bound.planes.iter().enumerate();
    planes
        .map(|(p, graph)| in_floats(bound, p, graph, &[input]))
        .collect()
}

fn in_floats(bound: &Bound, plane: usize, graph: &PlaneGraph, inputs: &[&Frame]) -> Vec<u8> {
    let own = values(inputs[0], plane.min(inputs[0].format().planes() - 1));
    let others = graph.others.iter();
    let others: Vec<_> = others
        .map(|other| values(inputs[other.frame], other.plane))
        .collect();
    codes(
        &evaluate_with(graph, &own, &others),
        bound.output.codes(plane),
    )
}

/// A plane that is computed in integers.
fn integers(
    integer: &Integer,
    graph: &PlaneGraph,
    frame: &Frame,
    plane: usize,
    of: Codes,
) -> Vec<u8> {
    let bytes = frame.plane_bytes(plane);
    let source = match of.depth {
        Depth::U8 => bytes.iter().map(|&code| u16::from(code)).collect(),
        _ => bytemuck::pod_collect_to_vec::<u8, u16>(&bytes),
    };
    let width = graph.source.w as usize;
    let (_, fill) = integer.then.inside.unwrap_or_default();
    let fill = match of.depth {
        Depth::U8 => u16::from(codes(&[fill], of)[0]),
        _ => bytemuck::pod_collect_to_vec(&codes(&[fill], of))[0],
    };
    let codes = definition::plane(integer, &source, width, graph.size, fill);
    match of.depth {
        Depth::U8 => codes.iter().map(|&code| code as u8).collect(),
        _ => bytemuck::pod_collect_to_vec(&codes),
    }
}

fn values(frame: &Frame, plane: usize) -> Vec<f32> {
    let bytes = frame.plane_bytes(plane);
    let of = frame.format().codes(plane);
    let value = |code: f32| (code - of.zero()) / of.span();
    match of.depth {
        Depth::U8 => bytes.iter().map(|&c| value(f32::from(c))).collect(),
        Depth::U10 | Depth::U12 | Depth::U16 => bytemuck::pod_collect_to_vec::<u8, u16>(&bytes)
            .iter()
            .map(|&c| value(f32::from(c)))
            .collect(),
        Depth::F32 => bytemuck::pod_collect_to_vec(&bytes),
    }
}

fn codes(values: &[f32], of: Codes) -> Vec<u8> {
    // The code nearest to v · span + zero, which is rounded once before; a NaN becomes 0.
    let Some(maximum) = of.depth.maximum() else {
        return bytemuck::pod_collect_to_vec(values);
    };
    let codes = values.iter().map(|v| {
        let code = v.mul_add(of.span(), of.zero()).round_ties_even();
        code.clamp(0.0, maximum as f32) as u16
    });
    match of.depth {
        Depth::U8 => codes.map(|code| code as u8).collect(),
        _ => bytemuck::pod_collect_to_vec(&codes.collect::<Vec<u16>>()),
    }
}

/// The result of `graph` for a source plane, both row after row: each stage over its whole plane, output by output,
/// from [`Stage::taps`] and [`Stage::combine`].
///
/// # Panics
/// If `source` does not have the size that the graph was bound to.
pub fn evaluate(graph: &PlaneGraph, source: &[f32]) -> Vec<f32> {
    evaluate_with(graph, source, &[])
}

/// The same for a graph that reads `others` besides.
///
/// # Panics
/// If the planes do not have the sizes that the graph was bound to.
pub fn evaluate_with(graph: &PlaneGraph, source: &[f32], others: &[Vec<f32>]) -> Vec<f32> {
    let mut planes = all_planes(graph, source, others);
    match graph.result {
        Port::Source => source.to_vec(),
        Port::Other(i) => others[i].clone(),
        Port::Constant(value) => vec![value; graph.size.area()],
        Port::Stage(i) => planes.swap_remove(i),
    }
}

/// The output of every stage, in the order of the graph.
///
/// # Panics
/// As [`evaluate`].
pub fn planes(graph: &PlaneGraph, source: &[f32]) -> Vec<Vec<f32>> {
    all_planes(graph, source, &[])
}

fn all_planes(graph: &PlaneGraph, source: &[f32], others: &[Vec<f32>]) -> Vec<Vec<f32>> {
    assert_eq!(
        source.len(),
        graph.source.area(),
        "a source of {}",
        graph.source
    );
    let mut planes: Vec<Vec<f32>> = Vec::new();
    for node in &graph.nodes {
        let inputs: Vec<Vec<f32>> = node
            .inputs
            .iter()
            .map(|port| match *port {
                Port::Source => source.to_vec(),
                Port::Other(i) => others[i].clone(),
                Port::Stage(i) => planes[i].clone(),
                Port::Constant(value) => vec![value; node.input_size.area()],
            })
            .collect();
        let sizes: Vec<Size> = node
            .inputs
            .iter()
            .map(|&port| graph.size_of(port))
            .collect();
        planes.push(stage(&*node.stage, &inputs, &sizes, node.size));
    }
    planes
}

/// One stage over its whole plane.
fn stage(stage: &dyn Stage, inputs: &[Vec<f32>], from: &[Size], to: Size) -> Vec<f32> {
    let mut out = Vec::with_capacity(to.area());
    for y in 0..to.h as i32 {
        for x in 0..to.w as i32 {
            let mut samples = Vec::new();
            for (input, (plane, &size)) in inputs.iter().zip(from).enumerate() {
                let mut taps = Vec::new();
                stage.taps_of(input, x, y, &mut taps);
                samples.extend(taps.iter().map(|&(tx, ty)| plane[nearest(size, tx, ty)]));
            }
            out.push(stage.combine(x, y, &samples));
        }
    }
    out
}

/// Index of the sample of a plane nearest to (x, y).
fn nearest(plane: Size, x: i32, y: i32) -> usize {
    let x = x.clamp(0, plane.w as i32 - 1) as usize;
    let y = y.clamp(0, plane.h as i32 - 1) as usize;
    y * plane.w as usize + x
}
