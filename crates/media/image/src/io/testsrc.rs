//! `testsrc:`: a synthetic moving scene, the same on every machine.
//!
//! A view pans over a scene larger than the frame, with edges, gradients, texture and noise. A window onto another part of
//! the scene moves across it. Both are copies of rows of a scene that is drawn once, so the source is as fast as memory.

use std::collections::TryReserveError;

use evener_files::one_line;

use crate::format::{Depth, Format, Ratio, Timing};
use crate::frame::Frame;
use crate::io::error::Error;
use crate::io::y4m::{Header, HeaderError, MAX_SIDE, layout};

/// How far the view pans, in luma samples: a multiple of every chroma subsampling.
const PAN: u32 = 64;

/// Generates frames.
pub struct TestSource {
    format: Format,
    timing: Timing,
    name: String,
    frames: u64,
    made: u64,
    /// The scene, a plane each; empty until it is drawn.
    scene: Vec<Plane>,
}

/// A plane of the scene: the frame's plane with a margin to the right and below.
struct Plane {
    bytes: Vec<u8>,
    /// Bytes of a row.
    stride: usize,
}

impl TestSource {
    /// Reads `testsrc:WIDTHxHEIGHT:FRAMES[:FORMAT]`. `FORMAT` is one of y4m's names (`420`, `422`,
    /// `444`, `mono`, `420p10`, …), `420` if absent. The rate is 25 frames a second; the range is full for mono and
    /// limited for the others, as encoders and players take it.
    ///
    /// # Errors
    /// The description cannot be read, or the frames are too large.
    pub fn parse(given: &str) -> Result<TestSource, Error> {
        let wrong = |reason: &str| Error::TestSource {
            given: one_line(given),
            reason: reason.to_owned(),
        };
        let text = given.strip_prefix("testsrc:").unwrap_or(given);
        let parts: Vec<&str> = text.split(':').collect();
        let (size, frames, name) = match parts[..] {
            [size, frames] => (size, frames, "420"),
            [size, frames, name] => (size, frames, name),
            _ => return Err(wrong("it needs a size and a number of frames")),
        };
        let side = |digits: &str| match digits.parse::<u32>() {
            Ok(n) if (1..=MAX_SIDE).contains(&n) => Some(n),
            _ => None,
        };
        let Some((Some(width), Some(height))) =
            size.split_once('x').map(|(w, h)| (side(w), side(h)))
        else {
            return Err(wrong(&format!(
                "'{}' is not a size from 1x1 to {MAX_SIDE}x{MAX_SIDE}",
                one_line(size)
            )));
        };
        let Ok(frames @ 1..) = frames.parse::<u64>() else {
            return Err(wrong(&format!(
                "'{}' is not a number of frames",
                one_line(frames)
            )));
        };
        let Some((chroma, depth, _)) = layout(name) else {
            return Err(wrong(&HeaderError::Chroma(one_line(name)).to_string()));
        };
        let format = Format {
            width,
            height,
            chroma,
            depth,
            range: chroma.usual_range(),
        };
        let timing = Timing::default();
        // A header line that can be read back is a frame within y4m's limits.
        let line = Header { format, timing }.line().unwrap_or_default();
        Header::parse(line.trim_end().as_bytes()).map_err(|e| wrong(&e.to_string()))?;
        Ok(TestSource::new(format, frames, one_line(given)))
    }

    fn new(format: Format, frames: u64, name: String) -> TestSource {
        let timing = Timing {
            rate: Ratio { num: 25, den: 1 },
            ..Timing::default()
        };
        TestSource {
            format,
            timing,
            name,
            frames,
            made: 0,
            scene: Vec::new(),
        }
    }

    /// Draws the scene; otherwise the first [`TestSource::read`] does.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn draw(&mut self) -> Result<(), Error> {
        if self.scene.is_empty() {
            let planes = (0..self.format.planes()).map(|p| Plane::draw(&self.format, p));
            self.scene = planes
                .collect::<Result<_, _>>()
                .map_err(|_| Error::SceneMemory {
                    name: self.name.clone(),
                })?;
        }
        Ok(())
    }

    /// Size, chroma layout and depth of every frame.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Progressive at 25 frames a second.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Frames in the whole stream.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The description.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the next frame; `false` at the end of the stream.
    ///
    /// # Errors
    /// `frame` is not of [`TestSource::format`], or there is no memory for the scene.
    pub fn read(&mut self, frame: &mut Frame) -> Result<bool, Error> {
        if *frame.format() != self.format {
            return Err(Error::FrameFormat {
                name: self.name.clone(),
                stream: Box::new(self.format),
                frame: Box::new(*frame.format()),
            });
        }
        if self.made == self.frames {
            return Ok(false);
        }
        self.draw()?;
        let n = self.made;
        let (w, h) = (u64::from(self.format.width), u64::from(self.format.height));
        // Even offsets, so that halved chroma moves along exactly.
        let view = (2 * swing(n, PAN / 2), 2 * swing(n / 2 + 7, PAN / 2));
        let window = (w / 4 / 2 * 2, h / 4 / 2 * 2);
        let at = (
            swing_over(3 * n, w - window.0),
            swing_over(2 * n, h - window.1),
        );
        for (p, scene) in self.scene.iter().enumerate() {
            let (sx, sy) = if p == 0 {
                (1, 1)
            } else {
                self.format.chroma.subsampling()
            };
            let sample = self.format.depth.bytes();
            let row = self.format.plane_size(p).w as usize * sample;
            let x = |luma: u64| (luma / u64::from(sx)) as usize * sample;
            let y = |luma: u64| (luma / u64::from(sy)) as usize;
            let plane = frame.plane_bytes_mut(p);
            for (r, out) in plane.chunks_exact_mut(row).enumerate() {
                let from = (y(view.1) + r) * scene.stride + x(view.0);
                out.copy_from_slice(&scene.bytes[from..from + row]);
            }
            let length = x(window.0);
            if length == 0 {
                continue;
            }
            let rows = plane.chunks_exact_mut(row).skip(y(at.1)).take(y(window.1));
            for (r, out) in rows.enumerate() {
                // The window shows the lower right corner of the scene, of which the view shows little.
                let from = (y(h - window.1) + r) * scene.stride + x((w - window.0) / 2 * 2);
                out[x(at.0)..][..length].copy_from_slice(&scene.bytes[from..from + length]);
            }
        }
        self.made += 1;
        Ok(true)
    }
}

impl Plane {
    fn draw(format: &Format, plane: usize) -> Result<Plane, TryReserveError> {
        let (sx, sy) = if plane == 0 {
            (1, 1)
        } else {
            format.chroma.subsampling()
        };
        let size = format.plane_size(plane);
        let (w, h) = (size.w + PAN / sx, size.h + PAN / sy);
        let stride = w as usize * format.depth.bytes();
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(stride * h as usize)?;
        for y in 0..h {
            for x in 0..w {
                let v = point(plane, x * sx, y * sy, format);
                match format.depth {
                    Depth::U8 => bytes.push((v >> 4) as u8),
                    Depth::U10 => bytes.extend(((v >> 2) as u16).to_ne_bytes()),
                    Depth::U12 => bytes.extend((v as u16).to_ne_bytes()),
                    Depth::U16 => bytes.extend(((v << 4) as u16).to_ne_bytes()),
                    Depth::F32 => bytes.extend((v as f32 / 4095.0).to_ne_bytes()),
                }
            }
        }
        Ok(Plane { bytes, stride })
    }
}

/// A sample of the scene at luma coordinates, in 12 bits. Integer arithmetic makes it the same on every machine.
fn point(plane: usize, x: u32, y: u32, format: &Format) -> u32 {
    const DISC: u32 = 160;
    let (cell, dx, dy) = (
        (x / DISC, y / DISC),
        (x % DISC).abs_diff(DISC / 2),
        (y % DISC).abs_diff(DISC / 2),
    );
    let inside = dx * dx + dy * dy < 48 * 48;
    let colour = hash(cell.0, cell.1);
    if plane > 0 {
        let noise = hash(x ^ 0x5a5a, y + plane as u32) % 64;
        return match inside {
            true => 1024 + (colour >> (8 * plane)) % 2048,
            false => 1760 + 16 * swing(u64::from(if plane == 1 { x } else { y }), 32) as u32,
        } + noise;
    }
    let gradient =
        600 + 1400 * (x / 2) / (format.width / 2 + PAN) + 600 * (y / 2) / (format.height / 2 + PAN);
    let checks = 320 * ((x / 48 + y / 48) % 2);
    let stripes = if y / 96 % 4 == 3 {
        480 * ((x + 2 * y) / 8 % 2)
    } else {
        0
    };
    let noise = hash(x, y) % 192;
    if inside {
        400 + colour % 2900 + noise
    } else {
        gradient + checks + stripes + noise
    }
}

/// A well mixed number for a pair of coordinates (the finaliser of MurmurHash3, by Austin Appleby, public domain).
fn hash(x: u32, y: u32) -> u32 {
    let mut h = x
        .wrapping_mul(0x9e37_79b1)
        .wrapping_add(y.wrapping_mul(0x85eb_ca77));
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// A triangle wave: from 0 up to `top` and back, by 1 a step.
fn swing(step: u64, top: u32) -> u64 {
    let top = u64::from(top);
    top - (step % (2 * top)).abs_diff(top)
}

/// The same in even numbers, for a `top` that may be small.
fn swing_over(step: u64, top: u64) -> u64 {
    match u32::try_from(top / 2) {
        Ok(half @ 1..) => 2 * swing(step, half),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Chroma, ColourRange};

    fn frames(text: &str) -> Vec<Vec<u8>> {
        let mut source = TestSource::parse(text).unwrap();
        let mut frame = Frame::new(source.format());
        let mut all = Vec::new();
        while source.read(&mut frame).unwrap() {
            all.push(
                (0..source.format().planes())
                    .flat_map(|p| frame.plane_bytes(p).to_vec())
                    .collect(),
            );
        }
        assert_eq!(all.len() as u64, source.frames());
        all
    }

    #[test]
    fn every_frame_differs_and_every_run_is_the_same() {
        let first = frames("testsrc:96x64:5");
        assert_eq!(first, frames("testsrc:96x64:5:420jpeg"));
        for pair in first.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }

    #[test]
    fn the_scene_is_the_same_on_every_machine() {
        // FNV-1a over all bytes. Change it only with the scene: results on different scenes cannot be compared.
        let sum = frames("testsrc:353x289:3:444")
            .concat()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, &b| {
                (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
            });
        assert_eq!(sum, 0x2ac6_c13e_2e65_4961, "{sum:#x}");
    }

    #[test]
    fn every_size_and_format_works() {
        for name in [
            "mono", "mono10", "420", "420p10", "422", "422p10", "444", "444p10",
        ] {
            for size in ["1x1", "2x1", "1x9", "9x7", "33x65"] {
                let all = frames(&format!("testsrc:{size}:300:{name}"));
                assert_eq!(all.len(), 300);
            }
        }
    }

    #[test]
    fn samples_use_much_of_their_range_and_stay_in_it() {
        let luma = &frames("testsrc:640x480:1:mono10")[0];
        let codes: Vec<u16> = luma
            .chunks_exact(2)
            .map(|c| u16::from_ne_bytes([c[0], c[1]]))
            .collect();
        assert!(codes.iter().all(|&c| c <= 1023));
        let (low, high) = (codes.iter().min().unwrap(), codes.iter().max().unwrap());
        assert!(*low < 200 && *high > 800, "{low} to {high}");
    }

    #[test]
    fn format_and_number_of_frames_are_as_described() {
        let source = TestSource::parse("testsrc:1920x1080:690:420p10").unwrap();
        let format = Format {
            width: 1920,
            height: 1080,
            chroma: Chroma::C420,
            depth: Depth::U10,
            range: ColourRange::Limited,
        };
        assert_eq!((*source.format(), source.frames()), (format, 690));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (text, reason) in [
            ("testsrc:", "needs a size"),
            ("testsrc:640x480", "needs a size"),
            ("testsrc:640:10", "not a size"),
            ("testsrc:0x480:10", "not a size"),
            ("testsrc:65537x1:10", "not a size"),
            ("testsrc:640x480:0", "not a number of frames"),
            ("testsrc:640x480:x", "not a number of frames"),
            ("testsrc:640x480:10:411", "not supported"),
            ("testsrc:65536x65536:10", "too large"),
            ("testsrc:1x1:1:420:1", "needs a size"),
        ] {
            let message = TestSource::parse(text).err().unwrap().to_string();
            assert!(
                message.contains(reason) && message.starts_with("testsrc:"),
                "{message}"
            );
        }
    }
}
