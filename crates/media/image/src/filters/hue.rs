//! `hue`: hue, saturation and brightness, as in FFmpeg. Values may follow time.

use std::sync::Arc;

use super::eq::Linear;
use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::{Size, Video};
use crate::geometry::Rect;
use crate::graph::bind::Inputs;
use crate::graph::expression::{Expression, Names};
use crate::graph::plane::Port;
use crate::row_view::RowView;
use crate::sequence::{Moment, Still};
use crate::stage::{Component, GREY, Plane, RowContext, Stage};

/// Codes of 8 bits for a brightness of 1.
const BRIGHTNESS: f32 = 25.5;

const NAMES: Names = &[("n", N), ("t", T)];
const N: usize = 0;
const T: usize = 1;

pub const ENTRY: Entry = Entry {
    name: "hue",
    aliases: &[],
    about: "hue, saturation and brightness",
    args: &[
        Arg::length(
            "h",
            Some("0"),
            "the angle in degrees, which may use t and n",
        ),
        Arg::length(
            "s",
            Some("1"),
            "the factor on chroma's distance from grey, -10 to 10",
        ),
        Arg::length("H", Some("0"), "the angle in radians"),
        Arg::length(
            "b",
            Some("0"),
            "brightness from -10 to 10; 10 makes all of it white",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let of = |name| args.expression(name, NAMES, &[]);
        Ok(Box::new(Hue {
            degrees: of("h")?,
            radians: of("H")?,
            saturation: of("s")?,
            brightness: of("b")?,
        }))
    },
};

struct Hue {
    degrees: Expression,
    radians: Expression,
    saturation: Expression,
    brightness: Expression,
}

impl Hue {
    fn all(&self) -> [&Expression; 4] {
        [
            &self.degrees,
            &self.radians,
            &self.saturation,
            &self.brightness,
        ]
    }

    fn still(&self, moment: &Moment) -> Turned {
        let values = [moment.n as f64, moment.t];
        let of = |expression: &Expression| expression.value(&values);
        let within = |v: f64| v.clamp(-10.0, 10.0) as f32;
        Turned {
            angle: of(&self.degrees).to_radians() + of(&self.radians),
            saturation: within(of(&self.saturation)),
            brightness: within(of(&self.brightness)),
        }
    }
}

impl Filter for Hue {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let plane = Plane::of(&inputs[0].format, 0);
        match plane.component {
            Component::Rgb => Err("there is no hue on red, green and blue".to_owned()),
            _ => Ok(inputs[0]),
        }
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        self.still(&Moment::default()).join(plane, size, inputs)
    }

    fn at(&self, moment: &Moment) -> Option<Still> {
        let moves = |expression: &&Expression| expression.uses(N) || expression.uses(T);
        self.all().iter().find(|expression| moves(expression))?;
        let still = self.still(moment);
        Some(Still {
            key: vec![
                still.angle.to_bits(),
                still.saturation.to_bits().into(),
                still.brightness.to_bits().into(),
            ],
            filter: Arc::new(still),
        })
    }
}

/// It at a moment.
struct Turned {
    /// In radians.
    angle: f64,
    saturation: f32,
    brightness: f32,
}

impl Filter for Turned {
    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        let index = inputs.plane();
        let linear = |factor, added| Linear { factor, added };
        let (sin, cos) = self.angle.sin_cos();
        let (sin, cos) = (sin as f32 * self.saturation, cos as f32 * self.saturation);
        let other = match plane.component {
            Component::Cb => Some((index + 1, -sin)),
            Component::Cr => Some((index - 1, sin)),
            Component::Luma | Component::Rgb => None,
        };
        let stage: Arc<dyn Stage> = match other {
            Some((other, weight)) if sin != 0.0 => {
                let ports = [inputs.port(0, index), inputs.port(0, other)];
                let stage = Mixed {
                    own: cos,
                    other: weight,
                };
                return inputs.graph().push(Arc::new(stage), &ports, size);
            }
            Some(_) => Arc::new(linear(cos, 0.0)),
            None => Arc::new(linear(
                1.0,
                self.brightness * BRIGHTNESS * plane.codes.of_8_bits(),
            )),
        };
        let same = match other {
            Some(_) => cos == 1.0,
            None => self.brightness == 0.0,
        };
        match inputs.own() {
            Port::Constant(value) => Port::Constant(value),
            port if same => port,
            port => inputs.graph().push(stage, &[port], size),
        }
    }
}

/// A chroma plane turned towards the other one: both by their distance from grey.
#[derive(Debug)]
struct Mixed {
    own: f32,
    other: f32,
}

#[inline(always)]
fn mixed(own: f32, other: f32, weights: (f32, f32)) -> f32 {
    (own - GREY).mul_add(weights.0, (other - GREY).mul_add(weights.1, GREY))
}

#[inline(always)]
fn mix_body(own: &[f32], other: &[f32], weights: (f32, f32), out: &mut [f32]) {
    let n = out.len();
    let (own, other) = (&own[..n], &other[..n]);
    for i in 0..n {
        out[i] = mixed(own[i], other[i], weights);
    }
}

for_each_level! {
    fn mix(own: &[f32], other: &[f32], weights: (f32, f32), out: &mut [f32]) = mix_body;
}

impl Stage for Mixed {
    fn name(&self) -> &'static str {
        "hue"
    }

    fn inputs(&self) -> usize {
        2
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x, y));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(vec![(0, 0)])
    }

    fn combine(&self, _: i32, _: i32, samples: &[f32]) -> f32 {
        mixed(samples[0], samples[1], (self.own, self.other))
    }

    fn source(&self, out: Rect) -> Rect {
        out
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        inputs: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let row = |view: &RowView<'_>| (x0 - view.rect().x0) as usize;
        let (own, other) = (row(&inputs[0]), row(&inputs[1]));
        let own = &inputs[0].row(y)[own..own + out.len()];
        let other = &inputs[1].row(y)[other..other + out.len()];
        mix(cx.simd, own, other, (self.own, self.other), out);
    }

    fn weight(&self) -> f64 {
        2.0
    }
}
