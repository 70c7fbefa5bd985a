//! Variants for x86: bodies written once in vectors of a [`vector::Vector`], and compiled for each level.

use evener_runtime::Simd;

use self::v128::V128;
use self::v256::V256;
use super::{BlockSize, Energy, Samples, scalar};

mod half_pel;
mod prediction;
mod rows;
mod sad;
mod satd;
mod squares;
mod v128;
mod v256;
mod vector;

/// The table of the highest level that `simd` allows and the processor has, if it is one of these. The processor is
/// asked here, so no value of `simd` can make a table unsound.
pub fn table(simd: Simd) -> Option<&'static Samples> {
    use std::arch::is_x86_feature_detected as has;
    let allowed = matches!(simd, Simd::Sse2 | Simd::Avx2 | Simd::Avx512);
    if !allowed || !has!("ssse3") || !has!("sse4.1") {
        None
    } else if simd != Simd::Sse2 && has!("avx2") {
        Some(&AVX2)
    } else {
        Some(&SSE4)
    }
}

/// A function of a table: `$body`, compiled with `$features`.
macro_rules! compiled {
    ($features:literal, $body:path, ($($arg:ident: $type:ty),*) $(-> $out:ty)?) => {{
        #[allow(clippy::too_many_arguments)]
        #[target_feature(enable = $features)]
        fn run($($arg: $type),*) $(-> $out)? {
            // SAFETY: the features are those of the vector.
            unsafe { $body($($arg),*) }
        }
        #[allow(clippy::too_many_arguments)]
        fn entry($($arg: $type),*) $(-> $out)? {
            // SAFETY: `table` gives its tables out only where the processor has the features.
            unsafe { run($($arg),*) }
        }
        entry
    }};
}

/// The table of a level. Blocks too small for its vectors take those of 128 bits.
macro_rules! samples {
    ($name:literal, $features:literal, $v:ty) => {{
        macro_rules! distortion {
            ($body:path) => {
                compiled!($features, $body, (a: &[u8], s: usize, b: &[u8], t: usize) -> u32)
            };
        }
        macro_rules! average_distortion {
            ($body:path) => {
                compiled!($features, $body, (a: &[u8], s: usize, b: &[u8], t: usize, c: &[u8], u: usize) -> u32)
            };
        }
        Samples {
            name: $name,
            sad_quads_x4: compiled!($features, sad::sad_quads_x4::<$v>,
                (a: &[u8], s: usize, b: &[u8], t: usize, offsets: [usize; 4]) -> [[u32; 4]; 4]),
            sad_8x8_x8: compiled!($features, sad::sad_8x8_x8::<$v>,
                (a: &[u8], s: usize, b: &[u8], t: usize) -> [u16; 8]),
            satd: [
                distortion!(satd::satd::<$v, 16, 16>),
                distortion!(satd::satd::<$v, 16, 8>),
                distortion!(satd::satd::<$v, 8, 16>),
                distortion!(satd::satd::<V128, 8, 8>),
            ],
            satd_4x4: distortion!(satd::satd_4x4),
            satd_average: [
                average_distortion!(satd::satd_average::<$v, 16, 16>),
                average_distortion!(satd::satd_average::<$v, 16, 8>),
                average_distortion!(satd::satd_average::<$v, 8, 16>),
                average_distortion!(satd::satd_average::<V128, 8, 8>),
            ],
            average: compiled!($features, prediction::average::<$v>,
                (to: &mut [u8], r: usize, a: &[u8], s: usize, b: &[u8], t: usize, size: BlockSize)),
            copy: scalar::copy,
            half_pel: compiled!($features, half_pel::half_pel::<$v>,
                (planes: [&mut [u8]; 3], samples: &[u8], stride: usize)),
            chroma: compiled!($features, prediction::chroma::<$v>,
                (to: &mut [u8], r: usize, from: &[u8], s: usize, dx: u32, dy: u32, pairs: usize, height: usize)),
            halve: compiled!($features, rows::halve::<$v>, (to: &mut [u8], above: &[u8], below: &[u8])),
            interleave: compiled!($features, rows::interleave::<$v>, (to: &mut [u8], cb: &[u8], cr: &[u8])),
            ssd_16x16: distortion!(squares::ssd_16x16::<$v>),
            energy_16x16: compiled!($features, squares::energy_16x16::<$v>,
                (samples: &[u8], stride: usize) -> Energy),
            energy_chroma: compiled!($features, squares::energy_chroma::<$v>,
                (samples: &[u8], stride: usize) -> [Energy; 2]),
        }
    }};
}

static SSE4: Samples = samples!("sse4.1", "ssse3,sse4.1", V128);
static AVX2: Samples = samples!("avx2", "avx2", V256);
