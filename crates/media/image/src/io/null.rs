//! `null:`: frames are dropped, for timing everything but the output.

use crate::frame::Frame;

/// Counts frames and drops them.
#[derive(Debug, Default)]
pub struct Null {
    frames: u64,
}

impl Null {
    /// An output without frames so far.
    pub fn new() -> Self {
        Null::default()
    }

    /// Drops a frame.
    pub fn write(&mut self, _frame: &Frame) {
        self.frames += 1;
    }

    /// Frames dropped.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}
