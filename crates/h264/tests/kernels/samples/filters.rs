//! Similarity and signal-to-noise ratio are those that filters of FFmpeg print.

use std::process::Command;

use evener_h264::kernels::ssim::{Sums, block_sums, similarity};
use evener_testing::Folder;

use super::{canvas, reference};
use crate::Rng;

const WIDTH: usize = 106;
const HEIGHT: usize = 74;

/// What a filter prints of two pictures of luma alone, after `name`.
fn printed(filter: &str, name: &str, folder: &Folder) -> f64 {
    let size = format!("{WIDTH}x{HEIGHT}");
    let input = |file: &str| {
        let path = folder.path(file).to_string_lossy().into_owned();
        let options = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", &size, "-i"];
        let mut arguments = options.map(String::from).to_vec();
        arguments.push(path);
        arguments
    };
    let output = Command::new("ffmpeg")
        // Without its vector code, which adds some of the windows wrongly at this width.
        .args(["-hide_banner", "-nostdin", "-cpuflags", "0"])
        .args(input("a"))
        .args(input("b"))
        .args(["-lavfi", filter, "-f", "null", "-"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let at = text
        .rfind(name)
        .unwrap_or_else(|| panic!("{name} in {text}"));
    let value = text[at + name.len()..].split_whitespace().next().unwrap();
    value
        .parse()
        .unwrap_or_else(|_| panic!("{value} in {text}"))
}

fn ssim(a: &[u8], b: &[u8]) -> f64 {
    let (columns, rows) = (WIDTH / 4, HEIGHT / 4);
    let strips: Vec<Vec<Sums>> = (0..rows)
        .map(|y| {
            let mut sums = vec![Sums::default(); columns];
            let at = 4 * y * WIDTH;
            block_sums(&a[at..], WIDTH, &b[at..], WIDTH, &mut sums);
            sums
        })
        .collect();
    let sum: f64 = strips.windows(2).map(|s| similarity(&s[0], &s[1])).sum();
    sum / ((columns - 1) * (rows - 1)) as f64
}

#[test]
fn ratios_are_those_of_ffmpeg() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("skipped: the program ffmpeg is not installed");
        return;
    }
    let mut rng = Rng(91);
    for noise in [1, 3, 10, 60, 255] {
        let texture = canvas(&mut rng, WIDTH * HEIGHT);
        let a: Vec<u8> = (0..WIDTH * HEIGHT)
            .map(|i| ((i % WIDTH * 2 + i / WIDTH) as u8 / 2).wrapping_add(texture[i] / 4))
            .collect();
        let b: Vec<u8> = a
            .iter()
            .map(|&v| v.saturating_add(rng.below(noise + 1) as u8))
            .collect();
        let folder = Folder::new();
        folder.file("a", &a);
        folder.file("b", &b);

        let expected = printed("ssim", "All:", &folder);
        let got = ssim(&a, &b);
        assert!(
            (got - expected).abs() < 1e-6,
            "{noise}: {got}, not {expected}"
        );

        let expected = printed("psnr", "average:", &folder);
        let squares: u64 = a
            .chunks(WIDTH)
            .zip(b.chunks(WIDTH))
            .map(|(a, b)| (reference().ssd_row)(a, b))
            .sum();
        let got = 10.0 * (65_025.0 * a.len() as f64 / squares as f64).log10();
        assert!(
            (got - expected).abs() < 1e-6,
            "{noise}: {got}, not {expected}"
        );
    }
}
