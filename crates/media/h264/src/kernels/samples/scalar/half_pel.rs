//! Planes between samples.

/// Rows that are made, checked against the rows they are made from.
pub(in crate::kernels::samples) fn rows_of(
    planes: &[&mut [u8]; 3],
    samples: &[u8],
    stride: usize,
) -> usize {
    let rows = planes[0].len() / stride.max(1);
    assert!(
        stride >= 6
            && planes.iter().all(|plane| plane.len() == rows * stride)
            && samples.len() == (rows + 5).saturating_mul(stride),
        "rows of {stride} bytes: {:?} from {}",
        planes.each_ref().map(|plane| plane.len()),
        samples.len()
    );
    rows
}

pub fn half_pel(mut planes: [&mut [u8]; 3], samples: &[u8], stride: usize) {
    let rows = rows_of(&planes, samples, stride);
    let [right, down, both] = &mut planes;
    let mut sums = vec![0; stride];
    for y in 0..rows {
        let at = y * stride;
        let row = |k: usize| &samples[at + k * stride..][..stride];
        for (x, sum) in sums.iter_mut().enumerate() {
            *sum = six_tap([0, 1, 2, 3, 4, 5].map(|k| i32::from(row(k)[x])));
            down[at + x] = clipped(*sum, 5);
        }
        for x in 0..stride {
            let first = x.clamp(2, stride - 4) - 2;
            let columns = [0, 1, 2, 3, 4, 5].map(|k| first + k);
            let sum = six_tap(columns.map(|x| i32::from(row(2)[x])));
            right[at + x] = clipped(sum, 5);
            both[at + x] = clipped(six_tap(columns.map(|x| sums[x])), 10);
        }
    }
}

/// Equations 8-241 to 8-246.
fn six_tap([e, f, g, h, i, j]: [i32; 6]) -> i32 {
    e - 5 * f + 20 * g + 20 * h - 5 * i + j
}

/// Divided by a power of two, rounded, and brought into the range of samples.
fn clipped(sum: i32, shift: u32) -> u8 {
    ((sum + (1 << (shift - 1))) >> shift).clamp(0, 255) as u8
}
