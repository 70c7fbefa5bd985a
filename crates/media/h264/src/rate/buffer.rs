//! The buffer of a decoder: a leaky bucket (annex C).
//!
//! Bits flow in at the highest rate until the buffer is full. Each picture takes its bits out at its time. They must all be
//! there by then.

use crate::config::Vbv;

/// How full it is when the first picture is taken out.
const INITIAL: f64 = 0.9;
/// How full it should be before a P picture, so that there is room for a key picture.
const WANTED: f64 = 0.6;
/// How much of what is there a P picture and a key picture may take at most by expectation, which can be wrong.
const P_MOST: f64 = 0.5;
const KEY_MOST: f64 = 0.6;
/// By how much more than expected the pictures may have whose sizes are not known yet.
const MARGIN: f64 = 1.2;
/// What a P picture may take in any case, as a part of what flows in.
const P_LEAST: f64 = 0.2;
/// The part of what is there that a picture keeps to while it is decided.
const LIMIT: f64 = 0.65;

/// The buffer at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    size: f64,
    /// Bits that flow in each second.
    rate: f64,
    /// What flows in from a picture to the next.
    inflow: f64,
    fullness: f64,
}

impl Buffer {
    /// Before the first picture, where each lasts `duration` seconds.
    pub fn new(vbv: Vbv, duration: f64) -> Buffer {
        let size = vbv.bufsize as f64;
        Buffer {
            size,
            rate: vbv.maxrate as f64,
            inflow: vbv.maxrate as f64 * duration,
            fullness: INITIAL * size,
        }
    }

    /// Takes a picture out. Whether all its bits were there.
    pub fn take(&mut self, bits: f64) -> bool {
        let whole = bits <= self.fullness;
        let left = (self.fullness - bits).max(0.0);
        self.fullness = (left + self.inflow).min(self.size);
        whole
    }

    /// Takes out a picture whose size is expected.
    pub fn expect(&mut self, bits: f64) {
        self.take(MARGIN * bits);
    }

    /// Bits that the next picture should have at most.
    pub fn most(&self, key: bool) -> f64 {
        if key {
            return KEY_MOST * self.fullness;
        }
        // What is too much or too little is made up for in a quarter of the time that the buffer takes to fill.
        let pictures = (self.size / self.inflow / 4.0).max(3.0);
        let steady = self.inflow + (self.fullness - WANTED * self.size) / pictures;
        steady
            .max(P_LEAST * self.inflow)
            .min(P_MOST * self.fullness)
            .max(1.0)
    }

    /// How long what is there takes to flow in, and what the rest of the buffer takes beyond that, in 1/90,000 s.
    pub fn delays(&self) -> (u32, u32) {
        let ticks = |bits: f64| (90_000.0 * bits / self.rate).floor() as u32;
        let (there, whole) = (ticks(self.fullness).max(1), ticks(self.size));
        (there, whole.saturating_sub(there))
    }

    /// Bits that the next picture must not exceed, by an estimate while it is decided.
    pub fn limit(&self) -> f64 {
        LIMIT * self.fullness
    }
}
