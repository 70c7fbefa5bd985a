//! The kind of an output by its extension.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;

use evener_files::{Destination, Error as FileError, SourceFile, Staged, one_line};

use crate::io::error::Error;
use crate::io::ffmpeg::log_line::summary;
use crate::io::ffmpeg::process::output;
use crate::io::ffmpeg::tools::{
    Tools, extension_of, file_argument, format_of, is_installed, split_args,
};
use crate::io::numbered::Numbered;

/// What a file of some extension can hold, as FFmpeg chooses the format and the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// H.264 by x264: colours, how the picture was mastered, interlacing.
    H264,
    /// MPEG-2: colours and interlacing.
    Mpeg2,
    /// Colours, but no interlacing.
    Tagged,
    /// The frames alone.
    Plain,
    /// The samples of frames alone, of which not even the size is said.
    Raw,
    /// One picture.
    Picture,
    /// Numbered pictures, a file for each frame.
    Pictures,
}

const KINDS: [(Kind, &[&str]); 5] = [
    (Kind::H264, &["mkv", "mp4", "mov", "m4v"]),
    (Kind::Mpeg2, &["ts", "mts", "m2ts", "mxf", "vob"]),
    (Kind::Tagged, &["webm"]),
    (
        Kind::Plain,
        &["avi", "mpg", "mpeg", "ogv", "flv", "wmv", "gif"],
    ),
    (Kind::Raw, &["yuv", "rgb"]),
];

/// Extensions of pictures.
const PICTURES: [&str; 25] = [
    "bmp", "dpx", "exr", "j2c", "j2k", "jls", "jp2", "jpeg", "jpg", "jxl", "pam", "pbm", "pcx",
    "pfm", "pgm", "png", "ppm", "qoi", "ras", "sgi", "tga", "tif", "tiff", "xbm", "xwd",
];

/// Extensions of playlists, whose parts FFmpeg writes to files of their own.
const LISTS: [&str; 4] = ["f4m", "ism", "m3u8", "mpd"];

impl Kind {
    /// The kind of a file of that name, which `ffmpeg` writes with these arguments.
    ///
    /// # Errors
    /// The name has no extension and the arguments no format, FFmpeg has no format or no encoder for it, it stands for a
    /// playlist, or FFmpeg is not installed.
    pub(crate) fn of(tools: &Tools, path: &Path, arguments: &[OsString]) -> Result<Kind, Error> {
        let name = one_line(&path.to_string_lossy());
        let unfit = |reason| {
            let name = name.clone();
            Err(FileError::Unfit { name, reason }.into())
        };
        let Some(extension) = extension_of(path, arguments) else {
            return unfit(
                "has no extension to choose a format by; use .y4m, .mkv, .mp4 or another, \
                 or end with -- -f FORMAT",
            );
        };
        if LISTS.contains(&extension.as_str()) {
            return unfit(
                "lists of several files are not written; \
                 write a .mp4, then: ffmpeg -i FILE.mp4 -c copy LIST",
            );
        }
        if !is_installed(&tools.ffmpeg) {
            return Err(Error::NoProgram {
                name,
                program: one_line(&tools.ffmpeg.to_string_lossy()),
            });
        }
        if PICTURES.contains(&extension.as_str()) {
            return Ok(match Numbered::of(path) {
                Some(_) => Kind::Pictures,
                None => Kind::Picture,
            });
        }
        let mut known = KINDS
            .iter()
            .filter(|(_, all)| all.contains(&extension.as_str()));
        if let Some((kind, _)) = known.next() {
            return Ok(*kind);
        }
        if format_of(arguments).is_none() {
            try_out(tools, path, &name)?;
        }
        Ok(Kind::Plain)
    }

    /// Whether a file is a picture.
    pub(super) fn is_picture(self) -> bool {
        matches!(self, Kind::Picture | Kind::Pictures)
    }

    /// Whether a file can hold other streams, chapters or titles beside the video.
    pub(super) fn holds_others(self) -> bool {
        !self.is_picture() && self != Kind::Raw
    }

    /// Whether colour tags are kept.
    pub(super) fn keeps_colour(self) -> bool {
        matches!(self, Kind::H264 | Kind::Mpeg2 | Kind::Tagged)
    }

    /// Whether fields of frames of this height can be kept apart.
    pub(super) fn keeps_fields(self, height: u32) -> bool {
        matches!(self, Kind::H264 | Kind::Mpeg2) && height.is_multiple_of(4)
    }
}

/// Encodes a black frame to find out whether FFmpeg knows the extension.
fn try_out(tools: &Tools, path: &Path, name: &str) -> Result<(), Error> {
    let create = |reason| FileError::Create {
        name: name.to_owned(),
        reason,
    };
    let Destination::File { path, .. } = Destination::of(path).map_err(create)? else {
        return Ok(());
    };
    let staged = Staged::named(&path, SourceFile::default().mode(), None)?;
    let temporary = staged.temporary().unwrap_or(&path);
    let mut arguments = split_args(
        "-v level+error -nostdin -y -f rawvideo -pixel_format yuv420p -video_size 352x288 -framerate 25 \
         -i file:/dev/zero -frames:v 1",
    );
    arguments.push(file_argument(temporary.as_os_str()));
    let arguments: Vec<&OsStr> = arguments.iter().map(|a| a.as_os_str()).collect();
    let Some((ended, log)) = output(name, &tools.ffmpeg, &arguments, Stdio::null())? else {
        return Ok(());
    };
    if ended.status.success() {
        return Ok(());
    }
    let temporary = temporary.to_string_lossy();
    let said = summary(log.first()).replace(&format!("file:{temporary}"), name);
    Err(Error::NoEncoder {
        name: name.to_owned(),
        said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_several_files_or_nothing_is_refused() {
        let tools = Tools {
            ffmpeg: "/bin/sh".into(),
            ..Tools::default()
        };
        let of = |name: &str| Kind::of(&tools, Path::new(name), &[]);
        assert_eq!(of("a.MP4").unwrap(), Kind::H264);
        assert_eq!(of("100%d.jpg").unwrap(), Kind::Pictures);
        assert_eq!(of("100%.jpg").unwrap(), Kind::Picture);
        let with = |name: &str, arguments: &str| {
            Kind::of(&tools, Path::new(name), &split_args(arguments)).unwrap()
        };
        assert_eq!(with("film", "-crf 18 -f matroska"), Kind::H264);
        assert_eq!(with("film.mkv", "-f rawvideo"), Kind::Raw);
        assert_eq!(with("film", "-f nut"), Kind::Plain);
        for name in ["film", "film.m3u8"] {
            assert!(matches!(
                of(name),
                Err(Error::File(FileError::Unfit { .. }))
            ));
        }
    }
}
