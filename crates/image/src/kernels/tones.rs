//! Pointwise functions that kernels apply to registers as they load or store.

use super::lanes::Lanes;
use crate::stage::Tone;

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

/// Calls `$body` with `$name` bound to the function of an `Option<Tone>`; gives `$none` for a tone without one.
macro_rules! with_tone {
    ($tone:expr, |$name:ident| $body:expr) => {
        match $tone {
            None => {
                let $name = $crate::kernels::tones::Same;
                $body
            }
            Some($crate::stage::Tone::Above(t)) => {
                let $name = $crate::kernels::tones::Above(t);
                $body
            }
            Some($crate::stage::Tone::Step(t)) => {
                let $name = $crate::kernels::tones::Step(t);
                $body
            }
            Some(_) => unreachable!("a tone without a function is not taken in"),
        }
    };
}

pub(crate) use with_tone;

/// Whether there is a function for `tone` here.
pub fn has(tone: Tone) -> bool {
    matches!(tone, Tone::Above(_) | Tone::Step(_))
}
