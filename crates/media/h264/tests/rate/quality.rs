//! Constant quality and adaptive quantisation.

use evener_h264::config::{Config, Preset, Rate, Settings, Tools, Tune};

use crate::clips::{Clip, FOREMAN, STREET, clip, moving};
use crate::encode::{decodes, encode};

fn config(crf: f32, tune: Option<Tune>) -> Config {
    let mut config = Config::new(&Settings {
        preset: Preset::Superfast,
        rate: Rate::Crf(crf),
        tune,
        ..Settings::default()
    })
    .unwrap();
    config.tools = Tools {
        transform_8x8: false,
        adaptive_qp: config.tools.adaptive_qp,
        ..Preset::Faster.tools()
    };
    config
}

/// A flat half beside a busy one.
fn halves() -> Clip {
    let mut clip = moving(5, 192, 96, 6);
    for frame in &mut clip.frames {
        for (i, sample) in frame[..192 * 96].iter_mut().enumerate() {
            if i % 192 < 96 {
                *sample = 100 + *sample / 16;
            }
        }
    }
    clip
}

#[test]
fn streams_with_many_parameters_are_decoded() {
    for cabac in [false, true] {
        for crf in [1.0, 12.0, 23.0, 40.0, 51.0] {
            let mut config = config(crf, None);
            config.tools.cabac = cabac;
            decodes(&encode(&config, &halves()));
        }
    }
}

#[test]
fn adaptive_quantisation_makes_flat_parts_better() {
    let clip = halves();
    let error = |tune, columns: std::ops::Range<usize>| {
        let encoded = encode(&config(25.0, tune), &clip);
        let pairs = encoded
            .reconstruction
            .chunks(clip.frame_bytes())
            .zip(&clip.frames);
        let samples = pairs.flat_map(|(a, b)| a.iter().zip(b).take(192 * 96).enumerate());
        samples
            .filter(|(i, _)| columns.contains(&(i % 192)))
            .map(|(_, (a, b))| u64::from(a.abs_diff(*b)).pow(2))
            .sum::<u64>()
    };
    let (flat, busy) = (0..80, 112..192);
    assert!(5 * error(None, flat.clone()) < 4 * error(Some(Tune::Psnr), flat));
    assert!(error(None, busy.clone()) > error(Some(Tune::Psnr), busy));
}

#[test]
fn a_rate_factor_means_what_it_does_in_x264() {
    // x264 --crf 23 --no-mbtree --bframes 0 with its tools reduced to about the same: kilobits a second, PSNR of luma.
    let (foreman, street) = (clip(FOREMAN, 100), clip(STREET, 40));
    for (clip, kbits, psnr) in [(foreman, 445.3, 37.14), (street, 654.8, 35.62)] {
        let Some(clip) = clip else { continue };
        let encoded = encode(&config(23.0, None), &clip);
        let rate = encoded.bits() as f64 * 25.0 / clip.frames.len() as f64 / 1000.0;
        let found = encoded.psnr(&clip);
        eprintln!("{rate} kbit/s, not {kbits}; {found} dB, not {psnr}");
        assert!(
            (rate / kbits - 1.0).abs() < 0.15,
            "{rate} kbit/s, not {kbits}"
        );
        assert!((found - psnr).abs() < 1.0, "{found} dB, not {psnr}");
    }
}

#[test]
fn a_rate_factor_that_is_higher_by_6_about_halves_the_stream() {
    let clip = moving(9, 160, 96, 12);
    let sizes = [15.0, 21.0, 27.0].map(|crf| encode(&config(crf, None), &clip).bits());
    for pair in sizes.windows(2) {
        let ratio = pair[0] as f64 / pair[1] as f64;
        assert!((1.4..3.5).contains(&ratio), "{sizes:?}");
    }
}
