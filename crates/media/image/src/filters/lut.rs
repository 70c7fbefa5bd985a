//! `lut`: a table of codes for each plane, computed from an expression, as in FFmpeg.
//!
//! A sample is rounded to its code, which vectors do, and looked up, one by one: the bound is one load a sample,
//! with AVX2 0.8 ns.

use std::fmt;
use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role};
use crate::format::{Codes, ColourRange, Depth, Size};
use crate::graph::expression::{Expression, Functions, Names};
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::convert::Scale;
use crate::stage::{Component, Plane};

const NAMES: Names = &[
    ("val", 0),
    ("minval", 1),
    ("maxval", 2),
    ("clipval", 3),
    ("negval", 4),
    ("w", 5),
    ("h", 6),
];

/// How far a code is between the least and the largest one.
fn level(values: &[f64]) -> f64 {
    (values[3] - values[1]) / (values[2] - values[1])
}

fn code(level: f64, values: &[f64]) -> f64 {
    level * (values[2] - values[1]) + values[1]
}

const FUNCTIONS: Functions = &[
    ("clip", 1, |v, values| v[0].max(values[1]).min(values[2])),
    ("gammaval", 1, |v, values| {
        code(level(values).powf(v[0]), values)
    }),
    ("gammaval709", 1, |v, values| {
        let level = level(values);
        let level = match level < 0.018 {
            true => 4.5 * level,
            false => 1.099 * level.powf(1.0 / v[0]) - 0.099,
        };
        code(level, values)
    }),
];

pub const ENTRY: Entry = Entry {
    name: "lut",
    aliases: &["lutyuv"],
    about: "tables: an expression of the code `val` for each plane",
    args: &[
        Arg::length("c0", Some("clipval"), "luma, from val, minval and maxval").also(&["y"]),
        Arg::length("c1", Some("clipval"), "the first chroma plane").also(&["u"]),
        Arg::length("c2", Some("clipval"), "the second chroma plane").also(&["v"]),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let of = |name| args.expression(name, NAMES, FUNCTIONS);
        Ok(Box::new(Lut([of("c0")?, of("c1")?, of("c2")?])))
    },
};

/// For luma and both of chroma.
struct Lut([Expression; 3]);

impl Lut {
    /// The table of a plane.
    fn on(&self, plane: &Plane) -> Result<LutStage, String> {
        let index = match plane.component {
            Component::Luma => 0,
            Component::Cb => 1,
            Component::Cr => 2,
            Component::Rgb => return Err("there is no lut on red, green and blue".to_owned()),
        };
        // Floats have no codes; these are the ones that they are read from.
        let codes = match plane.codes.depth {
            Depth::F32 => Codes {
                depth: Depth::U16,
                range: ColourRange::Full,
                ..plane.codes
            },
            _ => plane.codes,
        };
        let scale = Scale::new(codes);
        let largest = f64::from(scale.largest());
        let (least, most) = match codes.range {
            ColourRange::Full => (0.0, largest),
            ColourRange::Limited => (
                f64::from(codes.zero()),
                f64::from(codes.zero() + codes.span()),
            ),
        };
        let (w, h) = (f64::from(plane.size.w), f64::from(plane.size.h));
        let value = |code: u32| {
            let val = f64::from(code);
            let clip = |v: f64| v.clamp(least, most);
            let values = [val, least, most, clip(val), clip(least + most - val), w, h];
            let result = self.0[index].value(&values);
            if result.is_nan() {
                return Err(format!("`c{index}` is not a number for code {code}"));
            }
            let code = result.trunc().clamp(0.0, largest);
            Ok(scale.value(code as f32))
        };
        let table: Result<Vec<f32>, String> = (0..=scale.largest()).map(value).collect();
        Ok(LutStage {
            scale,
            table: table?,
        })
    }
}

impl Filter for Lut {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.on(plane).map(|_| plane.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        // `output_size` has refused what has no table.
        match self.on(plane) {
            Ok(stage) => graph.push(Arc::new(stage), &[input], size),
            Err(_) => input,
        }
    }
}

struct LutStage {
    scale: Scale,
    /// The value of each code.
    table: Vec<f32>,
}

impl fmt::Debug for LutStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lut({} codes)", self.table.len())
    }
}

point_stage!(LutStage, "lut", 6.0, |this, v| {
    this.table[this.scale.code(v) as usize]
});
