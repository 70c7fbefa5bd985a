//! `eq`: contrast about the middle, brightness, gamma; saturation of chroma.

use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::power::power;
use crate::stage::{Component, Plane};

pub const ENTRY: Entry = Entry {
    name: "eq",
    aliases: &[],
    about: "contrast, brightness, saturation and gamma",
    args: &[
        Arg::optional(
            "contrast",
            "1",
            "the factor on the distance from mid-grey, ½",
        ),
        Arg::optional("brightness", "0", "the amount to add; 1 is white"),
        Arg::optional(
            "saturation",
            "1",
            "the factor on chroma's distance from grey",
        ),
        Arg::optional("gamma", "1", "v becomes v^(1/gamma)"),
        Arg::optional("gamma_r", "1", "gamma of red, by chroma"),
        Arg::optional(
            "gamma_g",
            "1",
            "gamma of green: of luma, and against red and blue",
        ),
        Arg::optional("gamma_b", "1", "gamma of blue, by chroma"),
        Arg::optional(
            "gamma_weight",
            "1",
            "the share of gamma; the rest stays, so less spares what is bright",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let within = |name, low: f64, high: f64| {
            let inside = |v| v >= low && v <= high;
            let value = args.number_where(name, inside, &format!("from {low} to {high}"));
            value.map(|v| v as f32)
        };
        Ok(Box::new(Eq {
            contrast: within("contrast", -1000.0, 1000.0)?,
            brightness: within("brightness", -1.0, 1.0)?,
            saturation: within("saturation", 0.0, 3.0)?,
            gamma: within("gamma", 0.1, 10.0)?,
            colours: [
                within("gamma_r", 0.1, 10.0)?,
                within("gamma_g", 0.1, 10.0)?,
                within("gamma_b", 0.1, 10.0)?,
            ],
            weight: within("gamma_weight", 0.0, 1.0)?,
        }))
    },
};

struct Eq {
    contrast: f32,
    brightness: f32,
    saturation: f32,
    gamma: f32,
    /// Of red, green and blue.
    colours: [f32; 3],
    weight: f32,
}

impl Filter for Eq {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let [red, green, blue] = self.colours;
        let (factor, added, gamma) = match plane.component {
            Component::Cb => (self.saturation, 0.0, (blue / green).sqrt()),
            Component::Cr => (self.saturation, 0.0, (red / green).sqrt()),
            Component::Luma | Component::Rgb => {
                (self.contrast, self.brightness, self.gamma * green)
            }
        };
        let mut port = input;
        if (factor, added) != (1.0, 0.0) {
            let linear = Linear { factor, added };
            port = graph.push(Arc::new(linear), &[port], size);
        }
        let power = 1.0 / gamma;
        if gamma != 1.0 && self.weight == 1.0 {
            port = graph.push(Arc::new(Gamma { power }), &[port], size);
        } else if gamma != 1.0 && self.weight > 0.0 {
            let weight = self.weight;
            port = graph.push(Arc::new(PartGamma { power, weight }), &[port], size);
        }
        port
    }
}

/// (v - ½) · factor + ½ + added.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) factor: f32,
    pub(super) added: f32,
}

#[derive(Debug)]
struct Gamma {
    power: f32,
}

/// The share `weight` of gamma, and the rest of v.
#[derive(Debug)]
struct PartGamma {
    power: f32,
    weight: f32,
}

point_stage!(Linear, "eq", 2.0, |this, v| (v - 0.5) * this.factor
    + (0.5 + this.added));
point_stage!(Gamma, "gamma", 30.0, |this, v| power(v, this.power));
point_stage!(PartGamma, "gamma", 33.0, |this, v| {
    let kept = if v > 0.0 { v } else { 0.0 };
    kept * (1.0 - this.weight) + power(v, this.power) * this.weight
});
