//! The slice header (clause 7.3.3).

use crate::bits::BitWriter;

use super::{Entropy, Parameters};

/// What the macroblocks of a slice may be (table 7-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SliceKind {
    /// Intra alone.
    #[default]
    I,
    /// Intra, or predicted from one reference.
    P,
}

/// How the edges of blocks are filtered. Said only if [`Picture::deblocking_control`](super::Picture) is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deblocking {
    /// Not.
    Off,
    /// Filtered, with half of `FilterOffsetA` and `FilterOffsetB`, each -6 to 6.
    On {
        /// `slice_alpha_c0_offset_div2`.
        alpha: i8,
        /// `slice_beta_offset_div2`.
        beta: i8,
    },
}

impl Default for Deblocking {
    fn default() -> Deblocking {
        Deblocking::On { alpha: 0, beta: 0 }
    }
}

/// The header of the one slice of a picture. References are in the order that clause 8.2.4.2.1 gives them, the last
/// decoded first, and the oldest leaves when there is no more room (clause 8.2.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceHeader {
    /// What its macroblocks may be.
    pub kind: SliceKind,
    /// Of a picture from which decoding may start: `idr_pic_id`, other than that of the IDR picture right before it.
    pub idr: Option<u16>,
    /// `nal_ref_idc`: 0 where no other picture refers to it, else 1 to 3. Of two pictures in a row one has another than 0.
    pub reference: u8,
    /// The number of reference pictures since the last IDR picture, itself included. It is written modulo
    /// 2^[`Sequence::frame_num_bits`](super::Sequence).
    pub frame_num: u32,
    /// How many references a P slice has.
    pub references: u8,
    /// The luma quantisation parameter that the first macroblock says the difference to.
    pub qp: u8,
    /// How edges are filtered.
    pub deblocking: Deblocking,
    /// Which of the tables of contexts a P slice begins with in CABAC, 0 to 2.
    pub cabac_init: u8,
}

impl Default for SliceHeader {
    fn default() -> SliceHeader {
        SliceHeader {
            kind: SliceKind::I,
            idr: Some(0),
            reference: 3,
            frame_num: 0,
            references: 1,
            qp: 26,
            deblocking: Deblocking::default(),
            cabac_init: 0,
        }
    }
}

impl SliceHeader {
    /// Writes it.
    pub(crate) fn write(&self, parameters: &Parameters, bits: &mut BitWriter) {
        let Parameters { sequence, picture } = parameters;
        bits.ue(0); // first_mb_in_slice
        // slice_type: 5 and more say that all slices of the picture are of this kind.
        bits.ue(match self.kind {
            SliceKind::P => 5,
            SliceKind::I => 7,
        });
        bits.ue(0); // pic_parameter_set_id
        let frame_num = self.frame_num & ((1 << sequence.frame_num_bits) - 1);
        bits.put(frame_num, u32::from(sequence.frame_num_bits));
        if let Some(id) = self.idr {
            bits.ue(u32::from(id)); // idr_pic_id
        }
        if self.kind == SliceKind::P {
            let other = self.references != picture.references;
            bits.flag(other); // num_ref_idx_active_override_flag
            if other {
                bits.ue(u32::from(self.references) - 1); // num_ref_idx_l0_active_minus1
            }
            bits.flag(false); // ref_pic_list_modification_flag_l0
        }
        if self.reference != 0 {
            if self.idr.is_some() {
                bits.flag(false); // no_output_of_prior_pics_flag
                bits.flag(false); // long_term_reference_flag
            } else {
                bits.flag(false); // adaptive_ref_pic_marking_mode_flag
            }
        }
        if picture.entropy == Entropy::Cabac && self.kind == SliceKind::P {
            bits.ue(u32::from(self.cabac_init)); // cabac_init_idc
        }
        bits.se(i32::from(self.qp) - i32::from(picture.qp)); // slice_qp_delta
        if picture.deblocking_control {
            match self.deblocking {
                Deblocking::Off => bits.ue(1), // disable_deblocking_filter_idc
                Deblocking::On { alpha, beta } => {
                    bits.ue(0);
                    bits.se(i32::from(alpha)); // slice_alpha_c0_offset_div2
                    bits.se(i32::from(beta)); // slice_beta_offset_div2
                }
            }
        }
    }
}
