//! What packing and decoding have in common: how many blocks a unit has, how it is run, and why one failed.

use std::sync::{Arc, Mutex, PoisonError};

use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Shape, Structure, Work};

use crate::error::Error;

/// Blocks of up to `block` bytes in a unit: about a MiB, and some even of large ones.
pub(crate) fn unit_blocks(block: u32) -> usize {
    ((1 << 20) / block.max(1) as usize).clamp(4, 256)
}

/// The structures that images are packed and unpacked in.
pub static STRUCTURES: [&Structure; 2] = [&SEQUENTIAL, &FARM];

/// Operations on an element that decoding a byte takes, about.
pub(crate) const DECODING: f64 = 30.0;

/// The work on so many bytes that take so many operations each.
pub(crate) fn work(bytes: f64, ops: f64) -> Work {
    Work {
        ops: ops * bytes,
        bytes: bytes * 1.5,
        fresh: 0.0,
    }
}

/// The ways of running a unit of blocks of `block` bytes that take so many operations a byte.
pub(crate) fn shapes(block: u32, ops: f64) -> Vec<Shape> {
    let blocks = unit_blocks(block);
    let work = work(blocks as f64 * f64::from(block), ops);
    let shape = |structure, items| Shape::new(structure, vec![items], 1, work);
    [&SEQUENTIAL, &FARM]
        .map(|s| shape(s, blocks as u32))
        .to_vec()
}

/// Why the first block that failed did so, for whoever ran the stream: the stream itself knows only text.
#[derive(Clone, Default)]
pub(crate) struct Trouble(Arc<Mutex<Option<(u64, Error)>>>);

impl Trouble {
    /// Keeps why the block at `at` failed, unless one before it did, and says it.
    pub(crate) fn tell(&self, at: u64, error: Error) -> String {
        let text = error.to_string();
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(before, _)| at < *before) {
            *first = Some((at, error));
        }
        text
    }

    /// What is kept.
    pub(crate) fn take(&self) -> Option<Error> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map(|(_, error)| error)
    }
}
