//! Squared differences, and energies.

use crate::kernels::residual::bounds::check;
use crate::kernels::samples::Energy;

pub fn ssd<const N: usize>(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    check(a, a_stride, N, N);
    check(b, b_stride, N, N);
    let row = |y: usize| ssd_row(&a[y * a_stride..][..N], &b[y * b_stride..][..N]) as u32;
    (0..N).map(row).sum()
}

pub fn ssd_row(a: &[u8], b: &[u8]) -> u64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2))
        .sum()
}

pub fn ssd_chroma_row(a: &[u8], b: &[u8]) -> [u64; 2] {
    assert!(a.len() == b.len() && a.len().is_multiple_of(2));
    let mut sums = [0; 2];
    for (a, b) in a.as_chunks::<2>().0.iter().zip(b.as_chunks::<2>().0) {
        for c in 0..2 {
            sums[c] += u64::from(a[c].abs_diff(b[c])).pow(2);
        }
    }
    sums
}

pub fn energy_16x16(samples: &[u8], stride: usize) -> Energy {
    check(samples, stride, 16, 16);
    let rows = (0..16).map(|y| &samples[y * stride..][..16]);
    energy(rows.flatten())
}

pub fn energy_chroma(samples: &[u8], stride: usize) -> [Energy; 2] {
    check(samples, stride, 16, 8);
    [0, 1].map(|c| {
        let rows = (0..8).map(|y| &samples[y * stride..][..16]);
        energy(rows.flat_map(|row| row[c..].iter().step_by(2)))
    })
}

fn energy<'a>(samples: impl Iterator<Item = &'a u8>) -> Energy {
    samples.fold(Energy::default(), |energy, &sample| Energy {
        sum: energy.sum + u32::from(sample),
        squares: energy.squares + u32::from(sample).pow(2),
    })
}
