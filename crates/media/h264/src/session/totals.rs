//! What the pictures of a stream add up to.

use evener_image::Format;
use serde::Serialize;

use crate::quality::Windows;
use crate::unit::CodedPicture;

/// Sums over pictures.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pictures: u64,
    keys: u64,
    bytes: u64,
    ssd: [u128; 3],
    ssim: [f64; 3],
}

impl Totals {
    /// Adds a picture.
    pub fn add(&mut self, picture: &CodedPicture) {
        self.pictures += 1;
        self.keys += u64::from(picture.key);
        self.bytes += picture.bytes.len() as u64;
        for plane in 0..3 {
            self.ssd[plane] += u128::from(picture.ssd[plane]);
            self.ssim[plane] += picture.ssim[plane];
        }
    }

    /// Pictures so far.
    pub fn pictures(&self) -> u64 {
        self.pictures
    }

    /// What they come to, of pictures of `format`, `rate` of them a second.
    pub(super) fn summary(&self, format: &Format, rate: f64, psnr: bool, ssim: bool) -> Summary {
        let seconds = self.pictures as f64 / rate;
        let areas: [f64; 3] = std::array::from_fn(|p| format.plane_size(p).area() as f64);
        let area: f64 = areas.iter().sum();
        let pictures = self.pictures as f64;
        let some = self.pictures > 0;
        let psnr = (psnr && some).then(|| {
            let of = |plane: usize| decibels(self.ssd[plane], areas[plane] * pictures);
            Quality {
                y: of(0),
                u: of(1),
                v: of(2),
                all: decibels(self.ssd.iter().sum(), area * pictures),
            }
        });
        let ssim = (ssim && some && windowless(format).is_none()).then(|| {
            let [y, u, v] = self.ssim.map(|sum| sum / pictures);
            let all = (y * areas[0] + u * areas[1] + v * areas[2]) / area;
            Quality { y, u, v, all }
        });
        Summary {
            pictures: self.pictures,
            key_pictures: self.keys,
            bytes: self.bytes,
            seconds,
            bits_per_second: match some {
                true => self.bytes as f64 * 8.0 / seconds,
                false => 0.0,
            },
            psnr,
            ssim,
        }
    }
}

/// The size of the smallest plane of `format`, if it has no window of structural similarity.
pub(super) fn windowless(format: &Format) -> Option<(u32, u32)> {
    let smallest = format.plane_size(1);
    let (width, height) = (smallest.w, smallest.h);
    let windows = Windows::of(width as usize, height as usize);
    windows.is_none().then_some((width, height))
}

/// What a stream came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Pictures in it.
    pub pictures: u64,
    /// Key pictures among them.
    pub key_pictures: u64,
    /// Bytes of its NAL units, with start codes and without a container.
    pub bytes: u64,
    /// How long it plays.
    pub seconds: f64,
    /// Bits by how long it plays.
    pub bits_per_second: f64,
    /// PSNR in decibels, as FFmpeg's filter `psnr` computes it; if it was asked for. Infinite if nothing was lost.
    pub psnr: Option<Quality>,
    /// Structural similarity, as FFmpeg's filter `ssim` computes it; if it was asked for, and all planes have windows.
    pub ssim: Option<Quality>,
}

/// A measure of each plane and of all together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Of luma.
    pub y: f64,
    /// Of Cb.
    pub u: f64,
    /// Of Cr.
    pub v: f64,
    /// Of all samples.
    pub all: f64,
}

/// PSNR of a sum of squared differences over so many samples.
fn decibels(ssd: u128, samples: f64) -> f64 {
    match ssd {
        0 => f64::INFINITY,
        ssd => 10.0 * (255.0 * 255.0 * samples / ssd as f64).log10(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evener_image::{Chroma, ColourRange, Depth};

    #[test]
    fn means_are_over_all_pictures_and_samples() {
        let format = Format {
            width: 16,
            height: 16,
            chroma: Chroma::C420,
            depth: Depth::U8,
            range: ColourRange::Limited,
        };
        let mut totals = Totals::default();
        for (ssd, ssim) in [
            ([65025, 0, 4], [1.0, 0.5, 0.5]),
            ([0, 0, 4], [0.5, 0.5, 1.0]),
        ] {
            totals.add(&CodedPicture {
                bytes: vec![0; 100],
                key: ssd[0] != 0,
                qp: 26,
                ssd,
                ssim,
            });
        }
        let summary = totals.summary(&format, 25.0, true, true);
        assert_eq!((summary.pictures, summary.key_pictures), (2, 1));
        assert_eq!((summary.bytes, summary.bits_per_second), (200, 20_000.0));
        let psnr = summary.psnr.unwrap();
        assert!((psnr.y - 10.0 * 512f64.log10()).abs() < 1e-9);
        assert_eq!(psnr.u, f64::INFINITY);
        assert!((psnr.v - 10.0 * (65025.0 * 16f64).log10()).abs() < 1e-9);
        assert!((psnr.all - 10.0 * (65025.0 * 768.0 / 65033.0f64).log10()).abs() < 1e-9);
        let ssim = summary.ssim.unwrap();
        assert_eq!((ssim.y, ssim.u, ssim.v), (0.75, 0.5, 0.75));
        assert!((ssim.all - (0.75 * 16.0 + 0.5 * 4.0 + 0.75 * 4.0) / 24.0).abs() < 1e-12);
        assert_eq!(
            Totals::default().summary(&format, 25.0, true, true).psnr,
            None
        );
    }
}
