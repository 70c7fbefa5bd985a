//! Random legal decisions: what decoders make of them is what the encoder predicts from.

use evener_h264::config::{Config, Preset, Rate, Settings, Tools};
use evener_h264::encoder::{Encoder, Forced, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::macroblock::{Kind, Mv};
use evener_h264::rate::Rates;
use evener_h264::syntax::{Entropy, LEVELS, Parameters, Picture, Profile, Sequence, Vui};
use evener_h264::unit::Coded;
use evener_runtime::Simd;

use crate::content::{self, Frame};
use crate::decoder::decode;
use crate::rng::Rng;

/// Pictures of a stream.
const PICTURES: u64 = 20;
const KEYINT: u32 = 9;

/// A stream to make.
#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    profile: Profile,
    tools: Tools,
    size: (usize, usize),
    simd: Simd,
}

impl Case {
    /// The case of a number; all profiles and coders are among those of consecutive numbers.
    fn of(number: u64) -> Case {
        let mut rng = Rng::new(number.wrapping_mul(0x5851_f42d_4c95_7f2d));
        let (profile, cabac) = [
            (Profile::ConstrainedBaseline, false),
            (Profile::Main, true),
            (Profile::High, true),
            (Profile::High, false),
            (Profile::Main, false),
        ][(number % 5) as usize];
        let levels = Simd::levels();
        Case {
            seed: number,
            profile,
            tools: Tools {
                references: 1 + (number / 5 % 4) as u8,
                cabac,
                transform_8x8: profile == Profile::High,
                trellis: rng.below(2) == 1,
                scene_cut: false,
                deblocking: !rng.chance(10),
                ..Preset::Slow.tools()
            },
            size: rng.pick(&[(100, 84), (112, 80), (98, 94), (18, 302), (338, 34)]),
            simd: rng.pick(&levels),
        }
    }

    fn macroblocks(&self) -> u64 {
        let (width, height) = self.size;
        (width.div_ceil(16) * height.div_ceil(16)) as u64 * PICTURES
    }

    fn parameters(&self) -> Parameters {
        Parameters {
            sequence: Sequence {
                profile: self.profile,
                level: LEVELS.iter().find(|level| level.name == "4").unwrap(),
                width: self.size.0 as u32,
                height: self.size.1 as u32,
                references: self.tools.references,
                frame_num_bits: 4,
                vui: Vui::default(),
            },
            picture: Picture {
                entropy: match self.tools.cabac {
                    true => Entropy::Cabac,
                    false => Entropy::Cavlc,
                },
                references: self.tools.references,
                transform_8x8: self.tools.transform_8x8,
                ..Picture::default()
            },
        }
    }

    /// What is demanded of a macroblock. Pictures differ in what is frequent.
    fn demand(&self, number: u64, x: usize, y: usize) -> Forced {
        let place = (number << 32) + ((x as u64) << 16) + y as u64;
        let mut picture = Rng::new(self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) + number);
        let mut rng = Rng::new(self.seed.rotate_left(40) ^ place);
        const ALL: [Kind; 9] = [
            Kind::I4x4,
            Kind::I8x8,
            Kind::I16x16,
            Kind::IPcm,
            Kind::PSkip,
            Kind::P16x16,
            Kind::P16x8,
            Kind::P8x16,
            Kind::P8x8,
        ];
        let kinds: &[Kind] = match picture.below(5) {
            0 => &ALL[..3],
            1 => &ALL[4..],
            2 => &[Kind::PSkip, Kind::PSkip, Kind::P16x16, Kind::P8x8],
            _ => &ALL,
        };
        // QP by picture, by macroblock, or at the ends.
        let qp = match picture.below(4) {
            0 => picture.below(52),
            1 => rng.pick(&[0, 1, 26, 49, 50, 51]),
            2 => (picture.below(52) + rng.below(3)).min(51),
            _ => rng.below(52),
        };
        let reach = picture.pick(&[1, 3, 5, 9, 60, 1200]);
        let still = picture.pick(&[0, 30, 80]);
        let mut component = || match rng.chance(still) {
            true => 0,
            false => rng.within(-reach, reach) as i16,
        };
        let mvs = [(); 4].map(|()| Mv {
            x: component(),
            y: component(),
        });
        let first = picture.chance(40);
        Forced {
            kind: rng.pick(kinds),
            qp: qp as u8,
            modes: [(); 16].map(|()| rng.below(36) as u8),
            chroma_mode: rng.below(12) as u8,
            refs: [(); 4].map(|()| match first {
                true => u8::from(rng.chance(20)),
                false => rng.below(4) as u8,
            }),
            mvs,
            transform_8x8: rng.chance(50),
        }
    }

    /// The stream, and what the encoder reconstructs.
    fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let parameters = self.parameters();
        let config = Config::new(&Settings {
            rate: Rate::Qp(30),
            keyint: KEYINT,
            ..Settings::default()
        });
        let case = *self;
        let encoder = Encoder::new(
            &parameters,
            self.tools,
            Rates::new(&config.unwrap(), &parameters),
            Kernels::at(self.simd),
            1,
        )
        .forcing(Box::new(move |n, x, y| case.demand(n, x, y)));
        let (mut stream, mut reconstruction) = (Vec::new(), Vec::new());
        let coded = Coded::default();
        let mut scratch = Scratch::default();
        let mut rng = Rng::new(self.seed);
        let mut before: Option<Frame> = None;
        for number in 0..PICTURES {
            let frame = content::frame(&mut rng, self.size, before.as_ref());
            let planes = Planes {
                luma: &frame[0],
                chroma: [&frame[1], &frame[2]],
            };
            for pass in Pass::ALL {
                let (lines, steps) = pass.lines(encoder.geometry());
                for line in 0..lines {
                    let part = (pass, line, 0..steps);
                    encoder.run(number, part, planes, &coded, &mut scratch);
                }
            }
            stream.extend_from_slice(&coded.picture().bytes);
            reconstruction.extend(encoder.reconstruction(number).into_iter().flatten());
            before = Some(frame);
        }
        (stream, reconstruction)
    }

    /// Where the decoder differs, if it does.
    fn difference(&self, decoded: &[u8], expected: &[u8]) -> Option<String> {
        let at = decoded.iter().zip(expected).position(|(a, b)| a != b);
        let (width, height) = self.size;
        let frame = width * height * 3 / 2;
        match at {
            None if decoded.len() == expected.len() => None,
            None => Some(format!("{} bytes, not {}", decoded.len(), expected.len())),
            Some(at) => {
                let (number, at) = (at / frame, at % frame);
                let (plane, at, width) = match at.checked_sub(width * height) {
                    None => ("luma", at, width),
                    Some(at) => ("chroma", at, width / 2),
                };
                let (x, y) = (at % width, at / width);
                Some(format!("picture {number}, {plane}, column {x}, row {y}"))
            }
        }
    }
}

/// Makes and compares streams until they have so many macroblocks.
fn compare(from: u64, macroblocks: u64) {
    let (mut done, mut number) = (0, from);
    while done < macroblocks {
        let case = Case::of(number);
        let what = format!("{case:?}");
        let (stream, expected) = case.encode();
        let Some(decoded) = decode(stream, &what) else {
            return;
        };
        if let Some(difference) = case.difference(&decoded, &expected) {
            panic!("{difference}: {what}");
        }
        done += case.macroblocks();
        number += 1;
    }
    println!("{done} macroblocks in {} streams", number - from);
}

#[test]
fn decoders_reconstruct_random_decisions() {
    compare(0, 20_000);
}

#[test]
#[ignore = "some minutes"]
fn decoders_reconstruct_a_million_random_decisions() {
    compare(1000, 1_000_000);
}
