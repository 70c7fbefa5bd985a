//! Filters with FFmpeg's names, arguments and defaults, against FFmpeg's own: text that was written for it means the same.

use crate::peers::{Peer, apart};

/// How far each of `texts` is from FFmpeg's at most, in codes.
fn within(pixels: &str, most: u16, texts: &[&str]) {
    let Some(peer) = Peer::drawn("98x66", pixels) else {
        return;
    };
    for text in texts {
        let theirs = peer.filter(&format!("{text},format={pixels}"));
        let apart = apart(&peer.ours(text), &theirs, text);
        println!("{pixels}: {text}: {apart}");
        assert!(apart <= most, "{text}, {pixels}: {apart} codes apart");
    }
}

const EIGHT_TO_TWELVE: [&str; 6] = [
    "gray",
    "yuv420p",
    "yuv422p",
    "yuvj444p",
    "yuv420p10le",
    "yuv444p12le",
];

/// FFmpeg rounds to codes after each pass, and in 16 bits its factor is not one over the number of samples.
#[test]
fn boxblur_and_avgblur_are_within_a_code_of_those_of_ffmpeg() {
    let texts = [
        "boxblur",
        "boxblur=1:1",
        "boxblur=10:1",
        "boxblur=5:4:2:1",
        "boxblur=3:0:2",
        "boxblur='min(w,h)/10':1:'min(cw,ch)/8'",
        "boxblur=lr=4:lp=3:cr=0:cp=2",
        "avgblur",
        "avgblur=4",
        "avgblur=7:15:2",
        "avgblur=sizeX=3:planes=1",
        "avgblur=20:6",
    ];
    for pixels in EIGHT_TO_TWELVE {
        let most = if pixels.ends_with("12le") { 2 } else { 1 };
        within(pixels, most, &texts);
    }
    // A sixteenth of a code of 8 bits.
    within("yuv444p16le", 16, &texts);
}

/// Halves of a code are cut off by FFmpeg.
/// Where chroma is halved, FFmpeg blends it up to four times.
/// FFmpeg cuts fractions off, after it has added noise of up to a code unless that is turned off.
