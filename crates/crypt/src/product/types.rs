//! Blocks and keys.

/// 64 bits: what every pass takes and gives.
pub type Block = [u8; 8];

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;

/// Which way blocks go through passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From plain to encrypted blocks.
    Encrypt,
    /// Back.
    Decrypt,
}
