//! The definitions.

use super::{BlockSize, Samples};

pub static TABLE: Samples = Samples {
    sad_quads_x4,
    sad_8x8_x8,
    satd: [satd::<16, 16>, satd::<16, 8>, satd::<8, 16>, satd::<8, 8>],
    satd_4x4: satd::<4, 4>,
    satd_average: [
        satd_average::<16, 16>,
        satd_average::<16, 8>,
        satd_average::<8, 16>,
        satd_average::<8, 8>,
    ],
    average,
    copy,
    half_pel,
    chroma,
    halve,
    interleave,
};

fn sad_8x8(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    let rows = a.chunks(a_stride).zip(b.chunks(b_stride)).take(8);
    rows.flat_map(|(a, b)| a[..8].iter().zip(&b[..8]))
        .map(|(a, b)| u32::from(a.abs_diff(*b)))
        .sum()
}

fn sad_quads_x4(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    offsets: [usize; 4],
) -> [[u32; 4]; 4] {
    offsets.map(|offset| {
        std::array::from_fn(|q| {
            let (x, y) = (8 * (q % 2), 8 * (q / 2));
            let b = &b[offset + y * b_stride + x..];
            sad_8x8(&a[y * a_stride + x..], a_stride, b, b_stride)
        })
    })
}

fn sad_8x8_x8(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> [u16; 8] {
    std::array::from_fn(|x| sad_8x8(a, a_stride, &b[x..], b_stride) as u16)
}

/// The Hadamard transform of four values.
fn hadamard([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let [p, q, r, s] = [a + b, a - b, c + d, c - d];
    [p + r, q + s, p - r, q - s]
}

fn satd_of(difference: [[i32; 4]; 4]) -> u32 {
    let rows = difference.map(hadamard);
    let columns = (0..4).map(|x| hadamard(rows.map(|row| row[x])));
    let sum: u32 = columns.flatten().map(i32::unsigned_abs).sum();
    sum / 2
}

fn satd<const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
) -> u32 {
    satd_with::<W, H>(a, a_stride, |x, y| b[y * b_stride + x])
}

fn satd_average<const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    c: &[u8],
    c_stride: usize,
) -> u32 {
    satd_with::<W, H>(a, a_stride, |x, y| {
        mean(b[y * b_stride + x], c[y * c_stride + x])
    })
}

fn satd_with<const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: impl Fn(usize, usize) -> u8,
) -> u32 {
    let difference = |x: usize, y: usize| i32::from(a[y * a_stride + x]) - i32::from(b(x, y));
    let blocks = (0..H)
        .step_by(4)
        .flat_map(|y| (0..W).step_by(4).map(move |x| (x, y)));
    blocks
        .map(|(x, y)| {
            satd_of(std::array::from_fn(|dy| {
                std::array::from_fn(|dx| difference(x + dx, y + dy))
            }))
        })
        .sum()
}

fn mean(a: u8, b: u8) -> u8 {
    (u16::from(a) + u16::from(b)).div_ceil(2) as u8
}

fn average(
    to: &mut [u8],
    stride: usize,
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    size: BlockSize,
) {
    for y in 0..size.height() {
        for x in 0..size.width() {
            to[y * stride + x] = mean(a[y * a_stride + x], b[y * b_stride + x]);
        }
    }
}

fn copy(to: &mut [u8], stride: usize, from: &[u8], from_stride: usize, size: BlockSize) {
    for y in 0..size.height() {
        let row = &from[y * from_stride..][..size.width()];
        to[y * stride..][..size.width()].copy_from_slice(row);
    }
}

/// The six taps, unscaled.
pub fn taps(at: impl Fn(i32) -> i32) -> i32 {
    at(-2) - 5 * at(-1) + 20 * at(0) + 20 * at(1) - 5 * at(2) + at(3)
}

/// What [`Samples::half_pel`] writes at a place: `at` gives samples at distances to the right and down.
pub fn half_pel_at(at: impl Fn(i32, i32) -> i32) -> [u8; 3] {
    let round = |sum: i32, bits: u32| ((sum + (1 << (bits - 1))) >> bits).clamp(0, 255) as u8;
    [
        round(taps(|x| at(x, 0)), 5),
        round(taps(|y| at(0, y)), 5),
        round(taps(|x| taps(|y| at(x, y))), 10),
    ]
}

fn half_pel([h, v, both]: [&mut [u8]; 3], plane: &[u8], stride: usize) {
    assert!(v.len() == h.len() && both.len() == h.len() && h.len() % stride == 0);
    for y in 0..h.len() / stride {
        for x in 0..stride {
            let at = |dx: i32, dy: i32| {
                let x = (x as i32 + dx).clamp(0, stride as i32 - 1) as usize;
                let y = (y as i32 + 2 + dy) as usize;
                i32::from(plane[y * stride + x])
            };
            let to = y * stride + x;
            [h[to], v[to], both[to]] = half_pel_at(at);
        }
    }
}

fn chroma(
    to: &mut [u8],
    stride: usize,
    from: &[u8],
    from_stride: usize,
    dx: u32,
    dy: u32,
    pairs: usize,
    rows: usize,
) {
    for y in 0..rows {
        for x in 0..2 * pairs {
            let at = |dx: usize, dy: usize| u32::from(from[(y + dy) * from_stride + x + 2 * dx]);
            let sum = (8 - dx) * (8 - dy) * at(0, 0)
                + dx * (8 - dy) * at(1, 0)
                + (8 - dx) * dy * at(0, 1)
                + dx * dy * at(1, 1);
            to[y * stride + x] = ((sum + 32) / 64) as u8;
        }
    }
}

pub fn halve(to: &mut [u8], upper: &[u8], lower: &[u8]) {
    let pairs = upper.chunks_exact(2).zip(lower.chunks_exact(2));
    for (to, (a, b)) in to.iter_mut().zip(pairs) {
        let sum = [a[0], a[1], b[0], b[1]].map(u16::from).iter().sum::<u16>();
        *to = ((sum + 2) / 4) as u8;
    }
}

pub fn interleave(to: &mut [u8], first: &[u8], second: &[u8]) {
    for (to, (a, b)) in to.chunks_exact_mut(2).zip(first.iter().zip(second)) {
        (to[0], to[1]) = (*a, *b);
    }
}
