//! PSNR and SSIM are what FFmpeg's filters say.

use evener_h264::config::{Config, Settings};
use evener_h264::session::{Options, Quality, Session};
use evener_image::session::Audio;
use evener_testing::Folder;

use crate::pcm::Pcm;
use crate::{has_ffmpeg, run, runtime};

/// The number after `key` in the last line that has it.
fn number(text: &str, key: &str) -> f64 {
    let at = text.rfind(key).unwrap() + key.len();
    let end = text[at..].find([' ', '\n']).unwrap_or(text.len() - at);
    text[at..at + end].parse().unwrap()
}

#[test]
fn psnr_and_ssim_are_those_of_ffmpeg() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let config = Config::new(&Settings {
        keyint: crate::KEYINT,
        psnr: true,
        ssim: true,
        ..Settings::default()
    });
    let config = config.unwrap();
    for (w, h, mask) in [(64, 48, 0xf0), (70, 50, 0xc0), (176, 144, 0xfe)] {
        let input = format!("testsrc:{w}x{h}:6");
        let (out, source) = (folder.path("out.264"), folder.path("in.y4m"));
        let graph = evener_image::graph::Graph::parse("crop=1").unwrap();
        evener_image::session::Session::open(
            &graph,
            Default::default(),
            &input,
            &source,
            Audio::Omitted,
        )
        .unwrap()
        .run(&runtime(), Default::default())
        .unwrap();
        let session = Session::open(&config, None, &input, &out, Audio::Copied).unwrap();
        let outcome =
            session.run_with(&runtime(), Options::default(), |config, parameters, pre| {
                Pcm::new(config, parameters, pre, mask)
            });
        let encoded = outcome.unwrap().encoded;
        // Its vector code differs by 1e-4 for some widths.
        let said = |filter: &str| {
            let line =
                format!("-v info -nostats -cpuflags 0 -i {{}} -i {{}} -lavfi {filter} -f null -");
            String::from_utf8(run("ffmpeg", &line, &[&out, &source])).unwrap()
        };
        let close = |ours: Quality, [y, u, v, all]: [f64; 4], within: f64| {
            for (ours, theirs) in [(ours.y, y), (ours.u, u), (ours.v, v), (ours.all, all)] {
                assert!((ours - theirs).abs() < within, "{ours}, not {theirs}");
            }
        };
        let text = said("psnr");
        let theirs = ["y:", "u:", "v:", "average:"].map(|key| number(&text, key));
        close(encoded.psnr.unwrap(), theirs, 1e-5);
        let text = said("ssim");

        let theirs = ["Y:", "U:", "V:", "All:"].map(|key| number(&text, key));
        close(encoded.ssim.unwrap(), theirs, 2e-5);
    }
}

#[test]
fn pictures_too_small_for_ssim_have_none_and_a_note_says_why() {
    let config = Config::new(&Settings {
        psnr: true,
        ssim: true,
        ..Settings::default()
    });
    let config = config.unwrap();
    for (size, has) in [("1x1", false), ("14x16", false), ("15x15", true)] {
        let input = format!("testsrc:{size}:2");
        let session = Session::open(&config, None, &input, "null:", Audio::Copied).unwrap();
        let outcome = session.run(&runtime(), Options::default()).unwrap();
        assert!(outcome.encoded.psnr.is_some());
        assert_eq!(outcome.encoded.ssim.is_some(), has, "{size}");
        assert_eq!(
            outcome.notes.len(),
            usize::from(!has),
            "{:?}",
            outcome.notes
        );
        assert!(
            outcome
                .notes
                .iter()
                .all(|note| note.starts_with("no SSIM: "))
        );
    }
}

#[test]
fn what_loses_nothing_is_infinitely_good() {
    let config = Config::new(&Settings {
        psnr: true,
        ..Settings::default()
    });
    let input = "testsrc:64x48:3";
    let session = Session::open(&config.unwrap(), None, input, "null:", Audio::Copied).unwrap();
    let outcome = session.run_with(&runtime(), Options::default(), |config, parameters, pre| {
        Pcm::new(config, parameters, pre, crate::pcm::ALL)
    });
    let encoded = outcome.unwrap().encoded;
    assert_eq!(encoded.psnr.unwrap().all, f64::INFINITY);
    assert_eq!(encoded.ssim, None);
    assert_eq!(
        (encoded.pictures, encoded.key_pictures, encoded.seconds),
        (3, 1, 0.12)
    );
}
