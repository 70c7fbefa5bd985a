//! The stages of `bwdif` on fields that were woven from a film, beside FFmpeg's and the film.

use std::path::Path;
use std::process::Command;

use evener_image::filters::bwdif::{Bwdif, Field, Intra};
use evener_image::geometry::Rect;
use evener_image::io::open_input;
use evener_image::row_view::RowView;
use evener_image::stage::{Component, Plane, RowContext, Stage};
use evener_image::{Format, Frame};
use evener_runtime::Simd;
use evener_testing::Folder;

/// Frames that are compared.
const FRAMES: usize = 10;

/// All frames that `ffmpeg` gives.
fn frames(arguments: &[&str], output: &Path) -> Vec<Frame> {
    let done = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments)
        .args(["-vsync", "0", "-strict", "-1"])
        .arg(output)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {said}");
    let mut input = open_input(output).unwrap();
    let format = *input.format();
    let mut frames = Vec::new();
    loop {
        let mut frame = Frame::new(&format);
        if !input.read(&mut frame).unwrap() {
            return frames;
        }
        frames.push(frame);
    }
}

fn codes(frame: &Frame, plane: usize) -> Vec<u16> {
    let bytes = frame.plane_bytes(plane);
    match frame.format().depth.bytes() {
        1 => bytes.iter().map(|&b| u16::from(b)).collect(),
        _ => bytemuck::pod_collect_to_vec(&bytes),
    }
}

fn bound(format: &Format, plane: usize) -> Plane {
    Plane {
        size: format.plane_size(plane),
        luma: format.plane_size(0),
        subsampling: format.chroma.subsampling(),
        chroma_subsampling: format.chroma.subsampling(),
        component: Component::Luma,
        fill: 0.0,
        codes: format.codes(plane),
        aspect: 1.0,
    }
}

/// The codes that a stage makes of plane `p` of its inputs.
fn filtered(stage: &dyn Stage, inputs: &[&Frame], p: usize) -> Vec<u16> {
    let format = inputs[0].format();
    let (size, of) = (format.plane_size(p), format.codes(p));
    let rect = Rect::of(size);
    let value = |code: u16| (f32::from(code) - of.zero()) / of.span();
    let planes: Vec<Vec<f32>> = inputs
        .iter()
        .map(|frame| codes(frame, p).into_iter().map(value).collect())
        .collect();
    let views: Vec<RowView<'_>> = planes
        .iter()
        .map(|samples| RowView::plane(samples, rect.width(), rect))
        .collect();
    let mut out = vec![0.0; size.area()];
    let mut temp = Vec::new();
    for (row, y) in out.chunks_mut(rect.width()).zip(0..) {
        let mut context = RowContext {
            simd: Simd::detect(),
            temp: &mut temp,
        };
        stage.row(&mut context, &views, y, 0, row);
    }
    let most = of.depth.maximum().unwrap() as f32;
    let code = |v: f32| {
        (v * of.span() + of.zero())
            .round_ties_even()
            .clamp(0.0, most)
    };
    out.into_iter().map(|v| code(v) as u16).collect()
}

/// The peak signal-to-noise ratio of 8-bit codes.
fn psnr<'a>(pairs: impl Iterator<Item = (&'a u16, &'a u16)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (a, b) in pairs {
        sum += (f64::from(*a) - f64::from(*b)).powi(2);
        count += 1.0;
    }
    10.0 * (255.0_f64.powi(2) * count / sum).log10()
}

#[test]
fn woven_fields_become_what_ffmpeg_makes_of_them() {
    let Some(clips) = std::env::var_os("EVENER_CLIPS") else {
        evener_testing::skip("EVENER_CLIPS names no folder of clips");
        return;
    };
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        evener_testing::skip("the program ffmpeg is not installed");
        return;
    }
    let clip = Path::new(&clips).join("foreman_352x288_300f.264");
    let (clip, folder) = (clip.to_str().unwrap(), Folder::new());
    for (pixels, order, weave) in [
        ("yuv420p", "tff", "interleave_top"),
        ("yuv420p10le", "bff", "interleave_bottom"),
    ] {
        let part = format!("trim=start_frame=150,setpts=N/25/TB,format={pixels}");
        let count = FRAMES.to_string();
        let film = format!("{part},select='not(mod(n,2))'");
        let film = frames(
            &["-i", clip, "-vf", &film, "-frames:v", &count],
            &folder.path("film.y4m"),
        );
        let path = folder.path("woven.y4m");
        let weave = format!("{part},tinterlace={weave}");
        let woven = frames(&["-i", clip, "-vf", &weave, "-frames:v", &count], &path);
        let named = path.to_str().unwrap();
        let theirs = |mode: &str| {
            let filter = format!("setfield={order},bwdif={mode}:deint=all");
            frames(&["-i", named, "-vf", &filter], &folder.path("theirs.y4m"))
        };
        let top = order == "tff";
        for (mode, second) in [("send_frame", false), ("send_field", true)] {
            let field = Field {
                top: top != second,
                second,
            };
            let all = theirs(mode);
            let per_frame = 1 + usize::from(second);
            assert_eq!((woven.len(), all.len()), (FRAMES, FRAMES * per_frame));
            let format = *woven[0].format();
            let (mut ours_all, mut theirs_all, mut film_all) = (vec![], vec![], vec![]);
            for n in 0..FRAMES {
                let theirs = &all[n * per_frame + usize::from(second)];
                let inputs = [n.saturating_sub(1), n, (n + 1).min(FRAMES - 1)].map(|i| &woven[i]);
                let alone = if second { n == FRAMES - 1 } else { n == 0 };
                for p in 0..3 {
                    let plane = bound(&format, p);
                    let ours = match alone {
                        true => filtered(&Intra::new(&plane, field), &[inputs[1]], p),
                        false => filtered(&Bwdif::new(&plane, field), &inputs, p),
                    };
                    let theirs = codes(theirs, p);
                    // In more than 8 bits FFmpeg takes rows near the edges for the edges themselves.
                    let rows = match (pixels, alone) {
                        ("yuv420p", _) => 0,
                        (_, false) => 2,
                        (_, true) => 6,
                    };
                    let wrong = rows * format.plane_size(p).w as usize;
                    let kept = wrong..ours.len() - wrong;
                    let pairs = ours[kept.clone()].iter().zip(&theirs[kept]);
                    let apart = pairs.map(|(a, b)| a.abs_diff(*b));
                    let most = apart.clone().max();
                    assert!(
                        most <= Some(1),
                        "{pixels}, {mode}, frame {n}, plane {p}: {most:?}"
                    );
                    if p == 0 && !second {
                        film_all.extend(codes(&film[n], p));
                        ours_all.extend(ours);
                        theirs_all.extend(theirs);
                    }
                }
            }
            if pixels == "yuv420p" && !second {
                let ours = psnr(film_all.iter().zip(&ours_all));
                let theirs = psnr(film_all.iter().zip(&theirs_all));
                println!("{ours:.3} dB, FFmpeg's {theirs:.3} dB");
                assert!(
                    ours > theirs - 0.02 && ours > 30.0,
                    "{ours} dB, {theirs} dB"
                );
            }
        }
    }
}
