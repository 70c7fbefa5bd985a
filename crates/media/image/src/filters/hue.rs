//! `hue`: saturation and brightness, as in FFmpeg, which also turns the hue.

use std::sync::Arc;

use super::eq::Linear;
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::{Component, Plane};

/// Codes of 8 bits for a brightness of 1.
const BRIGHTNESS: f32 = 25.5;

pub const ENTRY: Entry = Entry {
    name: "hue",
    aliases: &[],
    about: "saturation and brightness",
    args: &[
        Arg::optional("h", "0", "the angle; only 0"),
        Arg::optional(
            "s",
            "1",
            "the factor on chroma's distance from grey, -10 to 10",
        ),
        Arg::optional("H", "0", "the angle; only 0"),
        Arg::optional(
            "b",
            "0",
            "brightness from -10 to 10; 10 makes all of it white",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        for angle in ["h", "H"] {
            args.number_where(angle, |v| v == 0.0, "0: the hue is not turned here")?;
        }
        let within = |name| {
            let inside = |v: f64| (-10.0..=10.0).contains(&v);
            args.number_where(name, inside, "from -10 to 10")
        };
        Ok(Box::new(Hue {
            saturation: within("s")? as f32,
            brightness: within("b")? as f32,
        }))
    },
};

struct Hue {
    saturation: f32,
    brightness: f32,
}

impl Filter for Hue {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        match plane.component {
            Component::Rgb => Err("there is no hue on red, green and blue".to_owned()),
            _ => Ok(plane.size),
        }
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let linear = match plane.component {
            Component::Cb | Component::Cr => Linear {
                factor: self.saturation,
                added: 0.0,
            },
            Component::Luma | Component::Rgb => Linear {
                factor: 1.0,
                added: self.brightness * BRIGHTNESS * plane.codes.of_8_bits(),
            },
        };
        if (linear.factor, linear.added) == (1.0, 0.0) {
            return input;
        }
        graph.push(Arc::new(linear), &[input], size)
    }
}
