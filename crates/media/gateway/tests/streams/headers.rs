//! What parameter sets say, against what ffmpeg was told to make.

use evener_gateway::payload::Codec;
use evener_gateway::video::{h264, h265};
use evener_testing::Folder;

use crate::origin::{capture, has_ffmpeg, make, units};

/// The codec of pictures that are made so.
fn codec(encoders: &str) -> Codec {
    let folder = Folder::new();
    let source = make(&folder, "source.mkv", &format!("-an -t 1 {encoders}"));
    let captured = capture(&source, "0:v");
    units(&captured.packets, &captured.format, 0).1.codec()
}

#[test]
fn sequences_of_h264_are_read() {
    if !has_ffmpeg() {
        return;
    }
    for (encoders, size, chroma, depth, reorder) in [
        ("-s 322x242 -bf 0", (322, 242), 1, (8, 8), 0),
        (
            "-s 318x238 -bf 3 -x264-params b-pyramid=normal",
            (318, 238),
            1,
            (8, 8),
            2,
        ),
        (
            "-s 322x242 -pix_fmt yuv444p -bf 1 -x264-params b-pyramid=none",
            (322, 242),
            3,
            (8, 8),
            1,
        ),
        (
            "-s 322x242 -pix_fmt yuv422p10le -bf 0",
            (322, 242),
            2,
            (10, 10),
            0,
        ),
        ("-s 322x242 -pix_fmt gray -bf 0", (322, 242), 0, (8, 8), 0),
        (
            "-s 320x244 -flags +ilme+ildct -bf 0",
            (320, 244),
            1,
            (8, 8),
            0,
        ),
        (
            "-s 320x240 -bf 0 -x264-params cqm=jvt -aspect 16:9 -color_range pc -colorspace bt709",
            (320, 240),
            1,
            (8, 8),
            0,
        ),
        (
            "-s 320x240 -bf 0 -x264-params nal-hrd=vbr:vbv-maxrate=500:vbv-bufsize=500",
            (320, 240),
            1,
            (8, 8),
            0,
        ),
    ] {
        let Codec::H264(sets) = codec(&format!("-c:v libx264 -preset veryfast {encoders}")) else {
            panic!("another coding")
        };
        let sequence = sets.iter().find_map(|set| h264::sequence(set)).unwrap();
        let found = (
            (sequence.width, sequence.height),
            sequence.chroma,
            sequence.depth,
            sequence.reorder,
        );
        assert_eq!(found, (size, chroma, depth, Some(reorder)), "{encoders}");
    }
}

#[test]
fn sequences_of_h265_are_read() {
    if !has_ffmpeg() {
        return;
    }
    for (encoders, size, chroma, depth, reorder) in [
        ("-s 322x242", "bframes=0", (322, 242), 1, 8, 0),
        ("-s 318x238", "bframes=3:b-pyramid=1", (318, 238), 1, 8, 2),
        (
            "-s 322x242 -pix_fmt yuv444p",
            "bframes=0",
            (322, 242),
            3,
            8,
            0,
        ),
        (
            "-s 322x242 -pix_fmt yuv420p10le",
            "bframes=0:temporal-layers=1",
            (322, 242),
            1,
            10,
            0,
        ),
    ]
    .map(|(encoders, params, size, chroma, depth, reorder)| {
        (
            format!("{encoders} -x265-params log-level=none:{params}"),
            size,
            chroma,
            depth,
            reorder,
        )
    }) {
        let Codec::H265(sets) = codec(&format!("-c:v libx265 -preset ultrafast {encoders}")) else {
            panic!("another coding")
        };
        let sequence = sets.iter().find_map(|set| h265::sequence(set)).unwrap();
        let found = (
            (sequence.width, sequence.height),
            sequence.chroma,
            sequence.depth,
        );
        assert_eq!(found, (size, chroma, (depth, depth)), "{encoders}");
        assert_eq!(sequence.reorder, reorder, "{encoders}");
    }
}
