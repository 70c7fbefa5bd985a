//! Pointwise functions that kernels apply to registers as they load or store.

use super::lanes::Lanes;

/// A pointwise operation, as far as fusion knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointOp {
    /// v where v > t, else 0.
    Above(f32),
    /// 1 where v > t, else 0.
    Step(f32),
    /// A larger value never gives less; a NaN gives a NaN.
    Rising,
    /// Any other.
    Other,
}

/// A pointwise function.
pub trait Pointwise: Copy {
    /// Of each lane; mark it `#[inline(always)]`.
    fn of<S: Lanes>(self, s: S, v: S::V) -> S::V;
}

/// The value itself.
#[derive(Clone, Copy, Debug)]
pub struct Same;

/// v where v > t, else 0.
#[derive(Clone, Copy, Debug)]
pub struct Above(pub f32);

/// 1 where v > t, else 0.
#[derive(Clone, Copy, Debug)]
pub struct Step(pub f32);

impl Pointwise for Same {
    #[inline(always)]
    fn of<S: Lanes>(self, _s: S, v: S::V) -> S::V {
        v
    }
}

impl Pointwise for Above {
    #[inline(always)]
    fn of<S: Lanes>(self, s: S, v: S::V) -> S::V {
        s.keep_above(v, v, s.splat(self.0))
    }
}

impl Pointwise for Step {
    #[inline(always)]
    fn of<S: Lanes>(self, s: S, v: S::V) -> S::V {
        s.keep_above(s.splat(1.0), v, s.splat(self.0))
    }
}

/// Calls `$body` with `$name` bound to the kernel of an `Option<PointOp>`, that of `Same` for `None`.
macro_rules! with_point_op {
    ($op:expr, |$name:ident| $body:expr) => {
        match $op {
            None => {
                let $name = $crate::kernels::pointwise::Same;
                $body
            }
            Some($crate::kernels::pointwise::PointOp::Above(t)) => {
                let $name = $crate::kernels::pointwise::Above(t);
                $body
            }
            Some($crate::kernels::pointwise::PointOp::Step(t)) => {
                let $name = $crate::kernels::pointwise::Step(t);
                $body
            }
            Some(_) => unreachable!("an operation without a kernel is not fused"),
        }
    };
}

pub(crate) use with_point_op;

/// Whether `op` has a kernel here.
pub fn has_kernel(op: PointOp) -> bool {
    matches!(op, PointOp::Above(_) | PointOp::Step(_))
}
