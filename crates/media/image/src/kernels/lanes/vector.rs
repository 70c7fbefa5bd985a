//! The operations of a register.

/// Arithmetic on registers of [`Lanes::N`] f32 lanes. Lane for lane it gives the bits of the scalar operation.
pub trait Lanes: Copy {
    /// A register.
    type V: Copy;
    /// Lanes of a register.
    const N: usize;

    /// The samples from `at` on.
    ///
    /// # Safety
    /// `N` samples from `at` on are inside one allocation.
    unsafe fn load(self, at: *const f32) -> Self::V;
    /// Writes the samples from `at` on.
    ///
    /// # Safety
    /// `N` samples from `at` on are inside one allocation that may be written.
    unsafe fn store(self, v: Self::V, at: *mut f32);
    /// `v` in the first lane, `v` + 1 in the next and so on.
    fn count(self, v: f32) -> Self::V;
    /// `v` in every lane.
    fn splat(self, v: f32) -> Self::V;
    /// a + b
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b + c, rounded once.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// (a + c) + (b + b)
    fn smooth(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The square root.
    fn sqrt(self, v: Self::V) -> Self::V;
    /// `v` where `a > b`, else 0.
    fn keep_above(self, v: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// Whether `a > b` in any lane.
    fn any_above(self, a: Self::V, b: Self::V) -> bool;
    /// Every lane takes the one before it; the first keeps its own.
    fn before(self, v: Self::V) -> Self::V;
    /// Every lane takes the one after it; the last keeps its own.
    fn after(self, v: Self::V) -> Self::V;
}
