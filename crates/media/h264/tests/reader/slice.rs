//! The slice header (clause 7.3.3).

use evener_h264::syntax::{Deblocking, Entropy, Parameters, SliceHeader, SliceKind};

use super::bits::{Bits, Unit};

/// Reads the header of a slice.
pub fn header(unit: &Unit, bits: &mut Bits<'_>, parameters: &Parameters) -> SliceHeader {
    let Parameters { sequence, picture } = parameters;
    assert_eq!(bits.ue(), 0, "first_mb_in_slice");
    let kind = match bits.ue() % 5 {
        0 => SliceKind::P,
        2 => SliceKind::I,
        other => panic!("slice_type {other}"),
    };
    assert_eq!(bits.ue(), 0, "pic_parameter_set_id");
    let frame_num = bits.u(u32::from(sequence.frame_num_bits));
    let is_idr = match unit.kind {
        5 => true,
        1 => false,
        other => panic!("nal_unit_type {other}"),
    };
    let idr = is_idr.then(|| bits.ue() as u16);
    let mut references = 1;
    if kind == SliceKind::P {
        references = match bits.flag() {
            true => bits.ue() as u8 + 1,
            false => picture.references,
        };
        assert!(!bits.flag(), "ref_pic_list_modification_flag_l0");
    }
    if unit.reference != 0 {
        if is_idr {
            assert!(!bits.flag(), "no_output_of_prior_pics_flag");
            assert!(!bits.flag(), "long_term_reference_flag");
        } else {
            assert!(!bits.flag(), "adaptive_ref_pic_marking_mode_flag");
        }
    }
    let mut cabac_init = 0;
    if picture.entropy == Entropy::Cabac && kind != SliceKind::I {
        cabac_init = bits.ue() as u8;
    }
    let qp = (i32::from(picture.qp) + bits.se()) as u8;
    let mut deblocking = Deblocking::default();
    if picture.deblocking_control {
        deblocking = match bits.ue() {
            1 => Deblocking::Off,
            0 => Deblocking::On {
                alpha: bits.se() as i8,
                beta: bits.se() as i8,
            },
            other => panic!("disable_deblocking_filter_idc {other}"),
        };
    }
    SliceHeader {
        kind,
        idr,
        reference: unit.reference,
        frame_num,
        references,
        qp,
        deblocking,
        cabac_init,
    }
}
