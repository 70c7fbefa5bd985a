//! Intra prediction of 4x4 and 8x8 luma.
//!
//! A mode works on a line of neighbours, of which every predicted sample is one filtered by two or three taps. Both
//! filters run over the whole line; then shuffles pick. Of 4x4 they pick all 16 samples, of 8x8 a sequence for even
//! rows and one for odd rows, in which each row begins somewhere else.

use std::arch::x86_64::*;

use super::super::bounds::check;
use super::super::neighbours::intra_4x4::*;
use super::super::neighbours::{Neighbours4x4, Neighbours8x8};
use super::super::scalar::intra::{above, beside};
use super::memory::{load_32, load_part, store_8, store_32, write_4};

/// A filtered sample of a line.
#[derive(Clone, Copy)]
enum Tap {
    /// The mean of samples `i` and `i + 1`.
    Two(usize),
    /// Of samples `i` to `i + 2`, weighted 1, 2, 1.
    Three(usize),
}

/// What directional `mode` predicts at column `x` of row `y` of `n` by `n` samples.
///
/// The line of `DIAGONAL_DOWN_LEFT` and `VERTICAL_LEFT` is the row above; of `HORIZONTAL_UP` the left column downwards;
/// of the others the left column upwards, the corner, then the row above. Each repeats its end.
const fn tap(mode: u8, n: usize, x: usize, y: usize) -> Tap {
    match mode {
        DIAGONAL_DOWN_LEFT => Tap::Three(x + y),
        DIAGONAL_DOWN_RIGHT => Tap::Three(n - 1 + x - y),
        VERTICAL_RIGHT if 2 * x + 1 < y => Tap::Three(n + 2 * x - y),
        VERTICAL_RIGHT if y.is_multiple_of(2) => Tap::Two(n + x - y / 2),
        VERTICAL_RIGHT => Tap::Three(n - 1 + x - y / 2),
        HORIZONTAL_DOWN if 2 * y + 1 < x => Tap::Three(n - 2 + x - 2 * y),
        HORIZONTAL_DOWN if x.is_multiple_of(2) => Tap::Two(n - 1 + x / 2 - y),
        HORIZONTAL_DOWN => Tap::Three(n - 1 + x / 2 - y),
        VERTICAL_LEFT if y.is_multiple_of(2) => Tap::Two(x + y / 2),
        VERTICAL_LEFT => Tap::Three(x + y / 2),
        _ if x.is_multiple_of(2) => Tap::Two(y + x / 2),
        _ => Tap::Three(y + x / 2),
    }
}

/// Shuffles that pick from samples filtered by two taps, and by three.
#[derive(Clone, Copy)]
struct Picks<const N: usize> {
    two: [i8; N],
    three: [i8; N],
}

impl<const N: usize> Picks<N> {
    const NONE: Picks<N> = Picks {
        two: [-1; N],
        three: [-1; N],
    };

    const fn set(&mut self, at: usize, tap: Tap) {
        match tap {
            Tap::Two(i) => self.two[at] = i as i8,
            Tap::Three(i) => self.three[at] = i as i8,
        }
    }
}

/// Of 4x4, by mode.
static PICKS_4X4: [Picks<16>; 9] = {
    let mut picks = [Picks::NONE; 9];
    let mut mode = DIAGONAL_DOWN_LEFT;
    while mode <= HORIZONTAL_UP {
        let mut i = 0;
        while i < 16 {
            picks[mode as usize].set(i, tap(mode, 4, i % 4, i / 4));
            i += 1;
        }
        mode += 1;
    }
    picks
};

/// Where in its sequence row `y` of 8x8 begins.
const fn start(mode: u8, y: usize) -> usize {
    match mode {
        DIAGONAL_DOWN_LEFT => y,
        DIAGONAL_DOWN_RIGHT => 7 - y,
        VERTICAL_RIGHT => 3 - y / 2,
        HORIZONTAL_DOWN => 14 - 2 * y,
        VERTICAL_LEFT => y / 2,
        _ => 2 * y,
    }
}

/// Of 8x8, by mode: the sequences of even and odd rows.
static PICKS_8X8: [[Picks<32>; 2]; 9] = {
    let mut picks = [[Picks::NONE; 2]; 9];
    let mut mode = DIAGONAL_DOWN_LEFT;
    while mode <= HORIZONTAL_UP {
        let mut i = 0;
        while i < 64 {
            let (x, y) = (i % 8, i / 8);
            picks[mode as usize][y % 2].set(start(mode, y) + x, tap(mode, 8, x, y));
            i += 1;
        }
        mode += 1;
    }
    picks
};

/// A line filtered by two taps and by three: from each sample on, with what follows in `next` and `after`.
#[inline]
#[target_feature(enable = "avx2")]
fn filtered(line: __m128i, next: __m128i, after: __m128i) -> (__m128i, __m128i) {
    // The mean of the outer two, rounded down.
    let odd = _mm_and_si128(_mm_xor_si128(line, after), _mm_set1_epi8(1));
    let outer = _mm_sub_epi8(_mm_avg_epu8(line, after), odd);
    (_mm_avg_epu8(line, next), _mm_avg_epu8(outer, next))
}

/// As [`filtered`], of a line in 16 bytes that goes on in `rest`.
#[inline]
#[target_feature(enable = "avx2")]
fn filtered_on(line: __m128i, rest: __m128i) -> (__m128i, __m128i) {
    let next = _mm_alignr_epi8::<1>(rest, line);
    filtered(line, next, _mm_alignr_epi8::<2>(rest, line))
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(sample: u8) -> __m128i {
    _mm_set1_epi8(sample as i8)
}

#[inline]
#[target_feature(enable = "avx2")]
fn predicted_4x4(mode: u8, neighbours: &Neighbours4x4) -> __m128i {
    let Neighbours4x4 { top, left, corner } = neighbours;
    let row = |top: &[u8; 8]| i64::from_le_bytes(*top);
    let column = |left: &[u8; 4]| i32::from_le_bytes(*left);
    match mode {
        VERTICAL => _mm_set1_epi32(row(above(top.as_ref())) as i32),
        HORIZONTAL => {
            let each = _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
            _mm_shuffle_epi8(_mm_cvtsi32_si128(column(beside(left.as_ref()))), each)
        }
        DC => {
            let sum = |four: i32| {
                let sums = _mm_sad_epu8(_mm_cvtsi32_si128(four), _mm_setzero_si128());
                _mm_cvtsi128_si32(sums)
            };
            let mean = match (top, left) {
                (Some(top), Some(left)) => (sum(row(top) as i32) + sum(column(left)) + 4) >> 3,
                (Some(top), None) => (sum(row(top) as i32) + 2) >> 2,
                (None, Some(left)) => (sum(column(left)) + 2) >> 2,
                (None, None) => 128,
            };
            all(mean as u8)
        }
        _ => {
            let (line, end) = match mode {
                DIAGONAL_DOWN_LEFT | VERTICAL_LEFT => {
                    let top = above(top.as_ref());
                    (_mm_cvtsi64_si128(row(top)), top[7])
                }
                HORIZONTAL_UP => {
                    let left = beside(left.as_ref());
                    let end = all(left[3]);
                    let line = _mm_cvtsi32_si128(column(left));
                    (_mm_unpacklo_epi32(line, end), left[3])
                }
                DIAGONAL_DOWN_RIGHT..=HORIZONTAL_DOWN => {
                    let (top, left) = (above(top.as_ref()), beside(left.as_ref()));
                    let before = i64::from(column(left).swap_bytes() as u32);
                    let low = before | i64::from(*corner) << 32 | row(top) << 40;
                    (_mm_set_epi64x(row(top) >> 24, low), top[7])
                }
                _ => panic!("intra mode {mode} of 4x4 samples"),
            };
            let line = match mode {
                DIAGONAL_DOWN_RIGHT..=HORIZONTAL_DOWN => line,
                _ => _mm_unpacklo_epi64(line, all(end)),
            };
            let (two, three) = filtered_on(line, all(end));
            let picks = &PICKS_4X4[usize::from(mode)];
            _mm_or_si128(
                _mm_shuffle_epi8(two, load_part(&picks.two, 0)),
                _mm_shuffle_epi8(three, load_part(&picks.three, 0)),
            )
        }
    }
}

pub fn intra_4x4(mode: u8, neighbours: &Neighbours4x4, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(mode: u8, neighbours: &Neighbours4x4, dst: &mut [u8], stride: usize) {
        let rows = predicted_4x4(mode, neighbours);
        // SAFETY: the caller checked 4 rows of 4 bytes.
        unsafe {
            write_4(dst, 0, _mm_cvtsi128_si32(rows));
            write_4(dst, stride, _mm_extract_epi32::<1>(rows));
            write_4(dst, 2 * stride, _mm_extract_epi32::<2>(rows));
            write_4(dst, 3 * stride, _mm_extract_epi32::<3>(rows));
        }
    }
    check(dst, stride, 4, 4);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(mode, neighbours, dst, stride) }
}

/// The two sequences of a directional mode of 8x8.
#[inline]
#[target_feature(enable = "avx2")]
fn sequences(mode: u8, neighbours: &Neighbours8x8) -> [[u8; 32]; 2] {
    let Neighbours8x8 { top, left, corner } = neighbours;
    let (line, rest) = match mode {
        DIAGONAL_DOWN_LEFT | VERTICAL_LEFT => {
            let top = above(top.as_ref());
            (load_part(top, 0), all(top[15]))
        }
        HORIZONTAL_UP => {
            let left = beside(left.as_ref());
            let end = all(left[7]);
            let line = _mm_cvtsi64_si128(i64::from_le_bytes(*left));
            (_mm_unpacklo_epi64(line, end), end)
        }
        DIAGONAL_DOWN_RIGHT..=HORIZONTAL_DOWN => {
            let (top, left) = (load_part(above(top.as_ref()), 0), beside(left.as_ref()));
            let corner = corner.expect("the mode needs the sample above the left column");
            let before = _mm_cvtsi64_si128(i64::from_be_bytes(*left));
            let corner = _mm_cvtsi32_si128(corner.into());
            let behind = _mm_or_si128(_mm_slli_si128::<1>(top), corner);
            (_mm_unpacklo_epi64(before, behind), _mm_srli_si128::<7>(top))
        }
        _ => panic!("intra mode {mode} of 8x8 samples"),
    };
    let (two, three) = filtered_on(line, rest);
    let (two, three) = (
        _mm256_broadcastsi128_si256(two),
        _mm256_broadcastsi128_si256(three),
    );
    let mut sequences = [[0; 32]; 2];
    for (i, sequence) in sequences.iter_mut().enumerate() {
        let picks = &PICKS_8X8[usize::from(mode)][i];
        let picked = _mm256_or_si256(
            _mm256_shuffle_epi8(two, load_32(&picks.two)),
            _mm256_shuffle_epi8(three, load_32(&picks.three)),
        );
        store_32(sequence, picked);
    }
    sequences
}

pub fn intra_8x8(mode: u8, neighbours: &Neighbours8x8, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(mode: u8, neighbours: &Neighbours8x8, dst: &mut [u8], stride: usize) {
        let Neighbours8x8 { top, left, .. } = neighbours;
        let mut rows = |row: &dyn Fn(usize) -> __m128i| {
            for y in 0..8 {
                // SAFETY: the caller checked 8 rows of 8 bytes.
                unsafe { store_8(dst, y * stride, row(y)) }
            }
        };
        match mode {
            VERTICAL => {
                let top = load_part(above(top.as_ref()), 0);
                rows(&|_| top);
            }
            HORIZONTAL => {
                let left = beside(left.as_ref());
                rows(&|y| all(left[y]));
            }
            DC => {
                let sum = |side: i64| {
                    let sums = _mm_sad_epu8(_mm_cvtsi64_si128(side), _mm_setzero_si128());
                    _mm_cvtsi128_si32(sums)
                };
                let top = top.map(|top| sum(_mm_cvtsi128_si64(load_part(&top, 0))));
                let left = left.map(|left| sum(i64::from_le_bytes(left)));
                let mean = match (top, left) {
                    (Some(top), Some(left)) => (top + left + 8) >> 4,
                    (Some(one), None) | (None, Some(one)) => (one + 4) >> 3,
                    (None, None) => 128,
                };
                let mean = all(mean as u8);
                rows(&|_| mean);
            }
            _ => {
                let sequences = sequences(mode, neighbours);
                for y in 0..8 {
                    let row = sequences[y % 2][start(mode, y)..].first_chunk::<8>();
                    let to = dst[y * stride..].first_chunk_mut();
                    *to.expect("8 samples") = *row.expect("8 samples");
                }
            }
        }
    }
    check(dst, stride, 8, 8);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(mode, neighbours, dst, stride) }
}
