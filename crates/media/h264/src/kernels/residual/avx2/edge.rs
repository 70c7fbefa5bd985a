//! What deblocking makes of 16 places of an edge, in numbers of 16 bits.

use std::arch::x86_64::*;

/// p0 and q0, p1 and q1, and so on as far as `N`.
pub type Across<const N: usize> = [(__m256i, __m256i); N];

/// Thresholds in all lanes.
#[derive(Clone, Copy)]
pub struct Thresholds {
    alpha: __m256i,
    beta: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn thresholds(alpha: u8, beta: u8) -> Thresholds {
    Thresholds {
        alpha: _mm256_set1_epi16(alpha.into()),
        beta: _mm256_set1_epi16(beta.into()),
    }
}

/// `tC0` of each quarter in its four lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn spread(tc0: &[i8; 4]) -> __m256i {
    let [a, b, c, d] = *tc0;
    let four = _mm_cvtsi32_si128(i32::from_le_bytes([a as u8, b as u8, c as u8, d as u8]));
    let each = _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    _mm256_cvtepi8_epi16(_mm_shuffle_epi8(four, each))
}

/// Whether two numbers differ by less than a limit.
#[inline]
#[target_feature(enable = "avx2")]
fn close(a: __m256i, b: __m256i, limit: __m256i) -> __m256i {
    _mm256_cmpgt_epi16(limit, _mm256_abs_epi16(_mm256_sub_epi16(a, b)))
}

/// Where the samples look like an artefact.
#[inline]
#[target_feature(enable = "avx2")]
fn artefacts((p0, q0): (__m256i, __m256i), (p1, q1): (__m256i, __m256i), t: Thresholds) -> __m256i {
    let within = _mm256_and_si256(close(p1, p0, t.beta), close(q1, q0, t.beta));
    _mm256_and_si256(close(p0, q0, t.alpha), within)
}

#[inline]
#[target_feature(enable = "avx2")]
fn clamp(v: __m256i, limit: __m256i) -> __m256i {
    let least = _mm256_sub_epi16(_mm256_setzero_si256(), limit);
    _mm256_max_epi16(_mm256_min_epi16(v, limit), least)
}

/// p0 and q0 moved towards each other by at most `tc`, within 0 to 255.
#[inline]
#[target_feature(enable = "avx2")]
fn moved(
    (p0, q0): (__m256i, __m256i),
    (p1, q1): (__m256i, __m256i),
    tc: __m256i,
) -> (__m256i, __m256i) {
    let step = _mm256_slli_epi16::<2>(_mm256_sub_epi16(q0, p0));
    let slope = _mm256_add_epi16(_mm256_sub_epi16(p1, q1), _mm256_set1_epi16(4));
    let delta = clamp(_mm256_srai_epi16::<3>(_mm256_add_epi16(step, slope)), tc);
    let limited = |v: __m256i| {
        let positive = _mm256_max_epi16(v, _mm256_setzero_si256());
        _mm256_min_epi16(positive, _mm256_set1_epi16(255))
    };
    (
        limited(_mm256_add_epi16(p0, delta)),
        limited(_mm256_sub_epi16(q0, delta)),
    )
}

/// Luma with boundary strengths 1 to 3: p0, q0, p1, q1 after, `None` where nothing changes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn luma([s0, s1, s2]: Across<3>, t: Thresholds, tc0: __m256i) -> Option<Across<2>> {
    let on = _mm256_cmpgt_epi16(tc0, _mm256_set1_epi16(-1));
    let on = _mm256_and_si256(on, artefacts(s0, s1, t));
    if _mm256_testz_si256(on, on) != 0 {
        return None;
    }
    let tc0 = _mm256_and_si256(tc0, on);
    let smooth_p = _mm256_and_si256(close(s2.0, s0.0, t.beta), on);
    let smooth_q = _mm256_and_si256(close(s2.1, s0.1, t.beta), on);
    // What is smooth is -1.
    let tc = _mm256_sub_epi16(_mm256_sub_epi16(tc0, smooth_p), smooth_q);
    let mean = _mm256_avg_epu16(s0.0, s0.1);
    let second = |first: __m256i, third: __m256i, smooth: __m256i| {
        let twice = _mm256_add_epi16(first, first);
        let change = _mm256_sub_epi16(_mm256_add_epi16(third, mean), twice);
        let change = clamp(_mm256_srai_epi16::<1>(change), tc0);
        _mm256_add_epi16(first, _mm256_and_si256(change, smooth))
    };
    Some([
        moved(s0, s1, tc),
        (second(s1.0, s2.0, smooth_p), second(s1.1, s2.1, smooth_q)),
    ])
}

/// Chroma with boundary strengths 1 to 3: p0, q0 after, `None` where nothing changes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn chroma([s0, s1]: Across<2>, t: Thresholds, tc0: __m256i) -> Option<Across<1>> {
    let on = _mm256_cmpgt_epi16(tc0, _mm256_set1_epi16(-1));
    let on = _mm256_and_si256(on, artefacts(s0, s1, t));
    if _mm256_testz_si256(on, on) != 0 {
        return None;
    }
    let tc = _mm256_and_si256(_mm256_add_epi16(tc0, _mm256_set1_epi16(1)), on);
    Some([moved(s0, s1, tc)])
}

/// (2a + b + c + 2) / 4.
#[inline]
#[target_feature(enable = "avx2")]
fn weak(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    let sum = _mm256_add_epi16(_mm256_add_epi16(a, a), _mm256_add_epi16(b, c));
    _mm256_srai_epi16::<2>(_mm256_add_epi16(sum, _mm256_set1_epi16(2)))
}

/// Luma with boundary strength 4: p0, q0 to p2, q2 after, `None` where nothing changes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn luma_strong(s: Across<4>, t: Thresholds) -> Option<Across<3>> {
    let [(p0, q0), (p1, q1), (p2, q2), (p3, q3)] = s;
    let on = artefacts(s[0], s[1], t);
    if _mm256_testz_si256(on, on) != 0 {
        return None;
    }
    let limit = _mm256_add_epi16(_mm256_srli_epi16::<2>(t.alpha), _mm256_set1_epi16(2));
    let near = _mm256_and_si256(close(p0, q0, limit), on);
    let sum = |a: __m256i, b: __m256i| _mm256_add_epi16(a, b);
    let four = _mm256_set1_epi16(4);
    // Of the side `a`, beside `b`.
    let side = |a: [__m256i; 4], b0: __m256i, b1: __m256i| {
        let smooth = _mm256_and_si256(close(a[2], a[0], t.beta), near);
        let inner = sum(sum(a[1], a[0]), b0);
        let with_third = sum(inner, a[2]);
        let first = sum(sum(sum(with_third, inner), b1), four);
        let second = sum(with_third, _mm256_set1_epi16(2));
        let third = sum(sum(a[3], a[2]), sum(a[3], a[2]));
        let third = sum(sum(third, with_third), four);
        let chosen =
            _mm256_blendv_epi8(weak(a[1], a[0], b1), _mm256_srai_epi16::<3>(first), smooth);
        (
            _mm256_blendv_epi8(a[0], chosen, on),
            _mm256_blendv_epi8(a[1], _mm256_srai_epi16::<2>(second), smooth),
            _mm256_blendv_epi8(a[2], _mm256_srai_epi16::<3>(third), smooth),
        )
    };
    let (new_p0, new_p1, new_p2) = side([p0, p1, p2, p3], q0, q1);
    let (new_q0, new_q1, new_q2) = side([q0, q1, q2, q3], p0, p1);
    Some([(new_p0, new_q0), (new_p1, new_q1), (new_p2, new_q2)])
}

/// Chroma with boundary strength 4: p0, q0 after, `None` where nothing changes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn chroma_strong([s0, s1]: Across<2>, t: Thresholds) -> Option<Across<1>> {
    let on = artefacts(s0, s1, t);
    if _mm256_testz_si256(on, on) != 0 {
        return None;
    }
    let ((p0, q0), (p1, q1)) = (s0, s1);
    Some([(
        _mm256_blendv_epi8(p0, weak(p1, p0, q1), on),
        _mm256_blendv_epi8(q0, weak(q1, q0, p1), on),
    )])
}
