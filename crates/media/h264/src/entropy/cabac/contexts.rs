//! Context variables: where each syntax element has its own, and how they start (clause 9.3.1.1).

use super::initial;

/// mb_type in I slices.
pub(super) const MB_TYPE_I: usize = 3;
/// mb_skip_flag in P slices.
pub(super) const MB_SKIP: usize = 11;
/// mb_type in P slices, the prefix; of inter macroblocks that is all.
pub(super) const MB_TYPE_P: usize = 14;
/// mb_type of intra macroblocks in P slices, behind the prefix.
pub(super) const MB_TYPE_P_INTRA: usize = 17;
/// sub_mb_type in P slices.
pub(super) const SUB_MB_TYPE: usize = 21;
/// mvd_l0 to the right.
pub(super) const MVD_X: usize = 40;
/// mvd_l0 downwards.
pub(super) const MVD_Y: usize = 47;
/// ref_idx_l0.
pub(super) const REF_IDX: usize = 54;
/// mb_qp_delta.
pub(super) const QP_DELTA: usize = 60;
/// intra_chroma_pred_mode.
pub(super) const CHROMA_MODE: usize = 64;
/// prev_intra4x4_pred_mode_flag, prev_intra8x8_pred_mode_flag.
pub(super) const PREDICTED_MODE: usize = 68;
/// rem_intra4x4_pred_mode, rem_intra8x8_pred_mode.
pub(super) const REMAINING_MODE: usize = 69;
/// coded_block_pattern, the prefix: luma.
pub(super) const CBP_LUMA: usize = 73;
/// coded_block_pattern, the suffix: chroma.
pub(super) const CBP_CHROMA: usize = 77;
/// transform_size_8x8_flag.
pub(super) const TRANSFORM_8X8: usize = 399;

/// One more than the highest ctxIdx in use.
const COUNT: usize = 436;

/// The states of all contexts by ctxIdx: each is pStateIdx times two, plus valMPS.
#[derive(Clone, Debug)]
pub struct Contexts {
    pub(super) states: [u8; COUNT],
}

impl Contexts {
    /// As they are at the start of a slice whose SliceQPY is `qp`: an I slice, or a P slice with cabac_init_idc.
    pub fn new(init: Option<u8>, qp: u8) -> Contexts {
        let runs = match init {
            None => initial::INTRA,
            Some(init) => initial::INTER[usize::from(init)],
        };
        let mut states = [0; COUNT];
        for (first, values) in runs {
            let (values, _) = values.as_chunks::<2>();
            for (state, [m, n]) in states[*first..].iter_mut().zip(values) {
                *state = initial_state(i32::from(*m), i32::from(*n), i32::from(qp));
            }
        }
        Contexts { states }
    }
}

/// Equation 9-5.
fn initial_state(m: i32, n: i32, qp: i32) -> u8 {
    let state = (((m * qp.min(51)) >> 4) + n).clamp(1, 126);
    let state = if state <= 63 {
        (63 - state) << 1
    } else {
        (state - 64) << 1 | 1
    };
    state as u8
}
