//! A source and a sink of frames in memory.

use std::convert::Infallible;

use evener_image::Frame;
use evener_image::exec::service::FilterService;
use evener_runtime::stream::{Sink, Source};
use sha2::{Digest, Sha256};

use crate::picture::Picture;

/// The same frame again and again.
pub struct Repeat {
    left: u64,
    total: u64,
    rewrite: bool,
    picture: Picture,
}

impl Repeat {
    /// A source of `frames` frames. With `rewrite` a thread of its own writes every frame again, like one that reads from a
    /// camera. Without it, buffers keep their samples.
    pub fn new(frames: u64, rewrite: bool, picture: Picture) -> Self {
        Repeat {
            left: frames,
            total: frames,
            rewrite,
            picture,
        }
    }
}

impl Source<FilterService> for Repeat {
    type Error = Infallible;

    fn read(&mut self, frame: &mut Frame) -> Result<bool, Infallible> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        if !Picture::is_in(frame) {
            self.picture.fill(frame);
        } else if self.rewrite {
            // Writing a cache line makes this thread's core its owner.
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

/// Compares hashes of some frames with that of the first.
#[derive(Default)]
pub struct Verify {
    seen: u64,
    first: Option<[u8; 32]>,
    differs: Option<u64>,
}

impl Verify {
    /// Takes the next frame. Frames whose number is a power of two are hashed.
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

    /// The hash of the first frame, in hexadecimal digits.
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
