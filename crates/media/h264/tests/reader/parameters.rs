//! Parameter sets (clauses 7.3.2.1, 7.3.2.2, E.1).

use evener_h264::syntax::{
    Colour, Entropy, Hrd, LEVELS, Level, Picture, Profile, Sequence, Timing, Vui,
};

use super::bits::Bits;

/// Reads a sequence parameter set, all of it.
pub fn sequence(payload: &[u8]) -> Sequence {
    let mut bits = Bits::new(payload);
    let profile_idc = bits.u(8);
    let constraints = bits.u(8);
    let level_idc = bits.u(8);
    let profile = match (profile_idc, constraints & !0x10) {
        (66, 0xc0) => Profile::ConstrainedBaseline,
        (77, 0x40) => Profile::Main,
        (100, 0) => Profile::High,
        other => panic!("{other:?}"),
    };
    let level = level(profile, level_idc, constraints & 0x10 != 0);
    assert_eq!(bits.ue(), 0, "seq_parameter_set_id");
    if profile == Profile::High {
        assert_eq!(bits.ue(), 1, "chroma_format_idc");
        assert_eq!(bits.ue(), 0, "bit_depth_luma_minus8");
        assert_eq!(bits.ue(), 0, "bit_depth_chroma_minus8");
        assert!(!bits.flag(), "qpprime_y_zero_transform_bypass_flag");
        assert!(!bits.flag(), "seq_scaling_matrix_present_flag");
    }
    let frame_num_bits = bits.ue() as u8 + 4;
    assert_eq!(bits.ue(), 2, "pic_order_cnt_type");
    let references = bits.ue() as u8;
    assert!(!bits.flag(), "gaps_in_frame_num_value_allowed_flag");
    let mut width = (bits.ue() + 1) * 16;
    let mut height = (bits.ue() + 1) * 16;
    assert!(bits.flag(), "frame_mbs_only_flag");
    bits.flag(); // direct_8x8_inference_flag: only for B slices
    if bits.flag() {
        // CropUnitX and CropUnitY are 2 in 4:2:0.
        width -= 2 * (bits.ue() + bits.ue());
        height -= 2 * (bits.ue() + bits.ue());
    }
    assert!(bits.flag(), "vui_parameters_present_flag");
    // MaxVmvR of table A-1.
    let vertical = match level.name {
        "1" | "1b" => 64,
        "1.1" | "1.2" | "1.3" | "2" => 128,
        "2.1" | "2.2" | "3" => 256,
        "6" | "6.1" | "6.2" => 8192,
        _ => 512,
    };
    let vui = vui(&mut bits, vertical, references);
    bits.end();
    Sequence {
        profile,
        level,
        width,
        height,
        references,
        frame_num_bits,
        vui,
    }
}

fn level(profile: Profile, idc: u32, constraint_3: bool) -> &'static Level {
    let name = match (profile, idc, constraint_3) {
        (Profile::High, 9, false) => "1b".to_string(),
        (Profile::ConstrainedBaseline | Profile::Main, 11, true) => "1b".to_string(),
        (_, idc, false) if idc % 10 == 0 => format!("{}", idc / 10),
        (_, idc, false) => format!("{}.{}", idc / 10, idc % 10),
        other => panic!("{other:?}"),
    };
    LEVELS.iter().find(|level| level.name == name).unwrap()
}

fn vui(bits: &mut Bits<'_>, vertical: u32, references: u8) -> Vui {
    let mut vui = Vui::default();
    if bits.flag() {
        vui.sample_aspect = Some(match bits.u(8) {
            1 => (1, 1),
            2 => (12, 11),
            3 => (10, 11),
            4 => (16, 11),
            14 => (4, 3),
            255 => (bits.u(16) as u16, bits.u(16) as u16),
            other => panic!("aspect_ratio_idc {other}"),
        });
    }
    assert!(!bits.flag(), "overscan_info_present_flag");
    if bits.flag() {
        assert_eq!(bits.u(3), 5, "video_format");
        vui.full_range = bits.flag();
        if bits.flag() {
            vui.colour = Some(Colour {
                primaries: bits.u(8) as u8,
                transfer: bits.u(8) as u8,
                matrix: bits.u(8) as u8,
            });
        }
    }
    if bits.flag() {
        let location = bits.ue();
        assert_eq!(bits.ue(), location, "chroma_sample_loc_type_bottom_field");
        vui.chroma_location = Some(location as u8);
    }
    if bits.flag() {
        vui.timing = Some(Timing {
            units: bits.u(32),
            scale: bits.u(32),
            fixed: bits.flag(),
        });
    }
    if bits.flag() {
        vui.hrd = Some(hrd(bits));
    }
    assert!(!bits.flag(), "vcl_hrd_parameters_present_flag");
    if vui.hrd.is_some() {
        assert!(!bits.flag(), "low_delay_hrd_flag");
    }
    assert!(!bits.flag(), "pic_struct_present_flag");
    assert!(bits.flag(), "bitstream_restriction_flag");
    assert!(bits.flag(), "motion_vectors_over_pic_boundaries_flag");
    assert_eq!(bits.ue(), 0, "max_bytes_per_pic_denom");
    assert_eq!(bits.ue(), 0, "max_bits_per_mb_denom");
    assert_eq!(
        bits.ue(),
        13,
        "log2_max_mv_length_horizontal: 2,048 samples"
    );
    let samples = 1 << bits.ue() >> 2;
    assert_eq!(samples, vertical, "log2_max_mv_length_vertical");
    assert_eq!(bits.ue(), 0, "max_num_reorder_frames");
    assert_eq!(bits.ue(), u32::from(references), "max_dec_frame_buffering");
    vui
}

fn hrd(bits: &mut Bits<'_>) -> Hrd {
    assert_eq!(bits.ue(), 0, "cpb_cnt_minus1");
    let (rate_scale, size_scale) = (bits.u(4), bits.u(4));
    let bit_rate = u64::from(bits.ue() + 1) << (6 + rate_scale);
    let buffer = u64::from(bits.ue() + 1) << (4 + size_scale);
    let constant = bits.flag();
    for _ in 0..3 {
        assert_eq!(bits.u(5) + 1, Hrd::DELAY_BITS);
    }
    assert_eq!(bits.u(5), 0, "time_offset_length");
    Hrd {
        bit_rate,
        buffer,
        constant,
    }
}

/// Reads a picture parameter set, all of it.
pub fn picture(payload: &[u8]) -> Picture {
    let mut bits = Bits::new(payload);
    assert_eq!(bits.ue(), 0, "pic_parameter_set_id");
    assert_eq!(bits.ue(), 0, "seq_parameter_set_id");
    let entropy = match bits.flag() {
        true => Entropy::Cabac,
        false => Entropy::Cavlc,
    };
    assert!(!bits.flag(), "bottom_field_pic_order_in_frame_present_flag");
    assert_eq!(bits.ue(), 0, "num_slice_groups_minus1");
    let references = bits.ue() as u8 + 1;
    bits.ue(); // num_ref_idx_l1_default_active_minus1: only for B slices
    assert!(!bits.flag(), "weighted_pred_flag");
    assert_eq!(bits.u(2), 0, "weighted_bipred_idc");
    let qp = (26 + bits.se()) as u8;
    bits.se(); // pic_init_qs_minus26: only for SP and SI slices
    let chroma_qp_offset = bits.se() as i8;
    let deblocking_control = bits.flag();
    assert!(!bits.flag(), "constrained_intra_pred_flag");
    assert!(!bits.flag(), "redundant_pic_cnt_present_flag");
    let mut transform_8x8 = false;
    if bits.more_data() {
        transform_8x8 = bits.flag();
        assert!(!bits.flag(), "pic_scaling_matrix_present_flag");
        let second = bits.se();
        assert_eq!(
            second,
            i32::from(chroma_qp_offset),
            "second_chroma_qp_index_offset"
        );
    }
    bits.end();
    Picture {
        entropy,
        references,
        qp,
        chroma_qp_offset,
        deblocking_control,
        transform_8x8,
    }
}
