//! Video usability information and the parameters of the hypothetical reference decoder (clauses E.1 and E.2).

use crate::bits::BitWriter;

use super::error::in_range;
use super::{Level, SyntaxError};

/// How pictures are to be shown. Colour codes are those of tables E-3 to E-5, where 2 means not specified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// `colour_primaries`.
    pub primaries: u8,
    /// `transfer_characteristics`.
    pub transfer: u8,
    /// `matrix_coefficients`.
    pub matrix: u8,
}

/// The rate of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The duration of a picture is `2 * units / scale` seconds; `num_units_in_tick`.
    pub units: u32,
    /// `time_scale`.
    pub scale: u32,
    /// Whether all pictures last equally long.
    pub fixed: bool,
}

/// A coded picture buffer that NAL units flow into (`nal_hrd_parameters`).
///
/// Rate and size are coded as multiples of 64 bits a second and 16 bits: see [`Hrd::rounded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hrd {
    /// In bits a second.
    pub bit_rate: u64,
    /// In bits.
    pub buffer: u64,
    /// Whether the rate is constant; else it is the most.
    pub constant: bool,
}

impl Hrd {
    /// The lengths of delays in SEI messages, in bits.
    pub const DELAY_BITS: u32 = 24;

    /// What a stream says: multiples of 64 bits a second and of 16 bits, rounded down, so that a stream that keeps to
    /// it keeps to what was asked for.
    pub fn rounded(&self) -> Hrd {
        Hrd {
            bit_rate: self.bit_rate & !63,
            buffer: self.buffer & !15,
            constant: self.constant,
        }
    }

    fn write(&self, bits: &mut BitWriter) {
        bits.ue(0); // cpb_cnt_minus1
        let (rate_scale, rate) = scaled(self.bit_rate >> 6);
        let (size_scale, size) = scaled(self.buffer >> 4);
        bits.put(rate_scale, 4); // bit_rate_scale
        bits.put(size_scale, 4); // cpb_size_scale
        bits.ue(rate - 1); // bit_rate_value_minus1
        bits.ue(size - 1); // cpb_size_value_minus1
        bits.flag(self.constant); // cbr_flag
        bits.put(Hrd::DELAY_BITS - 1, 5); // initial_cpb_removal_delay_length_minus1
        bits.put(Hrd::DELAY_BITS - 1, 5); // cpb_removal_delay_length_minus1
        bits.put(Hrd::DELAY_BITS - 1, 5); // dpb_output_delay_length_minus1
        bits.put(0, 5); // time_offset_length
    }
}

/// A number without its trailing zero bits, as many as its scale can say; and that scale.
fn scaled(value: u64) -> (u32, u32) {
    let scale = value.trailing_zeros().min(15);
    (scale, (value >> scale) as u32)
}

/// What is known of how pictures are to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vui {
    /// Width and height of a sample, one to the other.
    pub sample_aspect: Option<(u16, u16)>,
    /// Whether samples use all values from 0 to 255.
    pub full_range: bool,
    /// What colours they mean.
    pub colour: Option<Colour>,
    /// Where chroma samples lie, 0 to 5 (figure E-1); 0 is left, 1 centre.
    pub chroma_location: Option<u8>,
    /// The rate of pictures.
    pub timing: Option<Timing>,
    /// The buffer that the stream keeps to.
    pub hrd: Option<Hrd>,
}

impl Vui {
    pub(super) fn check(&self) -> Result<(), SyntaxError> {
        if let Some((width, height)) = self.sample_aspect {
            in_range("the width of a sample", width, 1, i64::from(u16::MAX))?;
            in_range("the height of a sample", height, 1, i64::from(u16::MAX))?;
        }
        if let Some(location) = self.chroma_location {
            in_range("the location of chroma", location, 0, 5)?;
        }
        if let Some(timing) = self.timing {
            in_range(
                "the duration of a picture",
                timing.units,
                1,
                i64::from(u32::MAX),
            )?;
            in_range("the scale of time", timing.scale, 1, i64::from(u32::MAX))?;
        }
        if let Some(hrd) = self.hrd {
            // The largest numbers that do not depend on the scale.
            in_range("the bit rate", hrd.bit_rate as i64, 64, 64 << 31)?;
            in_range("the size of the buffer", hrd.buffer as i64, 16, 16 << 31)?;
        }
        Ok(())
    }

    /// Writes it, with the range of vectors of a level and the number of frames that a decoder holds.
    pub(super) fn write(&self, level: &Level, references: u8, bits: &mut BitWriter) {
        bits.flag(self.sample_aspect.is_some()); // aspect_ratio_info_present_flag
        if let Some(aspect) = self.sample_aspect {
            match ASPECTS.iter().position(|&known| known == aspect) {
                Some(index) => bits.put(index as u32 + 1, 8), // aspect_ratio_idc
                None => {
                    bits.put(255, 8); // Extended_SAR
                    bits.put(u32::from(aspect.0), 16);
                    bits.put(u32::from(aspect.1), 16);
                }
            }
        }
        bits.flag(false); // overscan_info_present_flag
        let signal = self.full_range || self.colour.is_some();
        bits.flag(signal); // video_signal_type_present_flag
        if signal {
            bits.put(5, 3); // video_format: unspecified
            bits.flag(self.full_range); // video_full_range_flag
            bits.flag(self.colour.is_some()); // colour_description_present_flag
            if let Some(colour) = self.colour {
                bits.put(u32::from(colour.primaries), 8);
                bits.put(u32::from(colour.transfer), 8);
                bits.put(u32::from(colour.matrix), 8);
            }
        }
        bits.flag(self.chroma_location.is_some()); // chroma_loc_info_present_flag
        if let Some(location) = self.chroma_location {
            bits.ue(u32::from(location)); // chroma_sample_loc_type_top_field
            bits.ue(u32::from(location)); // chroma_sample_loc_type_bottom_field
        }
        bits.flag(self.timing.is_some()); // timing_info_present_flag
        if let Some(timing) = self.timing {
            bits.put(timing.units, 32); // num_units_in_tick
            bits.put(timing.scale, 32); // time_scale
            bits.flag(timing.fixed); // fixed_frame_rate_flag
        }
        bits.flag(self.hrd.is_some()); // nal_hrd_parameters_present_flag
        if let Some(hrd) = self.hrd {
            hrd.write(bits);
        }
        bits.flag(false); // vcl_hrd_parameters_present_flag
        if self.hrd.is_some() {
            bits.flag(false); // low_delay_hrd_flag
        }
        bits.flag(false); // pic_struct_present_flag
        bits.flag(true); // bitstream_restriction_flag
        bits.flag(true); // motion_vectors_over_pic_boundaries_flag
        bits.ue(0); // max_bytes_per_pic_denom: not limited
        bits.ue(0); // max_bits_per_mb_denom: not limited
        for (_, most) in level.vector_range() {
            // log2_max_mv_length_horizontal, log2_max_mv_length_vertical: in quarter samples
            bits.ue((i32::from(most) + 1).ilog2());
        }
        bits.ue(0); // max_num_reorder_frames
        bits.ue(u32::from(references)); // max_dec_frame_buffering
    }
}

/// Sample aspect ratios by `aspect_ratio_idc`, from 1 on (table E-1).
const ASPECTS: [(u16, u16); 16] = [
    (1, 1),
    (12, 11),
    (10, 11),
    (16, 11),
    (40, 33),
    (24, 11),
    (20, 11),
    (32, 11),
    (80, 33),
    (18, 11),
    (15, 11),
    (64, 33),
    (160, 99),
    (4, 3),
    (3, 2),
    (2, 1),
];
