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
        }))
    },
};

struct Eq {
    contrast: f32,
    brightness: f32,
    saturation: f32,
    gamma: f32,
}

impl Filter for Eq {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let chroma = matches!(plane.component, Component::Cb | Component::Cr);
        let (factor, added, gamma) = match chroma {
            true => (self.saturation, 0.0, 1.0),
            false => (self.contrast, self.brightness, self.gamma),
        };
        let mut port = input;
        if (factor, added) != (1.0, 0.0) {
            let linear = Linear { factor, added };
            port = graph.push(Arc::new(linear), &[port], size);
        }
        if gamma != 1.0 {
            let gamma = Gamma { power: 1.0 / gamma };
            port = graph.push(Arc::new(gamma), &[port], size);
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

point_stage!(Linear, "eq", 2.0, |this, v| (v - 0.5) * this.factor
    + (0.5 + this.added));
point_stage!(Gamma, "gamma", 30.0, |this, v| power(v, this.power));
