//! Logarithms and powers of two that come out the same on every machine.
//!
//! They consist of additions, multiplications and divisions, which IEEE 754 defines to the last bit. Those of a
//! system's library differ in the last bits from system to system, and so would streams.

/// The logarithm to base 2 of a positive, finite, normal number, within 1e-8.
pub fn log2(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0, "{x}");
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // ln m = 2 artanh((m - 1) / (m + 1)); with m divided by the root of 2, the argument is at most 0.172.
    let m = mantissa / std::f64::consts::SQRT_2;
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    let series = 1.0 + t * (1.0 / 3.0 + t * (1.0 / 5.0 + t * (1.0 / 7.0 + t / 9.0)));
    f64::from(exponent) + 0.5 + 2.0 * std::f64::consts::LOG2_E * s * series
}

/// 2 to the power of `x`, which is between -1000 and 1000, within one part in 10^8.
pub fn exp2(x: f64) -> f64 {
    debug_assert!(x.abs() <= 1000.0, "{x}");
    let whole = x.floor();
    // The Taylor series around the middle of the interval.
    let y = (x - whole - 0.5) * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for n in (1..=9).rev() {
        sum = 1.0 + y / f64::from(n) * sum;
    }
    let power = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    std::f64::consts::SQRT_2 * sum * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_logarithms_and_powers() {
        for i in 1..20_000 {
            let x = f64::from(i) * 0.37;
            assert!((log2(x) - x.log2()).abs() < 1e-8, "log2 {x}");
            let x = f64::from(i - 10_000) * 0.0137;
            assert!((exp2(x) / x.exp2() - 1.0).abs() < 1e-8, "exp2 {x}");
        }
        assert_eq!(exp2(0.0) - 1.0, exp2(10.0) / 1024.0 - 1.0);
    }
}
