//! The sequence parameter set (clause 7.3.2.1).

use std::fmt;

use crate::bits::{BitWriter, NalType, write_nal_unit};

use super::error::in_range;
use super::{Level, SyntaxError, Vui};

/// A set of tools (clause A.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Profile {
    /// CAVLC, the 4x4 transform, I and P slices.
    #[default]
    ConstrainedBaseline,
    /// With CABAC.
    Main,
    /// With the 8x8 transform.
    High,
}

impl Profile {
    /// `profile_idc`.
    pub fn idc(self) -> u8 {
        match self {
            Profile::ConstrainedBaseline => 66,
            Profile::Main => 77,
            Profile::High => 100,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::ConstrainedBaseline => "Constrained Baseline",
            Profile::Main => "Main",
            Profile::High => "High",
        })
    }
}

/// What all pictures of a stream have in common. Its identifier is 0.
///
/// Pictures are output in the order in which they are decoded (`pic_order_cnt_type` 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The tools that pictures may use.
    pub profile: Profile,
    /// The limits that the stream keeps to.
    pub level: &'static Level,
    /// Of a picture as it is shown, in luma samples; even.
    pub width: u32,
    /// Of a picture as it is shown, in luma samples; even.
    pub height: u32,
    /// How many pictures are kept as references, 1 to 16; 0 if all are intra.
    pub references: u8,
    /// How many bits `frame_num` has, 4 to 16.
    pub frame_num_bits: u8,
    /// How pictures are to be shown.
    pub vui: Vui,
}

impl Sequence {
    /// The width of coded pictures, in macroblocks.
    pub fn width_in_macroblocks(&self) -> usize {
        self.width.div_ceil(16) as usize
    }

    /// The height of coded pictures, in macroblocks.
    pub fn height_in_macroblocks(&self) -> usize {
        self.height.div_ceil(16) as usize
    }

    /// Checks that it can be said. Whether it keeps to its level is for [`Level::allows`] to say.
    pub fn check(&self) -> Result<(), SyntaxError> {
        let &Sequence { width, height, .. } = self;
        // The widest and highest picture of the highest level: the square root of 8 MaxFS is 1,055 macroblocks.
        let sizes = 1..=1055 * 16;
        if !sizes.contains(&width) || !sizes.contains(&height) {
            return Err(SyntaxError::Size { width, height });
        }
        if width % 2 != 0 || height % 2 != 0 {
            return Err(SyntaxError::OddSize { width, height });
        }
        in_range("the number of references", self.references, 0, 16)?;
        in_range(
            "the number of bits of frame_num",
            self.frame_num_bits,
            4,
            16,
        )?;
        self.vui.check()
    }

    /// Appends it as a NAL unit of a byte stream.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut bits = BitWriter::new();
        let constrained = self.profile == Profile::ConstrainedBaseline;
        let (level_idc, level_1b) = self.level.idc(self.profile);
        bits.put(u32::from(self.profile.idc()), 8); // profile_idc
        bits.flag(constrained); // constraint_set0_flag: a Baseline decoder decodes it,
        bits.flag(self.profile <= Profile::Main); // constraint_set1_flag: and one of Main
        bits.flag(false); // constraint_set2_flag
        bits.flag(level_1b); // constraint_set3_flag
        bits.put(0, 4); // constraint_set4_flag, constraint_set5_flag, reserved_zero_2bits
        bits.put(u32::from(level_idc), 8); // level_idc
        bits.ue(0); // seq_parameter_set_id
        if self.profile == Profile::High {
            bits.ue(1); // chroma_format_idc: 4:2:0
            bits.ue(0); // bit_depth_luma_minus8
            bits.ue(0); // bit_depth_chroma_minus8
            bits.flag(false); // qpprime_y_zero_transform_bypass_flag
            bits.flag(false); // seq_scaling_matrix_present_flag
        }
        bits.ue(u32::from(self.frame_num_bits) - 4); // log2_max_frame_num_minus4
        bits.ue(2); // pic_order_cnt_type
        bits.ue(u32::from(self.references)); // max_num_ref_frames
        bits.flag(false); // gaps_in_frame_num_value_allowed_flag
        let coded = (
            self.width_in_macroblocks() as u32,
            self.height_in_macroblocks() as u32,
        );
        bits.ue(coded.0 - 1); // pic_width_in_mbs_minus1
        bits.ue(coded.1 - 1); // pic_height_in_map_units_minus1
        bits.flag(true); // frame_mbs_only_flag
        bits.flag(true); // direct_8x8_inference_flag
        let crop = (coded.0 * 16 - self.width, coded.1 * 16 - self.height);
        bits.flag(crop != (0, 0)); // frame_cropping_flag
        if crop != (0, 0) {
            bits.ue(0); // frame_crop_left_offset
            bits.ue(crop.0 / 2); // frame_crop_right_offset
            bits.ue(0); // frame_crop_top_offset
            bits.ue(crop.1 / 2); // frame_crop_bottom_offset
        }
        bits.flag(true); // vui_parameters_present_flag
        self.vui.write(self.level, self.references, &mut bits);
        bits.trailing_bits();
        write_nal_unit(out, 3, NalType::Sequence, bits.bytes());
    }
}
