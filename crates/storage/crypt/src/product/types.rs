//! Blocks and keys.

/// A block of 64 bits.
pub type Block = [u8; 8];

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;

/// The direction of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From plain to encrypted blocks.
    Encrypt,
    /// From encrypted to plain blocks.
    Decrypt,
}
