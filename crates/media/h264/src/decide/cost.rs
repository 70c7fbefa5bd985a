//! What decisions cost, in units of the distortion they are weighed against.

use std::sync::LazyLock;

use crate::macroblock::Mv;

/// How much distortion, as sums of absolute transformed differences, a bit is worth: 2 to the power of (QP - 12) / 6.
static LAMBDA: LazyLock<[u32; 52]> = LazyLock::new(|| {
    std::array::from_fn(|qp| {
        let exact = 2f64.powf((qp as f64 - 12.0) / 6.0);
        (exact.round() as u32).max(1)
    })
});

/// The price of a bit at a quantisation parameter.
#[inline]
pub fn lambda(qp: u8) -> u32 {
    LAMBDA[usize::from(qp)]
}

/// Bits of an unsigned Exp-Golomb code.
#[inline]
pub fn ue(value: u32) -> u32 {
    2 * (value + 1).ilog2() + 1
}

/// Bits of a signed Exp-Golomb code.
#[inline]
pub fn se(value: i32) -> u32 {
    // The number of the code is 2v - 1 or -2v, and its length that of the number plus one.
    let number = 2 * value.unsigned_abs() + u32::from(value <= 0);
    2 * number.max(1).ilog2() + 1
}

/// Bits of a vector less its prediction.
#[inline]
pub fn vector(mv: Mv, prediction: Mv) -> u32 {
    se(i32::from(mv.x) - i32::from(prediction.x)) + se(i32::from(mv.y) - i32::from(prediction.y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_as_long_as_table_9_2_says() {
        let lengths = [1, 3, 3, 5, 5, 5, 5, 7];
        for (value, length) in lengths.into_iter().enumerate() {
            assert_eq!(ue(value as u32), length);
        }
        for (value, length) in [
            (0, 1),
            (1, 3),
            (-1, 3),
            (2, 5),
            (-2, 5),
            (3, 5),
            (-3, 5),
            (4, 7),
            (-4, 7),
            (8, 9),
        ] {
            assert_eq!(se(value), length, "{value}");
        }
    }
}
