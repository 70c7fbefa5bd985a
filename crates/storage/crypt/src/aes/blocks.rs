//! Registers of AES blocks.

use std::arch::x86_64::__m128i;

use super::ni::Ni;

/// Arithmetic on registers of [`Blocks::N`] blocks of 16 bytes, on each block.
pub(crate) trait Blocks: Copy {
    /// A register.
    type V: Copy;
    /// Blocks of a register.
    const N: usize;

    /// Arithmetic on registers of one block, which every processor with wider ones has.
    fn single(self) -> Ni;

    /// The blocks from `at` on.
    ///
    /// # Safety
    /// `16 * N` bytes from `at` on can be read.
    unsafe fn load(self, at: *const u8) -> Self::V;
    /// Writes the blocks from `at` on.
    ///
    /// # Safety
    /// `16 * N` bytes from `at` on can be written.
    unsafe fn store(self, v: Self::V, at: *mut u8);

    /// a ^ b
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// a ^ b ^ c
    fn xor3(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// A round of AES encryption.
    fn round(self, state: Self::V, key: Self::V) -> Self::V;
    /// The last round of AES encryption.
    fn last_round(self, state: Self::V, key: Self::V) -> Self::V;
    /// The 16 bytes of each block in reverse: from big-endian to a number and back.
    fn reversed(self, v: Self::V) -> Self::V;
    /// Adds `n` to the lower 64 bits of each block taken as a number; no carry leaves them.
    fn add(self, v: Self::V, n: u64) -> Self::V;
    /// The carry-less product of a half of each block of `a` and one of `b`: the upper halves if `HALVES & 1` and
    /// `HALVES & 16`.
    fn product<const HALVES: i32>(self, a: Self::V, b: Self::V) -> Self::V;
    /// The halves of each block exchanged.
    fn swapped(self, v: Self::V) -> Self::V;
    /// The first block in every block.
    fn repeated(self, v: Self::V) -> Self::V;
    /// `v` as the first block, zeros in the others.
    fn widened(self, v: __m128i) -> Self::V;
    /// All blocks, added as polynomials.
    fn sum(self, v: Self::V) -> __m128i;

    /// `first` as a number in the first block, `first + 1` in the next and so on.
    #[inline(always)]
    fn counters(self, first: u128) -> Self::V {
        let mut blocks = [[0u8; 16]; 4];
        for (i, block) in blocks.iter_mut().enumerate() {
            *block = first.wrapping_add(i as u128).to_le_bytes();
        }
        const { assert!(Self::N <= 4) };
        // SAFETY: 64 bytes are there, and no register is wider.
        unsafe { self.load(blocks.as_ptr().cast()) }
    }
}
