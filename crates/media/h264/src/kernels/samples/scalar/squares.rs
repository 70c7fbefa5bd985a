//! Squared differences, and energies.

use crate::kernels::residual::bounds::check;
use crate::kernels::samples::Energy;

pub fn ssd_16x16(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    check(a, a_stride, 16, 16);
    check(b, b_stride, 16, 16);
    let mut sum = 0;
    for y in 0..16 {
        let a = &a[y * a_stride..][..16];
        let b = &b[y * b_stride..][..16];
        for (a, b) in a.iter().zip(b) {
            sum += u32::from(a.abs_diff(*b)).pow(2);
        }
    }
    sum
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
