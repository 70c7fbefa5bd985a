//! Without the feature `forced` nothing is demanded of macroblocks.

use super::ModeDecision;
use crate::macroblock::Macroblock;

/// There is none.
pub enum Forced {}

impl Forced {
    pub(super) fn qp(&self) -> u8 {
        match *self {}
    }
}

impl ModeDecision<'_> {
    pub(super) fn forced(&mut self, forced: &Forced) -> Macroblock {
        match *forced {}
    }
}
