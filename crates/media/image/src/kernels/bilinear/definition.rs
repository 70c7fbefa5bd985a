//! The definition of bilinear sampling, which all kernels follow.

use std::fmt::Debug;

use crate::format::Size;
use crate::kernels::lanes::Lanes;

/// The source position of each output, in samples, with pixel centres at integers.
pub trait Map: Debug + Send + Sync {
    /// Source positions of outputs (x, y). Mark it `#[inline(always)]`: it is compiled into every SIMD variant.
    fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V);

    /// Whether the columns of positions never fall from one output of a row to the next, and whether their rows never fall.
    /// If one of them falls, it never rises. `None` if one may do both.
    #[inline]
    fn monotonic(&self) -> Option<(bool, bool)> {
        None
    }
}

/// What lies outside the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Border {
    /// This value, if the position is outside \[0, W-1\] x \[0, H-1\].
    Constant(f32),
    /// The sample at the nearest position inside.
    Replicate,
}

impl Border {
    /// The value of outputs without taps.
    #[inline]
    pub fn fill(self) -> f32 {
        match self {
            Border::Constant(v) => v,
            Border::Replicate => 0.0,
        }
    }
}

/// A source position as a tap and the two weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// Column of the left samples.
    pub x: i32,
    /// Row of the upper samples.
    pub y: i32,
    /// Weight of the right samples, 0 to 1.
    pub fx: f32,
    /// Weight of the lower samples, 0 to 1.
    pub fy: f32,
}

/// The tap of a source position in a plane, or `None` for fill: the definition all variants follow.
#[inline]
pub fn tap(sx: f32, sy: f32, plane: Size, border: Border) -> Option<Tap> {
    let (right, bottom) = ((plane.w - 1) as f32, (plane.h - 1) as f32);
    let (sx, sy) = match border {
        Border::Replicate => (sx.max(0.0).min(right), sy.max(0.0).min(bottom)),
        Border::Constant(_) if sx >= 0.0 && sx <= right && sy >= 0.0 && sy <= bottom => (sx, sy),
        Border::Constant(_) => return None,
    };
    let x = (sx as i32).min(plane.w as i32 - 2).max(0);
    let y = (sy as i32).min(plane.h as i32 - 2).max(0);
    Some(Tap {
        x,
        y,
        fx: sx - x as f32,
        fy: sy - y as f32,
    })
}

/// Blends the four samples of a tap: along both rows, then between the rows.
#[inline(always)]
pub fn blend(upper: [f32; 2], lower: [f32; 2], fx: f32, fy: f32) -> f32 {
    let u = fx.mul_add(upper[1] - upper[0], upper[0]);
    let l = fx.mul_add(lower[1] - lower[0], lower[0]);
    fy.mul_add(l - u, u)
}

/// A warp of a plane: `before` maps each sample, the samples are blended, and `after` maps each output.
#[derive(Clone, Copy, Debug)]
pub struct Sampling<'a, M, B, A> {
    /// The source positions.
    pub map: &'a M,
    /// What lies outside.
    pub border: Border,
    /// Size of the plane.
    pub plane: Size,
    /// Maps every sample, but not fill.
    pub before: B,
    /// Maps every output.
    pub after: A,
}
