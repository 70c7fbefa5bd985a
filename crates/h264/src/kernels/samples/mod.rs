//! TEMPORARY scalar.
use evener_runtime::Simd;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    B16x16,
    B16x8,
    B8x16,
    B8x8,
}
impl BlockSize {
    pub fn width(self) -> usize {
        match self {
            Self::B16x16 | Self::B16x8 => 16,
            _ => 8,
        }
    }
    pub fn height(self) -> usize {
        match self {
            Self::B16x16 | Self::B8x16 => 16,
            _ => 8,
        }
    }
}
pub struct Samples {
    pub sad_quads_x4: fn(&[u8], usize, &[u8], usize, [usize; 4]) -> [[u32; 4]; 4],
    pub sad_8x8_x8: fn(&[u8], usize, &[u8], usize) -> [u16; 8],
    pub satd: [fn(&[u8], usize, &[u8], usize) -> u32; 4],
    pub satd_4x4: fn(&[u8], usize, &[u8], usize) -> u32,
    pub satd_average: [fn(&[u8], usize, &[u8], usize, &[u8], usize) -> u32; 4],
    pub average: fn(&mut [u8], usize, &[u8], usize, &[u8], usize, BlockSize),
    pub copy: fn(&mut [u8], usize, &[u8], usize, BlockSize),
    pub half_pel: fn([&mut [u8]; 3], &[u8], usize),
    pub chroma: fn(&mut [u8], usize, &[u8], usize, u32, u32, usize, usize),
    pub halve: fn(&mut [u8], &[u8], &[u8]),
    pub interleave: fn(&mut [u8], &[u8], &[u8]),
}
fn sad(a: &[u8], sa: usize, b: &[u8], sb: usize, w: usize, h: usize) -> u32 {
    (0..h)
        .map(|y| {
            (0..w)
                .map(|x| u32::from(a[y * sa + x].abs_diff(b[y * sb + x])))
                .sum::<u32>()
        })
        .sum()
}
fn quads(a: &[u8], sa: usize, b: &[u8], sb: usize) -> [u32; 4] {
    std::array::from_fn(|q| {
        let (x, y) = (q % 2 * 8, q / 2 * 8);
        sad(&a[y * sa + x..], sa, &b[y * sb + x..], sb, 8, 8)
    })
}
fn had(a: &[u8], sa: usize, b: &[u8], sb: usize) -> u32 {
    let mut d = [0i32; 16];
    for y in 0..4 {
        for x in 0..4 {
            d[4 * y + x] = i32::from(a[y * sa + x]) - i32::from(b[y * sb + x]);
        }
    }
    for p in 0..2 {
        for i in 0..4 {
            let ix = |k: usize| if p == 0 { 4 * i + k } else { 4 * k + i };
            let (a, b, c, e) = (d[ix(0)], d[ix(1)], d[ix(2)], d[ix(3)]);
            let (s, t, u, v) = (a + b, a - b, c + e, c - e);
            d[ix(0)] = s + u;
            d[ix(1)] = t + v;
            d[ix(2)] = s - u;
            d[ix(3)] = t - v;
        }
    }
    d.iter().map(|v| v.unsigned_abs()).sum::<u32>() / 2
}
fn satd<const W: usize, const H: usize>(a: &[u8], sa: usize, b: &[u8], sb: usize) -> u32 {
    let mut t = 0;
    for y in (0..H).step_by(4) {
        for x in (0..W).step_by(4) {
            t += had(&a[y * sa + x..], sa, &b[y * sb + x..], sb);
        }
    }
    t
}
fn satd_avg<const W: usize, const H: usize>(
    a: &[u8],
    sa: usize,
    b: &[u8],
    sb: usize,
    c: &[u8],
    sc: usize,
) -> u32 {
    let mut m = [0; 256];
    for y in 0..H {
        for x in 0..W {
            m[y * 16 + x] = ((u16::from(b[y * sb + x]) + u16::from(c[y * sc + x]) + 1) >> 1) as u8;
        }
    }
    satd::<W, H>(a, sa, &m, 16)
}
static T: Samples = Samples {
    sad_quads_x4: |a, sa, b, sb, o| o.map(|o| quads(a, sa, &b[o..], sb)),
    sad_8x8_x8: |a, sa, b, sb| std::array::from_fn(|i| sad(a, sa, &b[i..], sb, 8, 8) as u16),
    satd: [satd::<16, 16>, satd::<16, 8>, satd::<8, 16>, satd::<8, 8>],
    satd_4x4: satd::<4, 4>,
    satd_average: [
        satd_avg::<16, 16>,
        satd_avg::<16, 8>,
        satd_avg::<8, 16>,
        satd_avg::<8, 8>,
    ],
    average: |d, sd, a, sa, b, sb, s| {
        for y in 0..s.height() {
            for x in 0..s.width() {
                d[y * sd + x] =
                    ((u16::from(a[y * sa + x]) + u16::from(b[y * sb + x]) + 1) >> 1) as u8;
            }
        }
    },
    copy: |d, sd, a, sa, s| {
        for y in 0..s.height() {
            d[y * sd..y * sd + s.width()].copy_from_slice(&a[y * sa..y * sa + s.width()]);
        }
    },
    half_pel: |[h, v, j], f, s| {
        let tap =
            |g: &dyn Fn(i32) -> i32| g(-2) - 5 * g(-1) + 20 * g(0) + 20 * g(1) - 5 * g(2) + g(3);
        for y in 0..h.len() / s {
            for x in 0..s as i32 {
                let at = |dx: i32, dy: i32| {
                    i32::from(
                        f[((y as i32 + 2 + dy) * s as i32 + (x + dx).clamp(0, s as i32 - 1))
                            as usize],
                    )
                };
                let i = y * s + x as usize;
                h[i] = ((tap(&|k| at(k, 0)) + 16) >> 5).clamp(0, 255) as u8;
                v[i] = ((tap(&|k| at(0, k)) + 16) >> 5).clamp(0, 255) as u8;
                j[i] = ((tap(&|k| tap(&|m| at(k, m))) + 512) >> 10).clamp(0, 255) as u8;
            }
        }
    },
    chroma: |d, sd, a, sa, dx, dy, w, h| {
        for y in 0..h {
            for x in 0..2 * w {
                let p = |i: usize, k: usize| u32::from(a[(y + k) * sa + x + 2 * i]);
                d[y * sd + x] = (((8 - dx) * (8 - dy) * p(0, 0)
                    + dx * (8 - dy) * p(1, 0)
                    + (8 - dx) * dy * p(0, 1)
                    + dx * dy * p(1, 1)
                    + 32)
                    >> 6) as u8;
            }
        }
    },
    halve: |d, a, b| {
        for (i, d) in d.iter_mut().enumerate() {
            *d = ((u16::from(a[2 * i])
                + u16::from(a[2 * i + 1])
                + u16::from(b[2 * i])
                + u16::from(b[2 * i + 1])
                + 2)
                >> 2) as u8;
        }
    },
    interleave: |d, a, b| {
        for (i, d) in d.chunks_mut(2).enumerate() {
            d[0] = a[i];
            d[1] = b[i];
        }
    },
};
impl Samples {
    pub fn at(_: Simd) -> &'static Samples {
        &T
    }
}
