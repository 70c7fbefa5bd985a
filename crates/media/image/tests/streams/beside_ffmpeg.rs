//! The same text gives the same frames.

use super::{clips, ffmpeg, frames, run};

/// Graphs that move samples and compute none.
const SAME: &[&str] = &[
    "fps=10",
    "fps=60",
    "fps=30000/1001",
    "hflip,fps=10:round=up,vflip",
    "fps=10:eof_action=pass",
    "trim=0.2:0.6,setpts=PTS-STARTPTS",
    "trim=start_frame=3:end_frame=9,setpts=PTS-STARTPTS",
    "trim=duration=0.4",
    "select='not(mod(n,5))',setpts=N/FRAME_RATE/TB",
    "select='gte(t,0.2)*lt(t,0.5)',setpts=PTS-STARTPTS",
    "select='eq(n,0)+gte(t-prev_selected_t,0.2)',setpts=N/FRAME_RATE/TB",
    "setpts=PTS-STARTPTS,setpts=N/FR/TB",
    "reverse",
    "framestep=3",
    "tpad=2:3",
    "tpad=stop_mode=clone:stop_duration=0.3",
    "tpad=start_duration=0.2:start_mode=clone",
    "tile=3x2",
    "tile=4x1:nb_frames=3:padding=2:margin=4:color=white",
    "hflip,tile=2x2,vflip",
    "split[a][b];[b]hflip[c];[a][c]hstack",
    "split=3[a][b][c];[b]vflip[d];[a][d][c]vstack=3",
    "split[a][b];[b]reverse[c];[a][c]concat",
    "split[a][b];[b]crop=20:10:4:6[c];[a][c]overlay=30:20",
    // FFmpeg 5.1 counts `n` of overlay from 1.
    "split[a][b];[b]crop=20:10:4:6[c];[a][c]overlay='t*100':'10+t*20'",
    "split[a][b];[b]crop=20:10[c];[a][c]overlay=-6:40",
    "crop=32:24:'n':'t*10'",
    "[0:v][1:v]hstack",
    "[0:v][1:v]vstack,hflip",
    "[0:v][1:v][0:v][1:v]xstack=4:0_0|w0_0|0_h0|w0_h0",
    "[1:v]trim=end=0.4[s];[0:v][s]overlay=10:10",
    "[1:v]trim=end=0.4[s];[0:v][s]overlay=10:10:shortest=1",
    "[1:v]trim=end=0.4[s];[0:v][s]overlay=10:10:eof_action=pass",
    "[1:v]trim=end=0.4[s];[0:v][s]hstack",
    "[1:v]trim=end=0.4[s];[0:v][s]hstack=shortest=1",
    "[0:v][1:v]concat,hflip",
    "overlay=W/2:H/2",
    "hflip=enable='between(t,0.2,0.5)'",
    "negate=enable='gt(n,4)*lt(n,9)'",
    "format=yuv444p|yuv420p,hflip",
];

#[test]
fn what_passes_on_frames_gives_the_frames_of_ffmpeg() {
    let Some(folder) = clips() else { return };
    let [a, b] = ["a.y4m", "b.y4m"].map(|name| folder.path(name));
    let (ours, theirs) = (folder.path("ours.y4m"), folder.path("theirs.y4m"));
    let mut differ = Vec::new();
    for text in SAME {
        run(text, &[&a, &b], &ours).unwrap_or_else(|error| panic!("{text}: {error}"));
        let [a, b] = [&a, &b].map(|path| path.to_str().unwrap());
        let graph = format!("{text}[out]");
        let arguments = ["-i", a, "-i", b, "-filter_complex", &graph, "-map", "[out]"];
        ffmpeg(&arguments, &theirs).unwrap().unwrap();
        let (ours, theirs) = (frames(&ours), frames(&theirs));
        let wrong = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        if ours.len() != theirs.len() || wrong.is_some() {
            let counts = (ours.len(), theirs.len());
            differ.push(format!(
                "{text}: frames {counts:?}, the first that differs {wrong:?}"
            ));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}

/// Graphs that compute samples: how far codes are apart at most.
const NEAR: &[(&str, u8)] = &[
    ("fade=in:0:10", 1),
    ("fade=t=out:st=0.2:d=0.4", 1),
    ("hue=h=90", 2),
    ("hue='h=t*360:s=1+n/20'", 2),
    ("split[a][b];[b]boxblur=3:1[c];[a][c]vstack", 1),
    ("bwdif=send_frame", 2),
    ("bwdif=parity=bff", 2),
    ("format=gray", 1),
    ("format=yuv420p10le", 0),
    ("format=yuvj420p", 1),
    ("[1:v]negate[n];[0:v][n]hstack,boxblur=2:1", 1),
];

#[test]
fn what_computes_frames_is_near_those_of_ffmpeg() {
    let Some(folder) = clips() else { return };
    let [a, b] = ["a.y4m", "b.y4m"].map(|name| folder.path(name));
    let (ours, theirs) = (folder.path("ours.y4m"), folder.path("theirs.y4m"));
    for (text, most) in NEAR {
        run(text, &[&a, &b], &ours).unwrap_or_else(|error| panic!("{text}: {error}"));
        let [a, b] = [&a, &b].map(|path| path.to_str().unwrap());
        let graph = format!("{text}[out]");
        let arguments = ["-i", a, "-i", b, "-filter_complex", &graph, "-map", "[out]"];
        ffmpeg(&arguments, &theirs).unwrap().unwrap();
        let (ours, theirs) = (frames(&ours), frames(&theirs));
        assert_eq!(ours.len(), theirs.len(), "{text}: how many frames");
        for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours.len(), theirs.len(), "{text}: frame {n}");
            let apart = ours.iter().zip(theirs).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(
                apart <= Some(*most),
                "{text}: frame {n} is {apart:?} codes apart"
            );
        }
    }
}
