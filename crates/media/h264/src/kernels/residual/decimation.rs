//! Whether the few levels of a block are worth their bits.
//!
//! Levels of ±1 behind long runs of zeros cost more bits than they mend. The reference encoder of the standard (JM)
//! gives each a cost by the zeros before it, and drops the levels of a region whose costs add up to little. A larger
//! level makes its block worth coding.

/// The cost of a block that has a level beyond ±1; a region with it is never dropped.
pub const KEEP: u32 = 9;

/// The cost of a level of ±1 behind that many zeros, in a 4x4 block.
pub const COST_4X4: [u8; 16] = [3, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
