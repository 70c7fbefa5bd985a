//! What parameter sets, headers and messages say, read back by ffprobe and by ffmpeg's parser of headers.

use std::fs;
use std::process::Command;

use evener_h264::entropy::SliceWriter;
use evener_h264::syntax::{
    BufferingPeriod, Colour, Deblocking, Entropy, Hrd, LEVELS, Level, Parameters, PictureTiming,
    Profile, SliceHeader, SliceKind, SyntaxError, Timing, Vui, write_delimiter, write_timing,
};
use evener_testing::Folder;

use crate::common::random::{self, Style};
use crate::common::rng::Rng;
use crate::decoder::has_ffmpeg;
use crate::reader::{bits, parameters};
use crate::stream;

/// Pictures without motion after one that is intra. `before` writes what comes before each.
fn still(
    parameters: &Parameters,
    header: &SliceHeader,
    count: u32,
    before: impl Fn(&mut Vec<u8>, u32),
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = SliceWriter::new(parameters);
    let style = Style {
        skipped: 100,
        intra: 100,
        samples: 0,
        dense: 10,
        largest: 2,
        reach: 0,
        requantised: 0,
    };
    for number in 0..count {
        let header = match number {
            0 => *header,
            _ => SliceHeader {
                kind: SliceKind::P,
                idr: None,
                frame_num: number,
                ..*header
            },
        };
        let picture = random::picture(&mut Rng::new(1), parameters, &header, &style);
        before(&mut out, number);
        if number == 0 {
            parameters.write(&mut out);
        }
        writer.begin(&header);
        for row in &picture.rows {
            writer.row(&row.macroblocks, &row.levels);
        }
        writer.finish(&mut out);
    }
    out
}

fn probe(stream: &[u8], fields: &[(&str, &str)]) {
    let folder = Folder::new();
    let path = folder.path("probed.264");
    fs::write(&path, stream).unwrap();
    let output = Command::new("ffprobe")
        .args(["-v", "warning", "-show_streams", "-of", "default=nw=1"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    for (name, value) in fields {
        let line = format!("{name}={value}");
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[test]
fn ffprobe_reads_sizes_and_how_pictures_are_shown() {
    if !has_ffmpeg() {
        return;
    }
    let mut parameters = stream::parameters(Profile::High, Entropy::Cavlc, (350, 286), 3);
    parameters.sequence.vui = Vui {
        sample_aspect: Some((16, 11)),
        full_range: true,
        colour: Some(Colour {
            primaries: 5,
            transfer: 6,
            matrix: 1,
        }),
        chroma_location: Some(1),
        timing: Some(Timing {
            units: 1001,
            scale: 60000,
            fixed: true,
        }),
        hrd: None,
    };
    let header = SliceHeader::default();
    probe(
        &still(&parameters, &header, 4, |_, _| {}),
        &[
            ("profile", "High"),
            ("level", "13"),
            ("width", "350"),
            ("height", "286"),
            ("sample_aspect_ratio", "16:11"),
            ("pix_fmt", "yuvj420p"),
            ("color_range", "pc"),
            ("color_space", "bt709"),
            ("color_transfer", "smpte170m"),
            ("color_primaries", "bt470bg"),
            ("chroma_location", "center"),
            ("r_frame_rate", "30000/1001"),
            ("has_b_frames", "0"),
        ],
    );
    parameters = stream::parameters(
        Profile::ConstrainedBaseline,
        Entropy::Cavlc,
        (1920, 1080),
        1,
    );
    parameters.sequence.vui.sample_aspect = Some((1000, 1333));
    parameters.sequence.level = Level::named("5.1").unwrap();
    probe(
        &still(&parameters, &header, 2, |_, _| {}),
        &[
            ("profile", "Constrained Baseline"),
            ("level", "51"),
            ("width", "1920"),
            ("height", "1080"),
            ("sample_aspect_ratio", "1000:1333"),
            ("pix_fmt", "yuv420p"),
            ("has_b_frames", "0"),
        ],
    );
    parameters = stream::parameters(Profile::Main, Entropy::Cavlc, (16, 2), 1);
    probe(
        &still(&parameters, &header, 2, |_, _| {}),
        &[
            ("profile", "Main"),
            ("level", "10"),
            ("width", "16"),
            ("height", "2"),
        ],
    );
}

/// The elements that ffmpeg's parser finds, in order, as "name=value".
fn elements(stream: &[u8]) -> Vec<String> {
    let folder = Folder::new();
    let path = folder.path("traced.264");
    fs::write(&path, stream).unwrap();
    let output = Command::new("ffmpeg")
        .args("-v info -nostdin -hide_banner -err_detect explode -i".split(' '))
        .arg(&path)
        .args("-c copy -bsf:v trace_headers -f null -".split(' '))
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    // "[trace_headers @ 0x…] 24  level_idc  00001101 = 13"
    let lines = text
        .lines()
        .filter(|line| line.starts_with("[trace_headers"));
    let element = |line: &str| {
        let (left, value) = line.split_once(" = ")?;
        let name = left.split_whitespace().nth(4)?;
        Some(format!("{name}={}", value.trim()))
    };
    lines.filter_map(element).collect()
}

/// Checks that some elements come in this order, others between them.
fn assert_in_order(elements: &[String], expected: &str) {
    let mut rest = elements.iter();
    for element in expected.split_whitespace() {
        assert!(
            rest.any(|e| e == element),
            "{element} does not follow in\n{elements:#?}"
        );
    }
}

#[test]
fn headers_and_messages_are_as_ffmpeg_parses_them() {
    if !has_ffmpeg() {
        return;
    }
    let mut parameters = stream::parameters(Profile::High, Entropy::Cavlc, (64, 48), 4);
    let hrd = Hrd {
        bit_rate: 64_000 * 64,
        buffer: 48_000 * 16,
        constant: true,
    };
    parameters.sequence.vui.hrd = Some(hrd);
    parameters.sequence.vui.timing = Some(Timing {
        units: 1,
        scale: 50,
        fixed: true,
    });
    parameters.picture.chroma_qp_offset = -3;
    parameters.picture.qp = 30;
    let header = SliceHeader {
        idr: Some(77),
        reference: 2,
        references: 1,
        qp: 21,
        deblocking: Deblocking::On { alpha: 3, beta: -6 },
        ..SliceHeader::default()
    };
    let stream = still(&parameters, &header, 3, |out, number| {
        let kind = if number == 0 {
            SliceKind::I
        } else {
            SliceKind::P
        };
        write_delimiter(out, kind);
        let period = (number == 0).then_some(BufferingPeriod {
            delay: 12_345,
            offset: 1_000,
        });
        if number == 0 {
            // Messages follow the parameter sets that they refer to.
            parameters.write(out);
        }
        let timing = PictureTiming {
            removal: 2 * number,
            output: 0,
        };
        write_timing(out, period, timing);
    });
    let elements = elements(&stream);
    assert_in_order(
        &elements,
        "nal_unit_type=9 primary_pic_type=0
        nal_unit_type=7 profile_idc=100 level_idc=10 chroma_format_idc=1 log2_max_frame_num_minus4=0
        pic_order_cnt_type=2 max_num_ref_frames=4 pic_width_in_mbs_minus1=3 pic_height_in_map_units_minus1=2
        frame_mbs_only_flag=1 frame_cropping_flag=0 num_units_in_tick=1 time_scale=50 fixed_frame_rate_flag=1
        nal_hrd_parameters_present_flag=1 bit_rate_scale=9 cpb_size_scale=7 bit_rate_value_minus1[0]=124
        cpb_size_value_minus1[0]=374 cbr_flag[0]=1 initial_cpb_removal_delay_length_minus1=23 low_delay_hrd_flag=0
        bitstream_restriction_flag=1 max_num_reorder_frames=0 max_dec_frame_buffering=4
        nal_unit_type=8 entropy_coding_mode_flag=0 num_ref_idx_l0_default_active_minus1=1 pic_init_qp_minus26=4
        chroma_qp_index_offset=-3 deblocking_filter_control_present_flag=1 transform_8x8_mode_flag=1
        second_chroma_qp_index_offset=-3
        nal_unit_type=6 last_payload_type_byte=0 initial_cpb_removal_delay[0]=12345
        initial_cpb_removal_delay_offset[0]=1000 last_payload_type_byte=1 cpb_removal_delay=0 dpb_output_delay=0
        nal_ref_idc=2 nal_unit_type=5 slice_type=7 frame_num=0 idr_pic_id=77 slice_qp_delta=-9
        disable_deblocking_filter_idc=0 slice_alpha_c0_offset_div2=3 slice_beta_offset_div2=-6
        primary_pic_type=1 cpb_removal_delay=2
        nal_unit_type=1 slice_type=5 frame_num=1 num_ref_idx_active_override_flag=1
        num_ref_idx_l0_active_minus1=0 ref_pic_list_modification_flag_l0=0 adaptive_ref_pic_marking_mode_flag=0
        cpb_removal_delay=4 frame_num=2",
    );
}

#[test]
fn every_level_is_read_back_in_every_profile() {
    for profile in [Profile::ConstrainedBaseline, Profile::Main, Profile::High] {
        for level in &LEVELS {
            let mut parameters = stream::parameters(profile, Entropy::Cavlc, (64, 48), 1);
            parameters.sequence.level = level;
            parameters.sequence.frame_num_bits = 16;
            parameters.sequence.vui.hrd = Some(
                Hrd {
                    bit_rate: level.bit_rate(profile),
                    buffer: level.buffer(profile),
                    constant: false,
                }
                .rounded(),
            );
            parameters.check().unwrap();
            let mut out = Vec::new();
            parameters.write(&mut out);
            let units = bits::units(&out);
            assert_eq!(parameters::sequence(&units[0].payload), parameters.sequence);
            assert_eq!(parameters::picture(&units[1].payload), parameters.picture);
        }
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let good = stream::parameters(Profile::Main, Entropy::Cavlc, (64, 48), 1);
    let refused = |change: &dyn Fn(&mut Parameters)| {
        let mut parameters = good.clone();
        change(&mut parameters);
        parameters.check().unwrap_err()
    };
    let odd = SyntaxError::OddSize {
        width: 63,
        height: 48,
    };
    assert_eq!(refused(&|p| p.sequence.width = 63), odd);
    assert!(matches!(
        refused(&|p| p.sequence.height = 0),
        SyntaxError::Size { .. }
    ));
    assert!(matches!(
        refused(&|p| p.sequence.width = 16882),
        SyntaxError::Size { .. }
    ));
    let says = |change: &dyn Fn(&mut Parameters)| refused(change).to_string();
    assert_eq!(
        says(&|p| p.sequence.references = 17),
        "the number of references is 17, and not from 0 to 16"
    );
    assert_eq!(
        says(&|p| p.picture.transform_8x8 = true),
        "the Main profile does not have the 8x8 transform"
    );
    assert_eq!(
        says(&|p| {
            p.sequence.profile = Profile::ConstrainedBaseline;
            p.picture.entropy = Entropy::Cabac;
        }),
        "the Constrained Baseline profile does not have CABAC"
    );
    assert_eq!(
        says(&|p| p.sequence.vui.sample_aspect = Some((0, 1))),
        "the width of a sample is 0, and not from 1 to 65535"
    );
    assert_eq!(
        says(&|p| p.picture.qp = 52),
        "the quantisation parameter is 52, and not from 0 to 51"
    );
}
