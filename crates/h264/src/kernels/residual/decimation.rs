//! Whether the few levels of a block are worth their bits.
//!
//! Levels of ±1 behind long runs of zeros cost more bits than they mend. The reference encoder of the standard (JM)
//! gives each a cost by the zeros before it, and drops the levels of a region whose costs add up to little. A larger
//! level makes its block worth coding.

/// The cost of a block that has a level beyond ±1; a region with it is never dropped.
pub const KEEP: u32 = 9;
/// Levels of a quarter of luma are dropped where the costs of its blocks add up to at most this.
pub const DROP_QUARTER: u32 = 4;
/// Levels of all luma are dropped where the costs of its quarters add up to at most this.
pub const DROP_LUMA: u32 = 5;
/// AC levels of a component of chroma are dropped where the costs of its blocks add up to at most this.
pub const DROP_CHROMA: u32 = 3;

/// The cost of a level of ±1 behind that many zeros, in a 4x4 block.
pub const COST_4X4: [u8; 16] = [3, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The cost of a level of ±1 behind that many zeros, in an 8x8 block.
pub const COST_8X8: [u8; 64] = {
    let mut costs = [0; 64];
    let mut run = 0;
    while run < 24 {
        costs[run] = match run {
            0..4 => 3,
            4..12 => 2,
            _ => 1,
        };
        run += 1;
    }
    costs
};
