use super::Lanes;

/// One lane, on every processor: what the others are held against.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl Lanes for Scalar {
    type V = f32;
    type I = i32;
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
    unsafe fn store_whole(self, v: i32, at: *mut i32) {
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
    fn floor(self, v: f32) -> (f32, i32) {
        let floor = v.floor();
        let fits = floor >= i32::MIN as f32 && floor < -(i32::MIN as f32);
        (floor, if fits { floor as i32 } else { i32::MIN })
    }
    #[inline(always)]
    fn splat_whole(self, v: i32) -> i32 {
        v
    }
    #[inline(always)]
    fn sub_whole(self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn mul_add_whole(self, a: i32, b: i32, c: i32) -> i32 {
        a.wrapping_mul(b).wrapping_add(c)
    }
    #[inline(always)]
    fn max_unsigned(self, a: i32, b: i32) -> i32 {
        (a as u32).max(b as u32) as i32
    }
    #[inline(always)]
    fn all_at_most(self, v: i32, most: u32) -> bool {
        v as u32 <= most
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
