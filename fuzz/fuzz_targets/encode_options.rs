//! Random options on a few small frames: the encoder makes the same stream with scalar kernels and with those of the
//! processor, and what it reconstructs is as far from the frames as it says.

#![no_main]
#![forbid(unsafe_code)]

use evener_h264::config::{Config, Preset, Rate, Settings, Tune};
use evener_h264::encoder::{Encoder, Measured, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::rate::Rates;
use evener_h264::syntax::{Demand, Entropy, Level, Parameters, Picture, Profile, Sequence, Vui};
use evener_h264::unit::Coded;
use evener_runtime::Simd;
use libfuzzer_sys::fuzz_target;

/// The input as numbers, then zeros for ever: so every input is a case.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.next()) % of.len()]
    }
}

fn settings(bytes: &mut Bytes<'_>) -> Settings {
    let value = bytes.next();
    let bits = 1000 << (value % 12);
    let rate = match bytes.next() % 3 {
        0 => Rate::Qp(value % 52),
        1 => Rate::Crf(f32::from(value % 52)),
        _ => Rate::Bitrate(bits),
    };
    let limited = bytes.next() % 2 == 0;
    Settings {
        preset: bytes.pick(&Preset::ALL),
        rate,
        maxrate: limited.then(|| bits + 1000 * u64::from(bytes.next())),
        bufsize: limited.then(|| 1000 << (bytes.next() % 12)),
        profile: Some(bytes.pick(&Profile::ALL)),
        keyint: 1 + u32::from(bytes.next() % 8),
        tune: bytes.pick(&[
            None,
            Some(Tune::Psnr),
            Some(Tune::Ssim),
            Some(Tune::ZeroLatency),
        ]),
        psnr: true,
        ..Settings::default()
    }
}

fn parameters(config: &Config, width: u32, height: u32) -> Option<Parameters> {
    let demand = Demand {
        profile: config.profile,
        width,
        height,
        references: config.tools.references,
        picture_rate: Some((25, 1)),
        bit_rate: config.vbv.map(|vbv| vbv.maxrate),
        buffer: config.vbv.map(|vbv| vbv.bufsize),
    };
    let parameters = Parameters {
        sequence: Sequence {
            profile: config.profile,
            level: Level::lowest(&demand).ok()?,
            width,
            height,
            references: config.tools.references,
            frame_num_bits: 4,
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
    parameters.check().ok()?;
    Some(parameters)
}

fn encode(config: &Config, parameters: &Parameters, frames: &[Vec<u8>], simd: Simd) -> Vec<u8> {
    let luma = (parameters.sequence.width * parameters.sequence.height) as usize;
    let rates = Rates::new(config, parameters);
    let kernels = Kernels::at(simd);
    let measured = Measured {
        ssd: true,
        ssim: false,
    };
    let encoder = Encoder::new(parameters, config.tools, rates, kernels, 1).measuring(measured);
    let (coded, mut scratch) = (Coded::default(), Scratch::default());
    let mut stream = Vec::new();
    for (number, frame) in (0..).zip(frames) {
        let (y, chroma) = frame.split_at(luma);
        let (cb, cr) = chroma.split_at(luma / 4);
        let planes = Planes {
            luma: y,
            chroma: [cb, cr],
        };
        for pass in Pass::ALL {
            let (lines, steps) = pass.lines(encoder.geometry());
            for line in 0..lines {
                let part = (pass, line, 0..steps);
                encoder.run(number, part, planes, &coded, &mut scratch);
            }
        }
        let picture = coded.picture();
        for (p, ours) in encoder.reconstruction(number).iter().enumerate() {
            let pairs = ours.iter().zip([y, cb, cr][p]);
            let sum: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
            assert_eq!(picture.ssd[p], sum, "plane {p} of picture {number}");
        }
        stream.extend_from_slice(&picture.bytes);
    }
    stream
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data.iter());
    let Ok(config) = Config::new(&settings(&mut bytes)) else {
        return;
    };
    let width = 2 + 2 * u32::from(bytes.next() % 32);
    let height = 2 + 2 * u32::from(bytes.next() % 32);
    let Some(parameters) = parameters(&config, width, height) else {
        return;
    };
    let count = 1 + usize::from(bytes.next() % 6);
    let rest: Vec<u8> = bytes.0.copied().collect();
    let size = (width * height * 3 / 2) as usize;
    let mut samples = rest.iter().copied().chain([0, 255]).cycle();
    let frames: Vec<Vec<u8>> = (0..count)
        .map(|_| samples.by_ref().take(size).collect())
        .collect();
    let scalar = encode(&config, &parameters, &frames, Simd::Scalar);
    assert!(scalar == encode(&config, &parameters, &frames, Simd::detect()));
});
