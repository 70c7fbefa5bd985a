//! FFmpeg's names: of filters here, of filters here that differ from FFmpeg's, and of filters that are missing here.

use super::interlaced::{BWDIF, YADIF};
use super::{Entry, boxblur, flip, gaussian, resize, undistort};

/// Other names of filters: those of FFmpeg, with the defaults of its arguments as far as they are there.
pub const NAMES: &[Entry] = &[
    flip::HFLIP,
    flip::VFLIP,
    resize::SCALE,
    gaussian::GBLUR,
    boxblur::AVGBLUR,
    undistort::LENSCORRECTION,
    BWDIF,
    YADIF,
];

/// Filters here that FFmpeg does not have.
pub const OWN: &[&str] = &[
    "blur",
    "gaussian",
    "sobel_x",
    "sobel_y",
    "binary",
    "posterize",
    "discrete",
    "undistort",
    "resize",
    "flip",
    "denoise",
    "deinterlace",
];

/// How a filter differs from FFmpeg's filter of the same name, each as a part of a sentence.
pub const DIFFERENCES: &[(&str, &str)] = &[
    (
        "rotate",
        "degrees counter-clockwise; in FFmpeg radians clockwise",
    ),
    (
        "sobel",
        "the magnitude of the luma gradient, chroma grey; FFmpeg's scale and planes are missing",
    ),
    (
        "threshold",
        "keeps or clears samples by one value; FFmpeg's compares four inputs",
    ),
    (
        "crop",
        "one value is the fraction of both sides to keep; in FFmpeg it is the width",
    ),
    (
        "gblur",
        "a kernel of radius 3 sigma, within a code; FFmpeg approximates it by recursion",
    ),
    (
        "lenscorrection",
        "interpolates, like FFmpeg's `i=bilinear`; by default FFmpeg takes the nearest sample",
    ),
    (
        "overlay",
        "without alpha, unless the second input is an image; FFmpeg blends any alpha",
    ),
    (
        "yadif",
        "computed as bwdif, which gives better pictures; FFmpeg's yadif interpolates otherwise",
    ),
    (
        "setpts",
        "the output has a constant rate, so frames are repeated or dropped; FFmpeg's may have any times",
    ),
    (
        "select",
        "`scene` compares frames of the input; FFmpeg compares what comes out of the filters before",
    ),
    (
        "format",
        "RGB stands for 4:4:4, and alpha is dropped; FFmpeg converts to what is named",
    ),
    (
        "eq",
        "black, mid-grey and white are those of the range; in FFmpeg codes 0, 127.5 and 255",
    ),
    (
        "median",
        "radius 1; FFmpeg offers other radii and other ranks than the middle",
    ),
    (
        "boxblur",
        "one mean with the weights of all; FFmpeg rounds to codes after each",
    ),
    (
        "lut",
        "minval and maxval are those of the input's range; in FFmpeg full range only in formats named yuvj",
    ),
    (
        "drawbox",
        "subsampled chroma is blended once; FFmpeg blends it again for each luma sample, and has no white of full range",
    ),
    (
        "vignette",
        "towards black and grey of the range, without noise; FFmpeg dims codes towards 0 and 127",
    ),
];

/// Filters that are missing here and that users of FFmpeg look for, each with what to do instead.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("bilateral", "use `denoise`"),
    ("hqdn3d", "use `denoise`"),
    ("nlmeans", "use `denoise`"),
    ("elbg", "use `posterize`"),
    ("edgedetect", "use `sobel`"),
    ("prewitt", "use `sobel`"),
    ("zscale", "use `scale`"),
    (
        "drawtext",
        "make a picture of the text, and use `overlay` with its name",
    ),
    (
        "perspective",
        "there is `undistort`, `rotate` and `transpose`",
    ),
];
