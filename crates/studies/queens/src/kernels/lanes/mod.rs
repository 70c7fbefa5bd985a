//! Registers of 32-bit lanes, with one board in each lane.
//!
//! A body generic over [`Lanes`] is compiled for each register width. A value of an implementing type is the proof
//! that the processor has the instructions, so that everything but memory is safe to use.

mod avx2;
mod avx512;

pub use avx2::Avx2;
pub use avx512::Avx512;

/// Operations on registers of 32-bit lanes, some of which see a lane as two halves of 16 bits.
pub trait Lanes: Copy {
    /// A register.
    type V: Copy;
    /// Places to shift by, the same in every lane.
    type Shift: Copy;
    /// Lanes of a register.
    const LANES: usize;

    /// The lanes from `at` on.
    ///
    /// # Safety
    /// `LANES` words from `at` on are inside one allocation.
    unsafe fn load(self, at: *const u32) -> Self::V;
    /// Writes the lanes from `at` on.
    ///
    /// # Safety
    /// `LANES` words from `at` on are inside one allocation that may be written.
    unsafe fn store(self, v: Self::V, at: *mut u32);
    /// `v` in every lane.
    fn splat(self, v: u32) -> Self::V;
    /// A number of places, less than 16.
    fn shift(self, places: u8) -> Self::Shift;

    /// a | b
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// a | b | c
    fn or3(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// !a & b
    fn and_not(self, a: Self::V, b: Self::V) -> Self::V;
    /// a + b
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a << by
    fn left(self, a: Self::V, by: Self::Shift) -> Self::V;
    /// a >> by
    fn right(self, a: Self::V, by: Self::Shift) -> Self::V;

    /// Each half << by, and each half >> by.
    fn both_ways(self, a: Self::V, by: Self::Shift) -> [Self::V; 2];
    /// The high half as the low one, under zeros.
    fn high_as_low(self, a: Self::V) -> Self::V;
    /// The low half as the high one, over zeros.
    fn low_as_high(self, a: Self::V) -> Self::V;
    /// The low half of `low`, the high half of `high`.
    fn halves(self, low: Self::V, high: Self::V) -> Self::V;

    /// A bit for each lane whose bits are all 1.
    fn full(self, a: Self::V) -> u32;
    /// A bit for each lane whose high half's bits are all 1.
    fn high_full(self, a: Self::V) -> u32;
    /// The lanes whose bit in `gone` is 0, in order, from the first lane on. The lanes after them are undefined.
    fn keep<const W: usize>(self, gone: u32, words: [Self::V; W]) -> [Self::V; W];
}
