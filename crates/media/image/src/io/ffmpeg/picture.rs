//! Pictures with transparency, from any file that FFmpeg reads.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use evener_files::{Error as FileError, one_line};

use crate::format::Size;
use crate::io::error::Error;
use crate::io::ffmpeg::log_line::summary;
use crate::io::ffmpeg::process::output;
use crate::io::ffmpeg::tools::{Tools, file_argument, split_args};

/// The longest side.
const MOST: u32 = 65536;

/// A picture: red, green, blue and opacity of each sample, row after row, codes of 8 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) size: Size,
    pub(crate) samples: Vec<[u8; 4]>,
}

impl Picture {
    /// Reads the picture of a file.
    ///
    /// # Errors
    /// There is no such file, it holds no picture or several, or `ffmpeg` is not installed.
    pub(crate) fn read(tools: &Tools, file: &OsStr) -> Result<Picture, Error> {
        Picture::read_with(tools, file, "")
    }

    /// The same, after filters of FFmpeg.
    ///
    /// # Errors
    /// As [`Picture::read`]; or a filter is refused.
    pub(crate) fn read_with(tools: &Tools, file: &OsStr, filters: &str) -> Result<Picture, Error> {
        let name = one_line(&file.to_string_lossy());
        let open = |reason| FileError::Open {
            name: name.clone(),
            reason,
        };
        // A PAM takes no program.
        if Path::new(file).extension() == Some(OsStr::new("pam"))
            && filters.is_empty()
            && let Some((picture, _)) = Picture::of_pam(&fs::read(file).map_err(open)?)
        {
            return Ok(picture);
        }
        fs::File::open(file).map_err(open)?;
        let mut arguments = split_args("-v level+error -nostdin -i");
        arguments.push(file_argument(file));
        if !filters.is_empty() {
            arguments.extend(["-vf".into(), filters.into()]);
        }
        // PAM says its size, and has opacity.
        arguments.extend(split_args(
            "-map 0:v:0 -frames:v 2 -f image2pipe -c:v pam -pix_fmt rgba pipe:1",
        ));
        let arguments: Vec<&OsStr> = arguments.iter().map(|a| a.as_os_str()).collect();
        let program = one_line(&tools.ffmpeg.to_string_lossy());
        let ended = output(&name, &tools.ffmpeg, &arguments, Stdio::null())?;
        let Some((ended, log)) = ended else {
            return Err(Error::NoProgram { name, program });
        };
        match Picture::of_pam(&ended.stdout) {
            Some((_, rest)) if !rest.is_empty() => {
                let reason = "is a video, and one picture is needed; \
                              make it by: ffmpeg -i VIDEO -frames:v 1 PICTURE.png";
                Err(FileError::Unfit { name, reason }.into())
            }
            Some((picture, _)) if ended.status.success() => Ok(picture),
            _ => Err(Error::Ffmpeg {
                name,
                program,
                frames: 0,
                said: summary(log.last()),
            }),
        }
    }

    /// Reads a PAM of four samples of 8 bits, and what is behind it; `None` if it is none, or cut.
    fn of_pam(bytes: &[u8]) -> Option<(Picture, &[u8])> {
        const END: &[u8] = b"ENDHDR\n";
        let end = bytes.windows(END.len()).position(|window| window == END)?;
        let header = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = header.lines();
        (lines.next()? == "P7").then_some(())?;
        let value = |name: &str| -> Option<u32> {
            let mut lines = header.lines();
            lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        let size = Size {
            w: value("WIDTH ").filter(|w| (1..=MOST).contains(w))?,
            h: value("HEIGHT ").filter(|h| (1..=MOST).contains(h))?,
        };
        (value("DEPTH ")? == 4 && value("MAXVAL ")? == 255).then_some(())?;
        let bytes = &bytes[end + END.len()..];
        let (samples, rest) = bytes.split_at_checked(4 * size.area())?;
        let samples = samples.as_chunks::<4>().0.to_vec();
        Some((Picture { size, samples }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pam_is_read() {
        let header = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n";
        let samples = [1, 2, 3, 4, 5, 6, 7, 8];
        let all = [header.as_bytes(), &samples].concat();
        let (picture, rest) = Picture::of_pam(&all).unwrap();
        assert!(rest.is_empty());
        let twice = [&all[..], &all].concat();
        assert_eq!(Picture::of_pam(&twice).unwrap().1, all);
        assert_eq!(picture.size, Size { w: 2, h: 1 });
        assert_eq!(picture.samples, [[1, 2, 3, 4], [5, 6, 7, 8]]);
        for cut in 0..all.len() {
            assert_eq!(Picture::of_pam(&all[..cut]), None, "{cut}");
        }
        let deep = String::from_utf8_lossy(&all).replace("255", "65535");
        assert_eq!(Picture::of_pam(deep.as_bytes()), None);
    }
}
