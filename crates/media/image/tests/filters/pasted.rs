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

#[test]
fn negate_gives_the_codes_of_ffmpeg() {
    for pixels in EIGHT_TO_TWELVE.into_iter().chain(["yuv444p16le"]) {
        within(pixels, 0, &["negate", "negate=y", "negate,negate"]);
        if pixels != "gray" {
            within(pixels, 0, &["negate=components=u+v", "negate=y+v"]);
        }
    }
}

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

#[test]
fn lut_gives_the_codes_of_ffmpeg() {
    for pixels in ["gray", "yuv420p", "yuv444p", "yuv420p10le", "yuv444p12le"] {
        within(
            pixels,
            0,
            &[
                "lutyuv",
                "lutyuv=y=negval:u=negval:v=negval",
                "lut=negval",
                "lut=c0=val/2:c1=128",
                "lut=y='val*1.3-20':u='clip(val,100,140)'",
                "lutyuv=y=gammaval(0.5)",
                "lutyuv=y='gammaval709(0.5)':v=maxval-val/3",
                "lutyuv='if(gt(val,maxval/2),maxval,minval)'",
            ],
        );
    }
}

/// Halves of a code are cut off by FFmpeg.
#[test]
fn hue_is_within_a_code_of_that_of_ffmpeg() {
    for pixels in ["yuv420p", "yuv444p", "yuvj420p", "yuv420p10le"] {
        within(
            pixels,
            1,
            &[
                "hue=s=0",
                "hue=s=1.7",
                "hue=s=-1",
                "hue=b=1.3",
                "hue=0:0.5:b=-2",
            ],
        );
    }
}

#[test]
fn gamma_of_colours_is_within_two_codes_of_that_of_ffmpeg() {
    let texts = [
        "eq=gamma_r=1.5",
        "eq=gamma_g=0.7",
        "eq=gamma_b=2.2:gamma_r=0.6",
        "eq=gamma=1.6:gamma_weight=0.5",
        "eq=1:0:1.2:1.3:1.1:0.9:0.8:0.7",
    ];
    within("yuvj420p", 2, &texts);
    within("gray", 2, &["eq=gamma=1.6:gamma_weight=0.5"]);
}

/// Where chroma is halved, FFmpeg blends it up to four times.
#[test]
fn drawbox_is_within_a_code_of_that_of_ffmpeg() {
    let opaque = [
        "drawbox",
        "drawbox=3:1:27:15:red:1",
        "drawbox=x=iw/3:y=ih/5:w=iw/3:h=ih/2:color=white:t=fill",
        "drawbox=-5:-4:30:20:blue:7",
        "drawbox=x=iw-w-3:y=ih-h:w=t*5:h=w/2:c=0x208040:t=4",
        "drawbox=0:60:200:30:yellow:2",
    ];
    for pixels in ["yuv420p", "yuv422p", "yuv444p"] {
        within(pixels, 1, &opaque);
    }
    within(
        "yuv444p",
        1,
        &[
            "drawbox=9:9:40:30:red@0.5:6",
            "drawbox=1:2:30:40:#20a0f060:t=fill",
        ],
    );
}

/// FFmpeg cuts fractions off, after it has added noise of up to a code unless that is turned off.
#[test]
fn vignette_is_within_a_code_of_that_of_ffmpeg() {
    let Some(peer) = Peer::drawn("98x66", "gray") else {
        return;
    };
    for text in [
        "vignette",
        "vignette=PI/3",
        "vignette=a=0.6:x0=w/2-12:y0=h-10",
        "vignette=PI/5:mode=backward",
    ] {
        let theirs = peer.filter(&format!("{text}:dither=0").replace("vignette:", "vignette="));
        let apart = apart(&peer.ours(text), &theirs, text);
        assert!(apart <= 1, "{text}: {apart} codes apart");
    }
}

#[test]
fn median_of_planes_gives_the_codes_of_ffmpeg() {
    within("yuv420p", 0, &["median=1", "median=planes=1", "median=1:6"]);
}
