//! Common parts of packing and decoding: the number of blocks in a unit, its structures, and the first error.

use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Shape, Structure, Work};

/// How many blocks of up to `block` bytes a unit has: about a MiB, but several even of large ones.
pub(crate) fn unit_blocks(block: u32) -> usize {
    ((1 << 20) / block.max(1) as usize).clamp(4, 256)
}

/// The structures for packing and unpacking images.
pub static STRUCTURES: [&Structure; 2] = [&SEQUENTIAL, &FARM];

/// About how many operations decoding a byte takes.
pub(crate) const DECODING: f64 = 30.0;

/// The work on `bytes` bytes at `ops` operations a byte.
pub(crate) fn work(bytes: f64, ops: f64) -> Work {
    Work {
        ops: ops * bytes,
        bytes: bytes * 1.5,
        fresh: 0.0,
    }
}

/// The ways of running a unit of blocks of `block` bytes that take this number of operations a byte.
pub(crate) fn shapes(block: u32, ops: f64) -> Vec<Shape> {
    let blocks = unit_blocks(block);
    let work = work(blocks as f64 * f64::from(block), ops);
    let shape = |structure| Shape::new(structure, vec![blocks as u32], 1, work);
    STRUCTURES.map(shape).to_vec()
}
