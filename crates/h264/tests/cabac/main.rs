//! CABAC: what is written is read again by a reader written from the standard, and decoded by ffmpeg.

use std::io::Write;
use std::process::{Command, Stdio};

use evener_h264::entropy::SliceWriter;
use evener_h264::macroblock::{Levels, Macroblock};
use evener_h264::syntax::{
    Entropy, LEVELS, Parameters, Picture, Profile, Sequence, SliceHeader, SliceKind, Vui,
};

use generator::{Random, Style};
use reader::Slice;

mod arithmetic;
mod generator;
#[path = "../../src/entropy/cabac/initial.rs"]
mod initial;
mod reader;
#[path = "../../src/entropy/cabac/tables.rs"]
mod tables;

/// Whether ffmpeg is there; says so where it is not.
fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        eprintln!("skipped: the program ffmpeg is not installed");
    }
    found
}

/// The frames that ffmpeg decodes, in which it finds no error.
fn decode(stream: &[u8], name: &str) -> Vec<u8> {
    let words =
        "-v error -err_detect explode -threads 1 -f h264 -i - -f rawvideo -pix_fmt yuv420p -";
    let mut child = Command::new("ffmpeg")
        .args(words.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(stream));
        child.wait_with_output().unwrap()
    });
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && messages.is_empty(),
        "{name}: {messages}"
    );
    output.stdout
}

const STYLES: [Style; 4] = [
    Style {
        skipped: 20,
        dense: 30,
        large: 30,
        largest: 60,
        requantised: 50,
        fastest: 60,
    },
    Style {
        skipped: 60,
        dense: 5,
        large: 10,
        largest: 20,
        requantised: 10,
        fastest: 6,
    },
    Style {
        skipped: 5,
        dense: 90,
        large: 60,
        largest: 2000,
        requantised: 100,
        fastest: 500,
    },
    Style {
        skipped: 0,
        dense: 60,
        large: 0,
        largest: 1,
        requantised: 0,
        fastest: 0,
    },
];

const WIDTH: usize = 11;
const HEIGHT: usize = 9;

fn parameters(entropy: Entropy, allows_8x8: bool) -> Parameters {
    Parameters {
        sequence: Sequence {
            profile: if allows_8x8 {
                Profile::High
            } else {
                Profile::Main
            },
            level: LEVELS.last().unwrap(),
            width: WIDTH as u32 * 16,
            height: HEIGHT as u32 * 16,
            references: 4,
            frame_num_bits: 4,
            vui: Vui::default(),
        },
        picture: Picture {
            entropy,
            references: 1,
            transform_8x8: allows_8x8,
            ..Picture::default()
        },
    }
}

/// Appends a picture to a stream.
fn write(
    stream: &mut Vec<u8>,
    parameters: &Parameters,
    header: &SliceHeader,
    picture: &generator::Picture,
) {
    let mut writer = SliceWriter::new(parameters);
    writer.begin(header);
    for row in picture.macroblocks.chunks(WIDTH) {
        writer.row(row, &picture.levels);
    }
    writer.finish(stream);
}

fn header(slice: &Slice, number: u32) -> SliceHeader {
    SliceHeader {
        kind: if slice.init.is_some() {
            SliceKind::P
        } else {
            SliceKind::I
        },
        idr: if number == 0 { Some(0) } else { None },
        frame_num: number,
        references: slice.references,
        qp: slice.qp,
        cabac_init: slice.init.unwrap_or(0),
        ..SliceHeader::default()
    }
}

#[test]
fn ffmpeg_decodes_the_same_from_cabac_as_from_cavlc() {
    if !has_ffmpeg() {
        return;
    }
    let mut random = Random(1);
    for allows_8x8 in [false, true] {
        for (number, style) in STYLES.iter().enumerate() {
            let mut streams = [Vec::new(), Vec::new()];
            let parameters =
                [Entropy::Cavlc, Entropy::Cabac].map(|entropy| parameters(entropy, allows_8x8));
            for (stream, parameters) in streams.iter_mut().zip(&parameters) {
                parameters.write(stream);
            }
            for number in 0..4 {
                let slice = Slice {
                    width: WIDTH,
                    height: HEIGHT,
                    init: [None, Some(0), Some(1), Some(2)][number],
                    qp: random.below(52) as u8,
                    references: number.clamp(1, 3) as u8,
                    allows_8x8,
                };
                let picture = generator::picture(&mut random, &slice, style);
                for (stream, parameters) in streams.iter_mut().zip(&parameters) {
                    write(stream, parameters, &header(&slice, number as u32), &picture);
                }
            }
            let name = format!("8x8 {allows_8x8}, style {number}");
            let frames = streams.map(|stream| decode(&stream, &name));
            assert_eq!(frames[0].len(), 4 * WIDTH * HEIGHT * 384);
            assert!(frames[0] == frames[1], "{name}: frames differ");
        }
    }
}
