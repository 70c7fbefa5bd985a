//! Limits that streams keep to and that decoders do not check (clauses 7.4.3, 7.4.1.2.4, A.2 and A.3).

use std::fs;
use std::process::Command;

use evener_h264::config::{Config, Preset, Rate, Settings, Tools};
use evener_h264::encoder::{Encoder, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::rate::Rates;
use evener_h264::syntax::{
    Demand, Entropy, Level, Parameters, Picture, Profile, Sequence, SliceHeader, Vui,
};
use evener_h264::unit::Coded;
use evener_runtime::Simd;
use evener_testing::Folder;

use common::rng::Rng;
use reader::bits::units;
use reader::cavlc::Coverage;

#[path = "../common/mod.rs"]
mod common;
#[path = "../reader/mod.rs"]
mod reader;

/// A frame: luma, Cb, Cr.
type Frame = [Vec<u8>; 3];

const WIDTH: usize = 80;
const HEIGHT: usize = 64;
/// Less than the bits of `frame_num`, which wraps within the pictures of a stream.
const FRAME_NUM_BITS: u8 = 4;

fn parameters(tools: &Tools, profile: Profile) -> Parameters {
    let size = (WIDTH as u32, HEIGHT as u32);
    let level = Level::lowest(&Demand {
        profile,
        width: size.0,
        height: size.1,
        references: tools.references,
        picture_rate: Some((25, 1)),
        bit_rate: None,
        buffer: None,
    });
    Parameters {
        sequence: Sequence {
            profile,
            level: level.unwrap(),
            width: size.0,
            height: size.1,
            references: tools.references,
            frame_num_bits: FRAME_NUM_BITS,
            vui: Vui::default(),
        },
        picture: Picture {
            entropy: match tools.cabac {
                true => Entropy::Cabac,
                false => Entropy::Cavlc,
            },
            references: tools.references,
            transform_8x8: tools.transform_8x8,
            ..Picture::default()
        },
    }
}

/// A stream at a constant quantisation parameter, pass after pass.
fn encode(parameters: &Parameters, tools: Tools, qp: u8, keyint: u32, frames: &[Frame]) -> Vec<u8> {
    let kernels = Kernels::at(Simd::detect());
    let config = Config::new(&Settings {
        rate: Rate::Qp(qp),
        keyint,
        ..Settings::default()
    });
    let rates = Rates::new(&config.unwrap(), parameters);
    let encoder = Encoder::new(parameters, tools, rates, kernels, 1);
    let mut scratch = Scratch::default();
    let mut stream = Vec::new();
    for (number, [luma, cb, cr]) in frames.iter().enumerate() {
        let planes = Planes {
            luma,
            chroma: [cb, cr],
        };
        let out = Coded::default();
        for pass in Pass::ALL {
            let (lines, steps) = pass.lines(encoder.geometry());
            for line in 0..lines {
                let part = (pass, line, 0..steps);
                encoder.run(number as u64, part, planes, &out, &mut scratch);
            }
        }
        stream.extend_from_slice(&out.picture().bytes);
    }
    stream
}

/// Reads a stream and checks what it says of pictures, references and vectors.
fn check(stream: &[u8], parameters: &Parameters) -> Coverage {
    let mut coverage = Coverage::new();
    let level = parameters.sequence.level;
    let mut before: Option<SliceHeader> = None;
    let mut references = 0;
    for unit in units(stream) {
        match unit.kind {
            7 => assert_eq!(
                reader::parameters::sequence(&unit.payload),
                parameters.sequence
            ),
            8 => assert_eq!(
                reader::parameters::picture(&unit.payload),
                parameters.picture
            ),
            1 | 5 => {
                let picture = match parameters.picture.entropy {
                    Entropy::Cavlc => reader::macroblock::picture(&unit, parameters, &mut coverage),
                    Entropy::Cabac => reader::cabac::picture(&unit, parameters, &mut coverage),
                };
                let header = picture.header;
                match (header.idr, before) {
                    (Some(id), _) => {
                        assert_eq!(header.frame_num, 0);
                        let twice = before.is_some_and(|before| before.idr == Some(id));
                        assert!(!twice, "idr_pic_id of two IDR pictures in a row");
                        references = 0;
                    }
                    (None, Some(before)) => {
                        let step = u32::from(before.reference != 0);
                        let expected = (before.frame_num + step) % (1 << FRAME_NUM_BITS);
                        assert_eq!(header.frame_num, expected, "frame_num");
                        assert!(header.references <= references, "references");
                        assert!(
                            before.reference + header.reference > 0,
                            "two that no others refer to (clause 8.2.1.3)"
                        );
                    }
                    (None, None) => panic!("the first picture is not IDR"),
                }
                if header.reference != 0 {
                    references = (references + 1).min(parameters.sequence.references);
                }
                before = Some(header);
                let [x, y] = level.vector_range().map(|(least, most)| least..=most);
                for mb in picture.rows.iter().flat_map(|row| &row.macroblocks) {
                    assert!(
                        mb.mvs
                            .iter()
                            .all(|mv| x.contains(&mv.x) && y.contains(&mv.y))
                    );
                    assert!(mb.refs.iter().all(|&r| r < header.references as i8));
                }
            }
            other => panic!("nal_unit_type {other}"),
        }
    }
    coverage
}

/// Frames that are hard to code: no sample follows from another, and each is 0 or 255.
fn noise(rng: &mut Rng, count: usize, steps: usize) -> Vec<Frame> {
    let mut plane = |size: usize| -> Vec<u8> {
        (0..size)
            .map(|_| (rng.below(steps) * 255 / (steps - 1)) as u8)
            .collect()
    };
    let size = WIDTH * HEIGHT;
    (0..count)
        .map(|_| [plane(size), plane(size / 4), plane(size / 4)])
        .collect()
}

/// Squares of the extremes, as large as a block, a quarter or a macroblock.
fn squares(rng: &mut Rng, count: usize) -> Vec<Frame> {
    let mut plane = |width: usize, height: usize, side: usize| -> Vec<u8> {
        let colours: Vec<u8> = (0..4096).map(|_| rng.pick(&[0, 255])).collect();
        (0..width * height)
            .map(|i| colours[i / width / side * 64 + i % width / side])
            .collect()
    };
    (0..count)
        .map(|i| {
            let side = 4 << (i % 3);
            [
                plane(WIDTH, HEIGHT, side),
                plane(WIDTH / 2, HEIGHT / 2, side / 2),
                plane(WIDTH / 2, HEIGHT / 2, side / 2),
            ]
        })
        .collect()
}

#[test]
fn streams_keep_to_limits_that_decoders_do_not_check() {
    for profile in Profile::ALL {
        for preset in [Preset::Ultrafast, Preset::Slow] {
            let tools = preset.tools().within(profile);
            let parameters = parameters(&tools, profile);
            for qp in [0, 1, 3, 6, 12, 26, 51] {
                let mut rng = Rng::new(u64::from(qp));
                let mut frames = noise(&mut rng, 4, 2);
                frames.extend(squares(&mut rng, 9));
                frames.extend(noise(&mut rng, 8, 256));
                let stream = encode(&parameters, tools, qp, 20, &frames);
                let coverage = check(&stream, &parameters);
                let what = format!("{profile}, {preset:?}, QP {qp}");
                let largest = coverage.sizes.iter().max().unwrap();
                assert!(*largest <= 3200, "{what}: a macroblock of {largest} bits");
                let mut long = coverage.prefixes.iter().flat_map(|counts| &counts[16..]);
                assert!(
                    profile == Profile::High || long.all(|&count| count == 0),
                    "{what}: level_prefix of more than 15"
                );
                if qp == 0 {
                    assert_close(&stream, &frames, &what);
                }
            }
        }
    }
}

/// Checks that ffmpeg decodes to nearly the frames, so that what the encoder predicted from is what decoders have.
fn assert_close(stream: &[u8], frames: &[Frame], what: &str) {
    let Some(decoded) = decode(stream) else {
        return;
    };
    let expected: Vec<u8> = frames.iter().flatten().flatten().copied().collect();
    assert_eq!(decoded.len(), expected.len(), "{what}");
    let differences = decoded.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b));
    let most = differences.max().unwrap();
    assert!(most <= 3, "{what}: a sample differs by {most}");
}

/// What ffmpeg decodes; says so where it is not installed.
fn decode(stream: &[u8]) -> Option<Vec<u8>> {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        evener_testing::skip("the program ffmpeg is not installed");
        return None;
    }
    let folder = Folder::new();
    let path = folder.path("limits.264");
    fs::write(&path, stream).unwrap();
    let output = Command::new("ffmpeg")
        .args("-v warning -nostdin -threads 1 -err_detect explode -f h264 -i".split(' '))
        .arg(&path)
        .args("-f rawvideo -fps_mode passthrough pipe:1".split(' '))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    Some(output.stdout)
}
