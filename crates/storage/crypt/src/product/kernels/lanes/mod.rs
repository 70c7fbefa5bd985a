//! Arithmetic on registers of integers.
//!
//! A body generic over [`Lanes`] is compiled for each register width. A value of an implementing type proves that the
//! processor has the instructions, so that arithmetic is safe to call.

mod avx2;
mod avx512;

pub use avx2::Avx2;
pub use avx512::Avx512;

/// Arithmetic on registers seen as lanes of 8, 16 or 32 bits, all modulo the size of a lane.
///
/// Packing and unpacking work within each 128 bits, as on x86. Which block is in which lane does not matter, since
/// packing undoes unpacking.
pub trait Lanes: Copy {
    /// A register.
    type V: Copy;
    /// Bytes of a register.
    const BYTES: usize;

    /// The bytes from `at` on.
    ///
    /// # Safety
    /// `BYTES` bytes from `at` on are inside one allocation.
    unsafe fn load(self, at: *const u8) -> Self::V;
    /// Writes the bytes from `at` on.
    ///
    /// # Safety
    /// `BYTES` bytes from `at` on are inside one allocation that may be written.
    unsafe fn store(self, v: Self::V, at: *mut u8);
    /// `v` in every 32 bits.
    fn splat(self, v: u32) -> Self::V;
    /// a ^ b
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// a ^ b ^ c
    fn xor3(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a + b in 16 bits.
    fn add16(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b in 16 bits.
    fn sub16(self, a: Self::V, b: Self::V) -> Self::V;
    /// a · k modulo 2¹⁶ + 1, a 0 in `a` standing for 2¹⁶. No lane of `k` is 0.
    fn mul16(self, a: Self::V, k: Self::V) -> Self::V;
    /// a + b in 32 bits.
    fn add32(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b in 32 bits.
    fn sub32(self, a: Self::V, b: Self::V) -> Self::V;
    /// Raiden's (a << 9) ^ b ^ (a >> 14) in 32 bits.
    fn shifted(self, a: Self::V, b: Self::V) -> Self::V;
    /// Skipjack's F of every byte of `x`, exclusive or'd into `to`, for registers that do not depend on each other.
    fn substitute<const U: usize>(self, x: [Self::V; U], to: [Self::V; U]) -> [Self::V; U];

    /// In each 128 bits: bytes 0, 8, 1, 9 and so on to 7, 15.
    fn pair_bytes(self, v: Self::V) -> Self::V;
    /// Undoes [`Lanes::pair_bytes`].
    fn part_bytes(self, v: Self::V) -> Self::V;
    /// Bytes of the lower halves, and of the upper halves, one of `a`, one of `b` and so on.
    fn unpack8(self, a: Self::V, b: Self::V) -> [Self::V; 2];
    /// The same of 16 bits.
    fn unpack16(self, a: Self::V, b: Self::V) -> [Self::V; 2];
    /// Undoes [`Lanes::unpack8`]: even bytes of both, odd bytes of both.
    fn pack8(self, v: [Self::V; 2]) -> [Self::V; 2];
    /// Undoes [`Lanes::unpack16`].
    fn pack16(self, v: [Self::V; 2]) -> [Self::V; 2];
}
