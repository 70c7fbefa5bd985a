//! Pointwise functions that kernels apply to registers as they load or store.

use super::lanes::Lanes;
use crate::stage::PointOp;

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
            Some($crate::stage::PointOp::Above(t)) => {
                let $name = $crate::kernels::pointwise::Above(t);
                $body
            }
            Some($crate::stage::PointOp::Step(t)) => {
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
