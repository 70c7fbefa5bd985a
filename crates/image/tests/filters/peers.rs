//! Against FFmpeg's own filters, on pictures of a camera.

use std::path::Path;
use std::process::Command;

use evener_image::graph::{Graph, Planes};
use evener_image::io::open_input;
use evener_image::{Format, Frame, reference};
use evener_testing::Folder;

/// A frame that `ffmpeg` made, as y4m, with the picture that it made it from.
struct Peer {
    folder: Folder,
    source: Frame,
}

fn ffmpeg(arguments: &[&str], output: &Path) -> Frame {
    let done = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments)
        .args(["-frames:v", "1"])
        .arg(output)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {said}");
    let mut input = open_input(output).unwrap();
    let mut frame = Frame::new(input.format());
    assert!(input.read(&mut frame).unwrap());
    frame
}

impl Peer {
    /// `None` where the clip or the program is missing, which is said.
    fn of(clip: &str) -> Option<Peer> {
        let Some(clips) = std::env::var_os("EVENER_CLIPS") else {
            eprintln!("skipped: EVENER_CLIPS names no folder of clips");
            return None;
        };
        if Command::new("ffmpeg").arg("-version").output().is_err() {
            eprintln!("skipped: the program ffmpeg is not installed");
            return None;
        }
        let folder = Folder::new();
        let clip = Path::new(&clips).join(clip);
        let source = ffmpeg(&["-i", clip.to_str().unwrap()], &folder.path("source.y4m"));
        Some(Peer { folder, source })
    }

    fn filter(&self, text: &str) -> Frame {
        let from = self.folder.path("source.y4m");
        let to = self.folder.path("filtered.y4m");
        ffmpeg(&["-i", from.to_str().unwrap(), "-vf", text], &to)
    }

    fn ours(&self, text: &str) -> (Format, Vec<Vec<u8>>) {
        let graph = Graph::parse(text).unwrap();
        let bound = graph.bind(self.source.format(), Planes::Auto).unwrap();
        (bound.output, reference::frame(&bound, &self.source))
    }
}

#[test]
fn resize_is_within_two_codes_of_the_bilinear_scaler() {
    let Some(peer) = Peer::of("foreman_352x288_300f.264") else {
        return;
    };
    for (w, h) in [
        (176, 144),
        (100, 80),
        (320, 240),
        (40, 288),
        (352, 50),
        (600, 100),
        (120, 400),
        (704, 576),
        (22, 18),
    ] {
        let flags = "bilinear+accurate_rnd+full_chroma_int";
        let theirs = peer.filter(&format!("scale={w}:{h}:flags={flags}"));
        let (format, ours) = peer.ours(&format!("resize={w}:{h}"));
        assert_eq!(format, *theirs.format());
        for (p, ours) in ours.iter().enumerate() {
            let theirs = theirs.plane_bytes(p);
            let apart = ours.iter().zip(&*theirs).map(|(a, b)| a.abs_diff(*b));
            let most = apart.max().unwrap();
            assert!(most <= 2, "{w}x{h}, plane {p}: {most} codes apart");
        }
    }
}

#[test]
fn a_crop_is_where_ffmpeg_has_it() {
    let Some(peer) = Peer::of("foreman_352x288_300f.264") else {
        return;
    };
    for fraction in ["0.8", "0.75", "0.63", "0.5", "0.97", "1"] {
        let size = format!("floor(iw*{fraction}):floor(ih*{fraction})");
        let theirs = peer.filter(&format!("crop={size}"));
        let (format, ours) = peer.ours(&format!("crop={fraction}"));
        assert_eq!(format, *theirs.format(), "{fraction}");
        for (p, ours) in ours.iter().enumerate() {
            assert!(*theirs.plane_bytes(p) == **ours, "{fraction}, plane {p}");
        }
    }
}

/// Stripes two samples wide, shrunk to other widths than a multiple of theirs: what is left of them is faint.
#[test]
fn fine_stripes_become_grey() {
    use evener_image::{Chroma, ColourRange, Depth};
    let format = Format {
        width: 640,
        height: 64,
        chroma: Chroma::Mono,
        depth: Depth::U8,
        range: ColourRange::Full,
    };
    let mut frame = Frame::new(&format);
    let stripes = (0..640).map(|x| if x / 2 % 2 == 0 { 0 } else { 255 });
    let row: Vec<u8> = stripes.collect();
    for out in frame.plane_bytes_mut(0).chunks_exact_mut(640) {
        out.copy_from_slice(&row);
    }
    for (w, most) in [(320, 64.0), (213, 12.0), (160, 0.5), (150, 1.0), (64, 3.0)] {
        let graph = Graph::parse(&format!("resize={w}:32")).unwrap();
        let bound = graph.bind(&format, Planes::Auto).unwrap();
        let codes = reference::frame(&bound, &frame).swap_remove(0);
        // The ends see half of what the others do.
        let inner: Vec<f64> = codes
            .chunks_exact(w)
            .flat_map(|row| &row[2..w - 2])
            .map(|&c| f64::from(c))
            .collect();
        let mean = inner.iter().sum::<f64>() / inner.len() as f64;
        let variance = inner.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / inner.len() as f64;
        assert!(
            (mean - 127.5).abs() < 2.0 && variance.sqrt() <= most,
            "{w}: {mean}, {}",
            variance.sqrt()
        );
    }
}
