//! `vignette`: darkens towards the corners as a lens does, by the fourth power of the cosine of the angle.
//!
//! The factor is computed for each sample, since a plane of factors would be four times as much memory to read as codes.
//! The cosine of a root is a series of what is under the root, so a sample takes twelve multiplications and no root. The
//! bound is arithmetic, with AVX2 0.6 ns a sample.

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::expression::{Expression, Names};
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::stage::{Component, Plane, RowContext, Stage};

const NAMES: Names = &[("w", 0), ("h", 1)];

pub const ENTRY: Entry = Entry {
    name: "vignette",
    aliases: &[],
    about: "darken the corners as a lens does, or brighten them",
    args: &[
        Arg::length(
            "angle",
            Some("PI/5"),
            "the angle at the corners, in radians up to PI/2",
        )
        .also(&["a"]),
        Arg::length("x0", Some("w/2"), "the column of the centre"),
        Arg::length("y0", Some("h/2"), "the row of the centre"),
        Arg::optional(
            "mode",
            "forward",
            "forward darkens, backward brightens again",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Vignette {
            angle: args.expression("angle", NAMES, &[])?,
            x: args.expression("x0", NAMES, &[])?,
            y: args.expression("y0", NAMES, &[])?,
            backward: args.choice("mode", &["forward", "backward"])? == 1,
        }))
    },
};

struct Vignette {
    angle: Expression,
    x: Expression,
    y: Expression,
    backward: bool,
}

impl Vignette {
    fn on(&self, plane: &Plane) -> Result<VignetteStage, String> {
        let (w, h) = (f64::from(plane.luma.w), f64::from(plane.luma.h));
        let value = |name, expression: &Expression| {
            let value = expression.value(&[w, h]);
            match value.is_finite() {
                true => Ok(value),
                false => Err(format!("`{name}` is {value}, not a number")),
            }
        };
        let angle = value("angle", &self.angle)?.clamp(0.0, FRAC_PI_2);
        let (x, y) = (value("x0", &self.x)?, value("y0", &self.y)?);
        // The square of the angle is the square of the distance, in luma samples, times this.
        let scale = (angle / (w / 2.0).hypot(h / 2.0)).powi(2);
        let neutral = match plane.component {
            Component::Cb | Component::Cr => 0.5,
            Component::Luma | Component::Rgb => 0.0,
        };
        let (sx, sy) = plane.subsampling;
        Ok(VignetteStage {
            centre: (x as f32, y as f32),
            step: (sx as f32, sy as f32),
            scale: scale as f32,
            // Rounding must not make the corner itself black.
            most: (angle * angle * 1.000_001) as f32,
            neutral,
            backward: self.backward,
        })
    }
}

impl Filter for Vignette {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.on(plane).map(|_| plane.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        // `output_size` has refused what has no place.
        match self.on(plane) {
            Ok(stage) => graph.push(Arc::new(stage), &[input], size),
            Err(_) => input,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct VignetteStage {
    /// In luma samples.
    centre: (f32, f32),
    /// Luma samples from one sample to the next.
    step: (f32, f32),
    scale: f32,
    /// The largest square of an angle.
    most: f32,
    /// Black of luma, grey of chroma.
    neutral: f32,
    backward: bool,
}

/// The cosine of the root of `u`, which is at most half of pi, to 1e-7.
#[inline(always)]
fn cosine_of_root(u: f32) -> f32 {
    let tail = 2.480_158_7e-5 + u * (-2.755_732e-7 + u * 2.087_675_7e-9);
    1.0 + u * (-0.5 + u * (4.166_666_8e-2 + u * (-1.388_888_9e-3 + u * tail)))
}

impl VignetteStage {
    /// The factor for a column and the square of the distance of rows.
    #[inline(always)]
    fn factor(self, x: f32, down: f32) -> f32 {
        let across = x * self.step.0 - self.centre.0;
        let square = (across * across + down) * self.scale;
        let cosine = cosine_of_root(square);
        let two = cosine * cosine;
        if square > self.most { 0.0 } else { two * two }
    }

    #[inline(always)]
    fn value(self, x: f32, down: f32, v: f32) -> f32 {
        let factor = self.factor(x, down);
        let factor = if self.backward { 1.0 / factor } else { factor };
        (v - self.neutral) * factor + self.neutral
    }

    /// The square of the distance of a row.
    #[inline(always)]
    fn down(self, y: i32) -> f32 {
        let down = y as f32 * self.step.1 - self.centre.1;
        down * down
    }
}

#[inline(always)]
fn vignette_body(stage: VignetteStage, (x0, down): (i32, f32), from: &[f32], out: &mut [f32]) {
    let n = out.len();
    let from = &from[..n];
    // Columns are whole numbers, which floats hold.
    let x0 = x0 as f32;
    for i in 0..n {
        out[i] = stage.value(x0 + i as i32 as f32, down, from[i]);
    }
}

for_each_level! {
    fn vignette(stage: VignetteStage, at: (i32, f32), from: &[f32], out: &mut [f32]) = vignette_body;
}

impl Stage for VignetteStage {
    fn name(&self) -> &'static str {
        "vignette"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x, y));
    }

    fn reads(&self) -> usize {
        1
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, x: i32, y: i32, samples: &[f32]) -> f32 {
        self.value(x as f32, self.down(y), samples[0])
    }

    fn source(&self, out: Rect) -> Rect {
        out
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let from = (x0 - input[0].rect().x0) as usize;
        let from = &input[0].row(y)[from..from + out.len()];
        vignette(cx.simd, *self, (x0, self.down(y)), from, out);
    }

    fn weight(&self) -> f64 {
        14.0
    }
}

#[cfg(test)]
mod tests {
    use super::cosine_of_root;

    #[test]
    fn cosines_are_those_of_the_standard_library() {
        for i in 0..=1571 {
            let angle = f64::from(i) / 1000.0;
            let near = f64::from(cosine_of_root((angle * angle) as f32));
            assert!((near - angle.cos()).abs() < 5e-7, "{angle}: {near}");
        }
    }
}
