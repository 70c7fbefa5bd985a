use super::vector::Lanes;

/// One lane, on every processor. The other widths are compared with it.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl Lanes for Scalar {
    type V = f32;
    const N: usize = 1;

    #[inline(always)]
    unsafe fn load(self, at: *const f32) -> f32 {
        // SAFETY: the caller's promise.
        unsafe { *at }
    }
    #[inline(always)]
    unsafe fn store(self, v: f32, at: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { *at = v }
    }
    #[inline(always)]
    fn count(self, v: f32) -> f32 {
        v
    }
    #[inline(always)]
    fn splat(self, v: f32) -> f32 {
        v
    }
    #[inline(always)]
    fn add(self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn sub(self, a: f32, b: f32) -> f32 {
        a - b
    }
    #[inline(always)]
    fn mul(self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn mul_add(self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn smooth(self, a: f32, b: f32, c: f32) -> f32 {
        (a + c) + (b + b)
    }
    #[inline(always)]
    fn sqrt(self, v: f32) -> f32 {
        v.sqrt()
    }
    #[inline(always)]
    fn keep_above(self, v: f32, a: f32, b: f32) -> f32 {
        if a > b { v } else { 0.0 }
    }
    #[inline(always)]
    fn any_above(self, a: f32, b: f32) -> bool {
        a > b
    }
    #[inline(always)]
    fn before(self, v: f32) -> f32 {
        v
    }
    #[inline(always)]
    fn after(self, v: f32) -> f32 {
        v
    }
}
