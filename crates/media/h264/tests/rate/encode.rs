//! Encoding a clip, and ffmpeg's decoding of it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use evener_h264::config::Config;
use evener_h264::encoder::{Encoder, Pass, Planes, Scratch};
use evener_h264::kernels::Kernels;
use evener_h264::rate::{Rates, Summary};
use evener_h264::syntax::{
    Demand, Entropy, Hrd, Level, Parameters, Picture, Sequence, Timing, Vui,
};
use evener_h264::unit::{Coded, CodedPicture};
use evener_runtime::Topology;

use crate::clips::Clip;

/// What came out.
pub struct Encoded {
    pub pictures: Vec<CodedPicture>,
    /// Reconstructed samples of all pictures.
    pub reconstruction: Vec<u8>,
    /// What the encoder says about rates.
    pub summary: Summary,
}

impl Encoded {
    pub fn stream(&self) -> Vec<u8> {
        self.pictures.iter().flat_map(|p| p.bytes.clone()).collect()
    }

    pub fn keys(&self) -> Vec<usize> {
        let keys = self.pictures.iter().enumerate().filter(|(_, p)| p.key);
        keys.map(|(n, _)| n).collect()
    }

    pub fn bits(&self) -> u64 {
        self.pictures.iter().map(|p| 8 * p.bytes.len() as u64).sum()
    }

    /// The mean of the PSNR of luma.
    pub fn psnr(&self, clip: &Clip) -> f64 {
        let luma = clip.width * clip.height;
        let pairs = self
            .reconstruction
            .chunks(clip.frame_bytes())
            .zip(&clip.frames);
        let of = |(a, b): (&[u8], &Vec<u8>)| {
            let differences = a[..luma].iter().zip(&b[..luma]);
            let error: u64 = differences
                .map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2))
                .sum();
            10.0 * (65025.0 * luma as f64 / error.max(1) as f64).log10()
        };
        pairs.map(of).sum::<f64>() / clip.frames.len() as f64
    }
}

pub fn parameters(config: &Config, clip: &Clip) -> Parameters {
    let demand = Demand {
        profile: config.profile,
        width: clip.width as u32,
        height: clip.height as u32,
        references: config.tools.references,
        picture_rate: Some((25, 1)),
        bit_rate: None,
        buffer: None,
    };
    Parameters {
        sequence: Sequence {
            profile: config.profile,
            level: Level::lowest(&demand).unwrap(),
            width: demand.width,
            height: demand.height,
            references: config.tools.references,
            frame_num_bits: 8,
            vui: Vui {
                timing: Some(Timing {
                    units: 1,
                    scale: 50,
                    fixed: true,
                }),
                hrd: config.vbv.map(|vbv| Hrd {
                    bit_rate: vbv.maxrate & !63,
                    buffer: vbv.bufsize & !15,
                    constant: false,
                }),
                ..Vui::default()
            },
        },
        picture: Picture {
            entropy: if config.tools.cabac {
                Entropy::Cabac
            } else {
                Entropy::Cavlc
            },
            references: config.tools.references,
            transform_8x8: config.tools.transform_8x8,
            ..Picture::default()
        },
    }
}

/// Encodes a clip at 25 pictures a second. Pictures go through the encoder one after the other.
pub fn encode(config: &Config, clip: &Clip) -> Encoded {
    encode_behind(config, clip, 0)
}

/// The same, where the bits of a picture are written only when so many further ones are decided. If there are any, rows
/// are decided side by side, each two macroblocks behind the one above.
pub fn encode_behind(config: &Config, clip: &Clip, behind: u64) -> Encoded {
    let parameters = parameters(config, clip);
    let simd = Topology::detect().simd;
    let encoder = Encoder::new(
        &parameters,
        config.tools,
        Rates::new(config, &parameters),
        Kernels::at(simd),
        1 + behind as usize,
    );
    let coded = Coded::default();
    let mut scratch = Scratch::default();
    let mut encoded = Encoded {
        pictures: Vec::new(),
        reconstruction: Vec::new(),
        summary: encoder.summary(),
    };
    let last = clip.frames.len() as u64;
    for n in 0..last + behind {
        for pass in Pass::ALL {
            // The picture whose turn it is.
            let n = match pass {
                Pass::Write => n.checked_sub(behind),
                _ => (n < last).then_some(n),
            };
            let Some(n) = n else { continue };
            let planes = planes(clip, &clip.frames[n as usize]);
            let (lines, steps) = pass.lines(encoder.geometry());
            if pass == Pass::Decide && behind > 0 {
                for time in 0..steps + 2 * lines {
                    for line in 0..lines {
                        let Some(x) = time.checked_sub(2 * line).filter(|&x| x < steps) else {
                            continue;
                        };
                        let part = (pass, line, x..x + 1);
                        encoder.run(n, part, planes, &coded, &mut scratch);
                    }
                }
                continue;
            }
            for line in 0..lines {
                encoder.run(n, (pass, line, 0..steps), planes, &coded, &mut scratch);
            }
            if pass == Pass::Write {
                encoded.pictures.push(coded.picture().clone());
            }
            if pass == Pass::Filter {
                let [y, cb, cr] = encoder.reconstruction(n);
                let samples = y.into_iter().chain(cb).chain(cr);
                encoded.reconstruction.extend(samples);
            }
        }
    }
    encoded.summary = encoder.summary();
    encoded
}

fn planes<'a>(clip: &Clip, frame: &'a [u8]) -> Planes<'a> {
    let (luma, chroma) = frame.split_at(clip.width * clip.height);
    let (cb, cr) = chroma.split_at(chroma.len() / 2);
    Planes {
        luma,
        chroma: [cb, cr],
    }
}

/// What ffmpeg's reader of headers says of a stream. `None` where it is missing, which is said.
pub fn trace(encoded: &Encoded) -> Option<String> {
    let output = "-v info -nostdin -f h264 -i pipe:0 -c copy -bsf:v trace_headers -f null -";
    let output = ffmpeg(encoded, output)?;
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Checks that ffmpeg decodes a stream without a word to what the encoder reconstructed. Says so where it is missing.
pub fn decodes(encoded: &Encoded) {
    let arguments = "-v warning -nostdin -threads 1 -err_detect explode -f h264 -i pipe:0 -f rawvideo -fps_mode passthrough pipe:1";
    let Some(output) = ffmpeg(encoded, arguments) else {
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.stdout == encoded.reconstruction);
}

/// Runs ffmpeg on a stream. `None` where it is missing, which is said.
fn ffmpeg(encoded: &Encoded, arguments: &str) -> Option<Output> {
    let child = Command::new("ffmpeg")
        .args(arguments.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        evener_testing::skip("the program ffmpeg is not installed");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let stream = encoded.stream();
    let writer = std::thread::spawn(move || stdin.write_all(&stream));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    Some(output)
}
