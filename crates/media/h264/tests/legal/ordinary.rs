//! Encodes as users ask for them: every preset, entropy coder and kind of rate.

use std::path::Path;

use evener_h264::config::{Config, Preset, Rate, Settings};
use evener_h264::encoder::{Encoder, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::rate::Rates;
use evener_h264::syntax::{Entropy, LEVELS, Parameters, Picture, Profile, Sequence, Vui};
use evener_h264::unit::Coded;
use evener_runtime::Simd;

use crate::content::{self, Frame};
use crate::decoder::decode;
use crate::rng::Rng;

/// Encodes frames in order and compares what ffmpeg decodes.
fn compare(config: &Config, (width, height): (usize, usize), frames: &[Frame]) {
    let parameters = Parameters {
        sequence: Sequence {
            profile: config.profile,
            level: LEVELS.iter().find(|level| level.name == "4").unwrap(),
            width: width as u32,
            height: height as u32,
            references: config.tools.references,
            frame_num_bits: 8,
            vui: Vui::default(),
        },
        picture: Picture {
            entropy: match config.tools.cabac {
                true => Entropy::Cabac,
                false => Entropy::Cavlc,
            },
            references: config.tools.references,
            transform_8x8: config.tools.transform_8x8,
            ..Picture::default()
        },
    };
    let rates = Rates::new(config, &parameters);
    let kernels = Kernels::at(Simd::detect());
    let encoder = Encoder::new(&parameters, config.tools, rates, kernels, 1);
    let (coded, mut scratch) = (Coded::default(), Scratch::default());
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    for (number, frame) in (0..).zip(frames) {
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
        expected.extend(encoder.reconstruction(number).into_iter().flatten());
    }
    let what = format!("{width}x{height}, {config:?}");
    if let Some(decoded) = decode(stream, &what) {
        assert!(decoded == expected, "{what}");
    }
}

/// Each preset at each of its profiles, with rates in turn.
fn every_preset(size: (usize, usize), frames: &[Frame]) {
    let rates = [
        Rate::Qp(10),
        Rate::Crf(18.0),
        Rate::Bitrate(300_000),
        Rate::Qp(45),
        Rate::Crf(35.0),
        Rate::Qp(28),
        Rate::Bitrate(60_000),
    ];
    let mut turn = 0;
    for preset in Preset::ALL {
        for profile in Profile::ALL {
            for _ in 0..3 {
                let config = Config::new(&Settings {
                    preset,
                    rate: rates[turn % rates.len()],
                    profile: Some(profile),
                    keyint: 7,
                    ..Settings::default()
                });
                compare(&config.unwrap(), size, frames);
                turn += 1;
            }
        }
    }
}

#[test]
fn decoders_reconstruct_a_scene() {
    let mut rng = Rng::new(5);
    let size = (82, 70);
    let mut frames: Vec<Frame> = Vec::new();
    for number in 0..10 {
        let frame = match number % 6 {
            0 => content::frame(&mut rng, size, None),
            _ => content::moved(&mut rng, size, &frames[number - 1]),
        };
        frames.push(frame);
    }
    every_preset(size, &frames);
}

#[test]
fn decoders_reconstruct_people() {
    let Some(clips) = std::env::var_os("EVENER_CLIPS") else {
        evener_testing::skip("no EVENER_CLIPS");
        return;
    };
    let bytes = std::fs::read(Path::new(&clips).join("people_320x192_9f_i420.yuv")).unwrap();
    let size = (320, 192);
    let frames: Vec<Frame> = bytes
        .chunks(size.0 * size.1 * 3 / 2)
        .map(|frame| {
            let (luma, chroma) = frame.split_at(size.0 * size.1);
            let (cb, cr) = chroma.split_at(chroma.len() / 2);
            [luma.to_vec(), cb.to_vec(), cr.to_vec()]
        })
        .collect();
    every_preset(size, &frames);
}
