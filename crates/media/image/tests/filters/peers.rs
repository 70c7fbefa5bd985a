//! Against FFmpeg's own filters, on pictures of a camera.

use std::path::Path;
use std::process::Command;

use evener_image::graph::{Graph, Planes};
use evener_image::io::open_input;
use evener_image::{Format, Frame, reference};
use evener_testing::Folder;

/// A frame that `ffmpeg` made, as y4m, with the picture that it made it from.
pub(crate) struct Peer {
    folder: Folder,
    pub(crate) source: Frame,
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
    pub(crate) fn of(clip: &str) -> Option<Peer> {
        let Some(clips) = std::env::var_os("EVENER_CLIPS") else {
            evener_testing::skip("EVENER_CLIPS names no folder of clips");
            return None;
        };
        let clip = Path::new(&clips).join(clip);
        Peer::from(&["-i", clip.to_str().unwrap()])
    }

    /// Of a picture that FFmpeg draws, in one of its pixel formats.
    pub(crate) fn drawn(size: &str, pixels: &str) -> Option<Peer> {
        let scene = format!("testsrc2=size={size},noise=alls=20:all_seed=7,format={pixels}");
        Peer::from(&["-f", "lavfi", "-i", &scene, "-strict", "-1"])
    }

    fn from(arguments: &[&str]) -> Option<Peer> {
        if Command::new("ffmpeg").arg("-version").output().is_err() {
            evener_testing::skip("the program ffmpeg is not installed");
            return None;
        }
        let folder = Folder::new();
        let source = ffmpeg(arguments, &folder.path("source.y4m"));
        Some(Peer { folder, source })
    }

    pub(crate) fn filter(&self, text: &str) -> Frame {
        let from = self.folder.path("source.y4m");
        let to = self.folder.path("filtered.y4m");
        let from = from.to_str().unwrap();
        ffmpeg(&["-i", from, "-vf", text, "-strict", "-1"], &to)
    }

    pub(crate) fn ours(&self, text: &str) -> (Format, Vec<Vec<u8>>) {
        let graph = Graph::parse(text).unwrap();
        let bound = graph.bind(self.source.format(), Planes::Auto).unwrap();
        (bound.output, reference::frame(&bound, &self.source))
    }
}

/// How far codes are apart at most, over all planes.
pub(crate) fn apart(ours: &(Format, Vec<Vec<u8>>), theirs: &Frame, context: &str) -> u16 {
    assert_eq!(ours.0, *theirs.format(), "{context}");
    let code = |bytes: &[u8]| match bytes {
        [low, high] => u16::from_ne_bytes([*low, *high]),
        _ => u16::from(bytes[0]),
    };
    let width = theirs.format().depth.bytes();
    let planes = ours.1.iter().enumerate();
    let apart = planes.flat_map(|(p, ours)| {
        let theirs = theirs.plane_bytes(p);
        let pairs = ours.chunks(width).zip(theirs.chunks(width));
        pairs
            .map(|(a, b)| code(a).abs_diff(code(b)))
            .collect::<Vec<_>>()
    });
    apart.max().unwrap_or(0)
}

/// The same text means the same to both, byte by byte.
#[test]
fn what_moves_samples_gives_the_bytes_of_ffmpeg() {
    for pixels in [
        "gray",
        "yuv420p",
        "yuv444p",
        "yuv420p10le",
        "yuv420p12le",
        "yuv444p16le",
        "gray16le",
    ] {
        let Some(peer) = Peer::drawn("98x66", pixels) else {
            return;
        };
        for text in [
            "null",
            "hflip",
            "vflip",
            "hflip,vflip",
            "transpose",
            "transpose=0",
            "transpose=clock",
            "transpose=cclock",
            "transpose=3",
            "transpose=dir=clock_flip,hflip",
            "crop=40:30",
            "crop=41:31",
            "crop=iw-16:ih/2",
            "crop=w=iw/2:x=3:y=(ih-oh)/4",
            "crop=in_w-2*10:in_h-2*8:10:out_h/10",
        ] {
            let ours = peer.ours(text);
            assert_eq!(
                apart(&ours, &peer.filter(text), text),
                0,
                "{text}, {pixels}"
            );
        }
    }
}

#[test]
fn pad_and_median_give_the_bytes_of_ffmpeg() {
    for pixels in ["gray", "yuv420p", "yuv444p"] {
        let Some(peer) = Peer::drawn("98x66", pixels) else {
            return;
        };
        let pads = [
            "pad=iw+20:ih+10:6:4",
            "pad=iw+30:ih:-1:-1",
            "pad=w=iw*2:x=ow-iw:color=gray",
            "pad=iw:ih+8:0:oh-ih:white",
            "pad=iw:ih+8:color=0x2060c0",
        ];
        // FFmpeg pads grey of full range with the black of limited range.
        let pads = if pixels == "gray" { &[][..] } else { &pads };
        for &text in pads.iter().chain(&["median"]) {
            let ours = peer.ours(text);
            let most = apart(&ours, &peer.filter(text), text);
            assert!(most <= 1, "{text}, {pixels}: {most}");
            assert!(
                most == 0 || text.contains("color"),
                "{text}, {pixels}: {most}"
            );
        }
    }
}

#[test]
fn overlay_is_within_two_codes_of_that_of_ffmpeg() {
    for (pixels, format) in [("yuv444p", "yuv444"), ("yuv420p", "yuv420")] {
        let Some(peer) = Peer::drawn("98x66", pixels) else {
            return;
        };
        // Where chroma is halved, FFmpeg weights the colours of a sample otherwise unless all are opaque.
        let opaque = match format {
            "yuv444" => "",
            _ => ",crop=6:6:0:0",
        };
        let picture = "tests/fixtures/mark.pam";
        let theirs = format!(
            "movie={picture},format=rgba{opaque}[o];[in][o]overlay=W-w-10:8:format={format},format={pixels}"
        );
        let theirs = peer.filter(&theirs);
        let (_, ours) = match format {
            "yuv444" => peer.ours(&format!("overlay={picture}:W-w-10:8")),
            _ => peer.ours(&format!("overlay={picture}:W-16:8")),
        };
        for (p, ours) in ours.iter().enumerate() {
            let width = theirs.format().plane_size(p).w as usize;
            let (sx, part) = if p > 0 && format == "yuv420" {
                (2, 3)
            } else {
                (1, 6)
            };
            // Of the picture where it is opaque, and of all else.
            let right = if format == "yuv444" {
                width
            } else {
                82 / sx + part
            };
            for (ours, theirs) in ours.chunks(width).zip(theirs.plane_bytes(p).chunks(width)) {
                let pairs = ours.iter().zip(theirs).take(right);
                let most = pairs.map(|(a, b)| a.abs_diff(*b)).max();
                assert!(most <= Some(2), "{pixels}, plane {p}: {most:?}");
            }
        }
    }
}

#[test]
fn unsharp_and_eq_are_near_those_of_ffmpeg() {
    for pixels in ["gray", "yuv444p"] {
        let Some(peer) = Peer::drawn("98x66", pixels) else {
            return;
        };
        // FFmpeg sharpens no frames without chroma.
        let sharpened = [
            "unsharp",
            "unsharp=3:7:-0.5:5:5:0.7",
            "unsharp=lx=9:ly=9:la=0.8",
        ];
        let sharpened = if pixels == "gray" {
            &[][..]
        } else {
            &sharpened
        };
        for &text in sharpened {
            let most = apart(&peer.ours(text), &peer.filter(text), text);
            assert!(most <= 1, "{text}, {pixels}: {most}");
        }
        // The middle and the ends of full range are FFmpeg's.
        let texts = match pixels {
            "gray" => ["eq=1.3:0.05", "eq=gamma=1.7", "eq=contrast=0.7:gamma=0.6"],
            _ => ["eq=saturation=0.4", "eq=saturation=1.7", "eq=saturation=0"],
        };
        for text in texts {
            let most = apart(&peer.ours(text), &peer.filter(text), text);
            assert!(most <= 2, "{text}, {pixels}: {most}");
        }
    }
}

/// FFmpeg's scaler rounds more than once, and its grey is 128 of 255, here half of the codes. Edges of `convolution` are
/// mirrored. FFmpeg's `unsharp` changes next to nothing in more than 8 bits, so `convolution` stands for it.
#[test]
fn filters_of_12_and_16_bits_are_those_of_ffmpeg() {
    let blur = "1 2 1 2 4 2 1 2 1";
    let sharp =
        "-1 -4 -6 -4 -1 -4 -16 -24 -16 -4 -6 -24 476 -24 -6 -4 -16 -24 -16 -4 -1 -4 -6 -4 -1";
    for (pixels, code, grey) in [("yuv444p12le", 1, 8), ("yuv444p16le", 16, 128)] {
        let Some(peer) = Peer::drawn("98x66", pixels) else {
            return;
        };
        for (ours, theirs, most) in [
            ("median", "median", 0),
            ("pad=iw+20:ih+10:6:4", "pad=iw+20:ih+10:6:4", grey),
            (
                "blur,crop=94:62",
                &format!("convolution={blur}:{blur}:{blur},crop=94:62"),
                1,
            ),
            (
                "unsharp=ca=1,crop=90:58",
                &format!("convolution={sharp}:{sharp}:{sharp},crop=90:58"),
                1,
            ),
            (
                "resize=60:40",
                "scale=60:40:flags=bilinear+accurate_rnd+full_chroma_int",
                2 * code,
            ),
        ] {
            let ours = peer.ours(ours);
            let apart = apart(&ours, &peer.filter(theirs), theirs);
            assert!(apart <= most, "{theirs}, {pixels}: {apart}");
        }
    }
}

/// FFmpeg's filter treats the first and the last rows by other rules.
#[test]
fn deinterlace_is_within_one_code_of_the_linear_one_of_ffmpeg() {
    let Some(peer) = Peer::drawn("96x64", "yuv444p") else {
        return;
    };
    let theirs = peer.filter("pp=li");
    let (_, ours) = peer.ours("deinterlace=keep=top");
    let inner = 8 * 96..56 * 96;
    for (p, ours) in ours.iter().enumerate() {
        let theirs = &theirs.plane_bytes(p)[inner.clone()];
        let pairs = ours[inner.clone()].iter().zip(theirs);
        let most = pairs.map(|(a, b)| a.abs_diff(*b)).max();
        assert!(most <= Some(1), "plane {p}: {most:?}");
    }
}

#[test]
fn lenscorrection_is_where_ffmpeg_has_it() {
    let Some(peer) = Peer::drawn("320x240", "yuv444p") else {
        return;
    };
    // A smooth picture, since the two are half a sample apart.
    let smooth = "gblur=4:steps=3";
    for text in ["k1=-0.2", "k1=0.1:k2=-0.1", "cx=0.4:cy=0.6:k1=-0.1"] {
        let both = format!("{smooth},lenscorrection={text}:i=bilinear,crop=200:140");
        let theirs = peer.filter(&both);
        let ours = peer.ours(&format!("gblur=4,lenscorrection={text},crop=200:140"));
        let most = apart(&ours, &theirs, text);
        assert!(most <= 24, "{text}: {most}");
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

/// FFmpeg limits sums between columns and rows to codes, which the cubic and the sinc leave at edges.
#[test]
fn every_method_is_that_of_the_scaler() {
    let Some(peer) = Peer::of("foreman_352x288_300f.264") else {
        return;
    };
    for (w, h) in [(704, 576), (176, 144), (240, 500), (500, 192), (1000, 30)] {
        for (method, most) in [
            ("bilinear", 4),
            ("bicubic", 8),
            ("lanczos", 8),
            ("area", 2),
            ("neighbor", 0),
        ] {
            let exact = format!("scale={w}:{h}:flags={method}+accurate_rnd+full_chroma_int");
            let (ours, theirs) = (peer.ours(&exact), peer.filter(&exact));
            let found = apart(&ours, &theirs, &exact);
            assert!(found <= most, "{exact}: {found} codes apart");
            let planes = ours.1.iter().enumerate();
            let more = planes.flat_map(|(p, ours)| {
                let theirs = theirs.plane_bytes(p).to_vec();
                ours.iter().copied().zip(theirs)
            });
            let more = more.filter(|(a, b)| a.abs_diff(*b) > 1).count();
            let all = (w * h) as usize * 3 / 2;
            assert!(1000 * more <= all, "{exact}: {more} of {all}");
        }
    }
    // Without flags it is bicubic.
    let same = "scale=500:400:flags=bicubic";
    assert_eq!(peer.ours("scale=500:400").1, peer.ours(same).1);
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
