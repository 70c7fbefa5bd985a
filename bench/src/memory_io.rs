//! A source and a sink that cost nothing: frames that lie in memory.

use std::convert::Infallible;

use evener_image::exec::service::FilterService;
use evener_image::{Depth, Frame};
use evener_runtime::stream::{Sink, Source};
use sha2::{Digest, Sha256};

/// The same frame again and again.
pub struct Repeat {
    left: u64,
    total: u64,
    rewrite: bool,
}

/// The first sample of a frame that has been filled; no other frame begins with it.
const MARK: f32 = 0.734_375;

impl Repeat {
    /// A source of `frames` frames. With `rewrite` a thread of its own writes every frame anew, as one that reads
    /// from a camera would; without, buffers keep what they have.
    pub fn new(frames: u64, rewrite: bool) -> Self {
        Repeat {
            left: frames,
            total: frames,
            rewrite,
        }
    }

    /// Fills a frame of f32 planes with smooth shapes, edges and noise, the same for every frame of a size.
    ///
    /// # Panics
    /// If the frame is not of f32 planes.
    pub fn fill(frame: &mut Frame) {
        assert_eq!(frame.format().depth, Depth::F32);
        for p in 0..frame.format().planes() {
            let width = frame.format().plane_size(p).w as usize;
            let mut noise = 0x2545_f491u32;
            let samples = frame.plane_bytes_mut(p).chunks_exact_mut(4);
            for (i, sample) in samples.enumerate() {
                let (x, y) = ((i % width) as f32, (i / width) as f32);
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let wave = 0.25 * (x * 0.021).sin() + 0.2 * (y * 0.033 + x * 0.004).cos();
                let check = if (i % width / 64 + i / width / 48).is_multiple_of(3) {
                    0.2
                } else {
                    0.0
                };
                let grain = (noise >> 8) as f32 / (1 << 24) as f32 * 0.1;
                let v = (0.45 + wave + check + grain).clamp(0.0, 1.0);
                sample.copy_from_slice(&v.to_ne_bytes());
            }
        }
        frame.plane_bytes_mut(0)[..4].copy_from_slice(&MARK.to_ne_bytes());
    }
}

impl Source<FilterService> for Repeat {
    type Error = Infallible;

    fn read(&mut self, frame: &mut Frame) -> Result<bool, Infallible> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let first = frame.plane_bytes_mut(0).first_chunk::<4>().copied();
        if first != Some(MARK.to_ne_bytes()) {
            Repeat::fill(frame);
        } else if self.rewrite {
            // Every line is written, so that this thread's core owns it.
            for p in 0..frame.format().planes() {
                frame
                    .plane_bytes_mut(p)
                    .iter_mut()
                    .for_each(|b| *b = std::hint::black_box(*b));
            }
        }
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.total)
    }

    fn inline(&self) -> bool {
        !self.rewrite
    }
}

/// Takes frames and looks at some: the hash of the first, and whether later ones are the same.
#[derive(Default)]
pub struct Verify {
    seen: u64,
    first: Option<[u8; 32]>,
    differs: Option<u64>,
}

impl Verify {
    /// Sees the next frame; every frame whose number is a power of two is hashed.
    pub fn see(&mut self, frame: &Frame) {
        self.seen += 1;
        if !self.seen.is_power_of_two() {
            return;
        }
        let mut hash = Sha256::new();
        (0..frame.format().planes()).for_each(|p| hash.update(&*frame.plane_bytes(p)));
        let hash = hash.finalize().into();
        if *self.first.get_or_insert(hash) != hash {
            self.differs.get_or_insert(self.seen);
        }
    }

    /// The number of the first frame found to differ, counted from 1.
    pub fn differs(&self) -> Option<u64> {
        self.differs
    }

    /// In hexadecimal digits.
    pub fn sha256(&self) -> String {
        self.first
            .unwrap_or_default()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    }
}

impl Sink<FilterService> for &mut Verify {
    type Error = Infallible;

    fn write(&mut self, frame: &Frame) -> Result<(), Infallible> {
        self.see(frame);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}
