//! The picture parameter set (clause 7.3.2.2).

use crate::bits::{BitWriter, NalType, write_nal_unit};

use super::error::in_range;
use super::{Profile, SyntaxError};

/// How macroblocks are coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Entropy {
    /// Variable-length codes (clause 9.2).
    #[default]
    Cavlc,
    /// Arithmetic coding (clause 9.3). Not in Constrained Baseline.
    Cabac,
}

/// What the pictures of a stream have in common. Its identifier is 0, as is that of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// How macroblocks are coded.
    pub entropy: Entropy,
    /// The references of a P slice that does not say how many, 1 to 32.
    pub references: u8,
    /// The quantisation parameter that slices say the difference to, 0 to 51.
    pub qp: u8,
    /// What is added to the luma quantisation parameter for chroma, -12 to 12.
    pub chroma_qp_offset: i8,
    /// Whether slices say how they are deblocked. Else all are deblocked, with offsets of 0.
    pub deblocking_control: bool,
    /// Whether macroblocks may have the 8x8 transform (`transform_8x8_mode_flag`). Only in High.
    pub transform_8x8: bool,
}

impl Default for Picture {
    fn default() -> Picture {
        Picture {
            entropy: Entropy::Cavlc,
            references: 1,
            qp: 26,
            chroma_qp_offset: 0,
            deblocking_control: true,
            transform_8x8: false,
        }
    }
}

impl Picture {
    /// Checks that it can be said, and that `profile` has it.
    pub fn check(&self, profile: Profile) -> Result<(), SyntaxError> {
        in_range("the default number of references", self.references, 1, 32)?;
        in_range("the quantisation parameter", self.qp, 0, 51)?;
        let offset = self.chroma_qp_offset;
        in_range("the chroma quantisation offset", offset, -12, 12)?;
        let lacks = |tool| Err(SyntaxError::Profile { profile, tool });
        if self.entropy == Entropy::Cabac && profile == Profile::ConstrainedBaseline {
            return lacks("CABAC");
        }
        if self.transform_8x8 && profile != Profile::High {
            return lacks("the 8x8 transform");
        }
        Ok(())
    }

    /// Appends it as a NAL unit of a byte stream.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut bits = BitWriter::new();
        bits.ue(0); // pic_parameter_set_id
        bits.ue(0); // seq_parameter_set_id
        bits.flag(self.entropy == Entropy::Cabac); // entropy_coding_mode_flag
        bits.flag(false); // bottom_field_pic_order_in_frame_present_flag
        bits.ue(0); // num_slice_groups_minus1
        bits.ue(u32::from(self.references) - 1); // num_ref_idx_l0_default_active_minus1
        bits.ue(0); // num_ref_idx_l1_default_active_minus1
        bits.flag(false); // weighted_pred_flag
        bits.put(0, 2); // weighted_bipred_idc
        bits.se(i32::from(self.qp) - 26); // pic_init_qp_minus26
        bits.se(0); // pic_init_qs_minus26
        bits.se(i32::from(self.chroma_qp_offset)); // chroma_qp_index_offset
        bits.flag(self.deblocking_control); // deblocking_filter_control_present_flag
        bits.flag(false); // constrained_intra_pred_flag
        bits.flag(false); // redundant_pic_cnt_present_flag
        if self.transform_8x8 {
            bits.flag(true); // transform_8x8_mode_flag
            bits.flag(false); // pic_scaling_matrix_present_flag
            bits.se(i32::from(self.chroma_qp_offset)); // second_chroma_qp_index_offset
        }
        bits.trailing_bits();
        write_nal_unit(out, 3, NalType::Picture, bits.bytes());
    }
}
