//! Vectors of bytes and words, of 128 or 256 bits.
//!
//! A vector of 256 bits is two *lanes* of 128. Operations stay in lanes, as the instructions do, so a kernel for one
//! width is one for the other: what lies in the second lane is other rows, or later columns.

/// A vector.
///
/// # Safety
/// Implementations read and write as many bytes as [`Vector::load`] and its like say.
pub unsafe trait Vector: Copy {
    /// Lanes of 16 bytes.
    const LANES: usize;
    /// Bytes.
    const BYTES: usize = 16 * Self::LANES;

    /// Bytes in a row.
    ///
    /// # Safety
    /// The processor has the instructions, and memory the bytes. So for all functions that make vectors.
    unsafe fn load(at: *const u8) -> Self;
    /// 16 bytes for each lane, at a distance of `step`.
    ///
    /// # Safety
    /// As of `load`.
    unsafe fn load_16(at: *const u8, step: usize) -> Self;
    /// 8 bytes for each half of a lane, at a distance of `step`.
    ///
    /// # Safety
    /// As of `load`.
    unsafe fn load_8(at: *const u8, step: usize) -> Self;
    /// 8 bytes for the lower half of each lane, at a distance of `step`.
    ///
    /// # Safety
    /// As of `load`.
    unsafe fn load_low(at: *const u8, step: usize) -> Self;
    /// The same word everywhere.
    ///
    /// # Safety
    /// As of `load`.
    unsafe fn words(value: i16) -> Self;
    /// The same two bytes in turn.
    ///
    /// # Safety
    /// As of `load`.
    #[inline(always)]
    unsafe fn bytes(even: i8, odd: i8) -> Self {
        // SAFETY: as of this function.
        unsafe { Self::words(i16::from_le_bytes([even as u8, odd as u8])) }
    }

    /// Writes all bytes.
    ///
    /// # Safety
    /// Memory has room. So for all functions that write.
    unsafe fn store(self, at: *mut u8);
    /// Writes each lane, at a distance of `step`.
    ///
    /// # Safety
    /// As of `store`.
    unsafe fn store_16(self, at: *mut u8, step: usize);
    /// Writes each half of a lane, at a distance of `step`.
    ///
    /// # Safety
    /// As of `store`.
    unsafe fn store_8(self, at: *mut u8, step: usize);
    /// Writes the lower 32 bits of the half lanes, in a row.
    ///
    /// # Safety
    /// As of `store`.
    unsafe fn store_sums(self, at: *mut u32);

    fn add_words(self, other: Self) -> Self;
    /// Stays within the range of words.
    fn add_saturating(self, other: Self) -> Self;
    fn sub_words(self, other: Self) -> Self;
    fn max_words(self, other: Self) -> Self;
    fn abs_words(self) -> Self;
    fn add_doublewords(self, other: Self) -> Self;
    /// Sums of products of neighbouring words.
    fn dot_words(self, other: Self) -> Self;
    /// Sums of products of neighbouring bytes; those of `weights` are signed.
    fn dot_bytes(self, weights: Self) -> Self;
    fn average(self, other: Self) -> Self;
    /// Zero where `other` is larger.
    fn sub_bytes(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// Sums of absolute differences of the halves of lanes.
    fn sad(self, other: Self) -> Self;
    /// Sums of absolute differences of the first four bytes of `block` and those that begin at byte 0 to 7 of the lane.
    fn sads_low(self, block: Self) -> Self;
    /// As `sads_low`, of the next four bytes, and those that begin at byte 4 to 11.
    fn sads_high(self, block: Self) -> Self;
    /// Bytes of the lower halves of lanes in turn.
    fn zip_low(self, other: Self) -> Self;
    /// Of the upper halves.
    fn zip_high(self, other: Self) -> Self;
    /// Words of each lane, then those of `other`, as bytes, as near as they can be.
    fn pack(self, other: Self) -> Self;
    /// Words with even numbers of `self`, with odd numbers of `other`.
    fn even_odd(self, other: Self) -> Self;
    /// Words with odd numbers in the place of those before them; others are zero.
    fn odd_to_even(self) -> Self;
    /// Words with even numbers in the place of those behind them; others are zero.
    fn even_to_odd(self) -> Self;
    /// Bytes with odd numbers, as words.
    fn odd_bytes(self) -> Self;
    /// Words by 4, rounded down.
    fn quarter(self) -> Self;
    /// Words by 32, rounded down.
    fn by_32(self) -> Self;
    /// Words by 64, rounded down.
    fn by_64(self) -> Self;
    /// From halves that were unpacked in lanes, the order in memory.
    fn ordered(low: Self, high: Self) -> (Self, Self);
    /// Words in the order of memory, packed.
    fn pack_ordered(self, other: Self) -> Self;
    /// The sum of all doublewords.
    fn sum(self) -> u32;
    /// The sum of lanes, word by word.
    fn sum_lanes(self) -> [u16; 8];
}

/// Defines operations by instructions.
macro_rules! operations {
    ($($vis:vis $name:ident($($other:ident),*) = $intrinsic:path;)*) => {$(
        #[inline(always)]
        $vis fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: a vector exists only where the processor has the instructions.
            Self(unsafe { $intrinsic(self.0 $(, $other.0)*) })
        }
    )*};
}

pub(super) use operations;
