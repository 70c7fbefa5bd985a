//! Macroblocks that are coded as a test demands, so that what decoders do with every legal decision can be compared.

use super::ModeDecision;
use super::inter::{Inter, InterSearch};
use super::intra::IntraSearch;
use crate::macroblock::{Kind, Macroblock, Mv};
use crate::neighbours::INTRA;
use crate::syntax::SliceKind;

/// What a test demands of a macroblock. What is not legal where it stands becomes something that is.
#[derive(Clone, Copy, Debug)]
pub struct Forced {
    /// How it is predicted. In I pictures, from references becomes `I16x16`; without the 8x8 transform, `I8x8` becomes
    /// `I4x4`; where the vector of a skipped macroblock points too far, `PSkip` becomes `P16x16`.
    pub kind: Kind,
    /// The luma quantisation parameter.
    pub qp: u8,
    /// Modes by block, of `I16x16` the first alone: indices into those that neighbours allow, modulo their number.
    pub modes: [u8; 16],
    /// The same of chroma.
    pub chroma_mode: u8,
    /// References of sub-macroblocks, modulo their number. Those of a partition are of its first.
    pub refs: [u8; 4],
    /// Vectors of sub-macroblocks, brought to where references have samples.
    pub mvs: [Mv; 4],
    /// Whether luma that is predicted from references is transformed in blocks of 8x8, if that is allowed.
    pub transform_8x8: bool,
}

impl Forced {
    pub(super) fn qp(&self) -> u8 {
        self.qp
    }
}

impl ModeDecision<'_> {
    /// Codes the macroblock as is demanded.
    pub(super) fn forced(&mut self, forced: &Forced) -> Macroblock {
        let wide = self.slice.tools.transform_8x8;
        let kind = match forced.kind {
            Kind::I8x8 if !wide => Kind::I4x4,
            kind if kind.is_intra() => kind,
            _ if self.slice.header.kind == SliceKind::I => Kind::I16x16,
            kind => kind,
        };
        match kind {
            Kind::IPcm => self.samples(),
            kind if kind.is_intra() => self.forced_intra(kind, forced),
            kind => self.forced_inter(kind, forced),
        }
    }

    fn forced_intra(&mut self, kind: Kind, forced: &Forced) -> Macroblock {
        let mut mb = Macroblock {
            kind,
            qp: self.qp,
            refs: [INTRA; 4],
            ..Macroblock::default()
        };
        let search = IntraSearch {
            slice: self.slice,
            at: self.at,
            around: self.around,
            left: self.left,
            lambda: 0,
        };
        search.forced(forced, self.local, self.coder, &mut mb);
        mb
    }

    fn forced_inter(&mut self, kind: Kind, forced: &Forced) -> Macroblock {
        let skip = self.motion.skip();
        let search = InterSearch {
            slice: self.slice,
            at: self.at,
            source: self.source(),
            motion: &self.motion,
            found: self.found,
            lambda: 0,
        };
        if kind == Kind::PSkip && search.allows(skip) {
            let mut mb = Macroblock {
                qp: self.qp,
                ..Macroblock::default()
            };
            Inter::skipped(skip).put(&mut mb);
            mb.kind = Kind::PSkip;
            self.predict(&mb);
            return mb;
        }
        let inter = search.forced(kind, forced);
        self.coder.demanded_8x8 = Some(forced.transform_8x8 && self.slice.tools.transform_8x8);
        self.code_inter(&inter, skip)
    }
}
