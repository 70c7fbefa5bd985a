//! Structural similarity, as the `ssim` filter of FFmpeg computes it.
//!
//! A window is 8x8 samples; windows begin at every fourth column and row. The similarity of two planes is the mean over
//! all windows that lie in whole blocks of 4x4: [`similarity`] of each two strips of blocks, divided by the number of windows.

/// Sums over two blocks of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Of samples of the first.
    pub first: u32,
    /// Of samples of the second.
    pub second: u32,
    /// Of squares of both.
    pub squares: u32,
    /// Of products.
    pub products: u32,
}

/// Sums of each 4x4 block of a strip of four rows, as many blocks as `sums` has.
///
/// # Panics
/// A slice does not have four rows for so many blocks.
pub fn block_sums(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize, sums: &mut [Sums]) {
    let width = 4 * sums.len();
    sums.fill(Sums::default());
    for y in 0..4 {
        let a = a[y * a_stride..][..width].as_chunks::<4>().0;
        let b = b[y * b_stride..][..width].as_chunks::<4>().0;
        for (sums, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (u32::from(*a), u32::from(*b));
                sums.first += a;
                sums.second += b;
                sums.squares += a * a + b * b;
                sums.products += a * b;
            }
        }
    }
}

/// The sum of the similarities of all windows of two strips, one above the other: one window less than there are blocks in each.
///
/// Windows are added left to right.
///
/// # Panics
/// The strips differ in length.
pub fn similarity(above: &[Sums], below: &[Sums]) -> f64 {
    assert_eq!(above.len(), below.len());
    above
        .windows(2)
        .zip(below.windows(2))
        .map(|(above, below)| f64::from(window([above[0], above[1], below[0], below[1]])))
        .sum()
}

/// Stabilises the quotient of means: (0.01 · 255)² for sums over 64 samples.
const C1: i32 = 416;
/// That of variances: (0.03 · 255)², likewise.
const C2: i32 = 235_963;

fn window(blocks: [Sums; 4]) -> f32 {
    let sum = |part: fn(&Sums) -> u32| blocks.iter().map(part).sum::<u32>() as i32;
    let (first, second) = (sum(|s| s.first), sum(|s| s.second));
    let (squares, products) = (sum(|s| s.squares), sum(|s| s.products));
    let variances = 64 * squares - first * first - second * second;
    let covariance = 64 * products - first * second;
    (2 * first * second + C1) as f32 * (2 * covariance + C2) as f32
        / ((first * first + second * second + C1) as f32 * (variances + C2) as f32)
}
