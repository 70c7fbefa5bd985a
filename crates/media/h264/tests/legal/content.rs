//! Frames of every kind: flat, smooth, moving, busy, and noise of the extremes.

use crate::rng::Rng;

/// A frame: luma, Cb, Cr.
pub type Frame = [Vec<u8>; 3];

/// A random frame. Some are the one before, moved, so that residuals are small as well.
pub fn frame(rng: &mut Rng, (width, height): (usize, usize), before: Option<&Frame>) -> Frame {
    let style = rng.below(8);
    let mut plane = |p: usize| -> Vec<u8> {
        let (width, height) = plane_size(p, (width, height));
        let size = width * height;
        match (style, before) {
            // Each sample is an extreme.
            (0, _) => (0..size).map(|_| rng.pick(&[0, 255])).collect(),
            (1, _) => (0..size).map(|_| rng.below(256) as u8).collect(),
            // Squares of the extremes.
            (2, _) => {
                let side = rng.pick(&[1, 2, 4, 8, 16]);
                let colours: Vec<u8> = (0..4096).map(|_| rng.pick(&[0, 255])).collect();
                let at = |i: usize| colours[(i / width / side * 61 + i % width / side) % 4096];
                (0..size).map(at).collect()
            }
            (3..=5, Some(before)) => shifted(rng, (width, height), &before[p]),
            (6, _) => vec![rng.below(256) as u8; size],
            // A slope with noise.
            _ => {
                let (right, down) = (rng.within(-6, 6), rng.within(-6, 6));
                let (base, noise) = (rng.within(0, 255), rng.pick(&[1, 2, 8, 40]));
                let at = |i: usize| right * (i % width) as i32 + down * (i / width) as i32;
                (0..size)
                    .map(|i| (base + at(i) + rng.below(noise) as i32).clamp(0, 255) as u8)
                    .collect()
            }
        }
    };
    [plane(0), plane(1), plane(2)]
}

/// The frame before, moved, with a little noise.
pub fn moved(rng: &mut Rng, size: (usize, usize), before: &Frame) -> Frame {
    [0, 1, 2].map(|p| shifted(rng, plane_size(p, size), &before[p]))
}

fn plane_size(p: usize, (width, height): (usize, usize)) -> (usize, usize) {
    match p {
        0 => (width, height),
        _ => (width / 2, height / 2),
    }
}

fn shifted(rng: &mut Rng, (width, height): (usize, usize), before: &[u8]) -> Vec<u8> {
    let (dx, dy) = (rng.below(5), rng.below(3));
    let noise = rng.pick(&[1, 3, 12]);
    let from = |i: usize| {
        let (x, y) = ((i % width + dx) % width, (i / width + dy) % height);
        before[y * width + x]
    };
    (0..width * height)
        .map(|i| from(i).saturating_add(rng.below(noise) as u8))
        .collect()
}
