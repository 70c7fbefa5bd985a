//! FFmpeg's names: of filters here, of filters here that differ from FFmpeg's, and of filters that are missing here.

use super::{Entry, flip, gaussian, resize, undistort};

/// Other names of filters: those of FFmpeg, with the defaults of its arguments as far as they are there.
pub const NAMES: &[Entry] = &[
    flip::HFLIP,
    flip::VFLIP,
    resize::SCALE,
    gaussian::GBLUR,
    undistort::LENSCORRECTION,
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
        "scale",
        "bilinear, bicubic, lanczos, area and neighbor; keeps the sample aspect ratio, which FFmpeg changes",
    ),
    (
        "gblur",
        "a kernel of radius 3 sigma, within a code; FFmpeg approximates it by recursion",
    ),
    (
        "lenscorrection",
        "interpolates, like FFmpeg's `i=bilinear`; by default FFmpeg takes the nearest sample",
    ),
    ("overlay", "an image file; in FFmpeg a second input"),
    (
        "eq",
        "black, mid-grey and white are those of the range; in FFmpeg codes 0, 127.5 and 255",
    ),
    (
        "median",
        "radius 1 on every plane; FFmpeg offers other radii and single planes",
    ),
];

const ASPECT: &str =
    "the aspect of the input is kept; where ffmpeg writes the output, end with `-- -aspect 16:9`";

/// Filters that are missing here and that users of FFmpeg look for, each with what to do instead.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("fps", "use the option `--fps`"),
    ("trim", "use the options `--start` and `--frames`"),
    ("yadif", "use `deinterlace`"),
    ("bwdif", "use `deinterlace`"),
    ("bilateral", "use `denoise`"),
    ("hqdn3d", "use `denoise`"),
    ("nlmeans", "use `denoise`"),
    ("boxblur", "use `gaussian`"),
    ("avgblur", "use `gaussian`"),
    ("elbg", "use `posterize`"),
    ("edgedetect", "use `sobel`"),
    ("prewitt", "use `sobel`"),
    ("zscale", "use `scale`"),
    ("hue", "use `eq`"),
    (
        "negate",
        "there is no such filter; `eq=contrast=-1` inverts luma",
    ),
    (
        "invert",
        "there is no such filter; `eq=contrast=-1` inverts luma",
    ),
    (
        "fade",
        "no filter changes with time here; ffmpeg can fade before or after",
    ),
    ("setsar", ASPECT),
    ("setdar", ASPECT),
    ("select", "use the options `--start` and `--frames`"),
    ("movie", "use `overlay` with the name of a picture"),
    (
        "drawtext",
        "make a picture of the text, and use `overlay` with its name",
    ),
    ("split", "a graph is one chain here"),
    (
        "perspective",
        "there is `undistort`, `rotate` and `transpose`",
    ),
    (
        "format",
        "the format of the input is kept; ffmpeg can change it before or after",
    ),
];
