//! The programs of FFmpeg and how they take file names.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use evener_files::Error as FileError;

use crate::io::error::Error;

/// The programs that decode and encode.
#[derive(Clone, Debug)]
pub struct Tools {
    /// `ffmpeg`, searched for in `PATH` unless it has a slash.
    pub ffmpeg: PathBuf,
    /// `ffprobe`; it need not be installed.
    pub ffprobe: PathBuf,
}

impl Default for Tools {
    fn default() -> Self {
        Tools {
            ffmpeg: "ffmpeg".into(),
            ffprobe: "ffprobe".into(),
        }
    }
}

/// A file to read, whose name FFmpeg takes literally.
pub(super) struct FileArgument {
    pub(super) argument: OsString,
    pub(super) stdin: Stdio,
}

impl FileArgument {
    /// FFmpeg may take a name with a `%` for a pattern and read other files, so such a file is passed open. A name that no
    /// file has is a pattern.
    pub(super) fn of(name: &str, input: &OsStr) -> Result<FileArgument, Error> {
        let literal = input.as_encoded_bytes().contains(&b'%') && Path::new(input).exists();
        if !literal || is_address(input) {
            return Ok(FileArgument {
                argument: file_argument(input),
                stdin: Stdio::null(),
            });
        }
        let opened = File::open(input).map_err(|reason| FileError::Open {
            name: name.to_owned(),
            reason,
        })?;
        Ok(FileArgument {
            argument: "file:/dev/stdin".into(),
            stdin: opened.into(),
        })
    }
}

/// A file name with the prefix `file:`. Without it, FFmpeg takes a leading `-` for an option and `a:b` for a protocol.
/// Addresses (`rtsp://…`) stay as they are.
pub(super) fn file_argument(name: &OsStr) -> OsString {
    if is_address(name) {
        return name.to_owned();
    }
    let mut argument = OsString::from("file:");
    argument.push(name);
    argument
}

/// The arguments in a text, separated by white space.
pub(super) fn split_args(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
}

/// The format of the output that arguments of `ffmpeg` ask for: the value of the last `-f`.
pub(super) fn format_of(arguments: &[OsString]) -> Option<&OsStr> {
    let pairs = arguments.windows(2).rev();
    let mut formats = pairs.filter(|pair| pair[0] == "-f");
    formats.next().map(|pair| pair[1].as_os_str())
}

/// The extension of an output: of a format that arguments ask for the usual one, otherwise that of its name, in small
/// letters.
pub(super) fn extension_of(path: &Path, arguments: &[OsString]) -> Option<String> {
    const FORMATS: [(&str, &str); 8] = [
        ("matroska", "mkv"),
        ("mpegts", "ts"),
        ("ipod", "m4v"),
        ("rawvideo", "yuv"),
        ("asf", "wmv"),
        ("ogg", "ogv"),
        ("image2", "png"),
        ("hls", "m3u8"),
    ];
    let Some(format) = format_of(arguments) else {
        return Some(path.extension()?.to_str()?.to_ascii_lowercase());
    };
    let format = format.to_str()?;
    let known = FORMATS.iter().find(|(name, _)| *name == format);
    Some(known.map_or(format, |(_, extension)| extension).to_owned())
}

/// Whether a name is an address such as `https://…`.
pub(crate) fn is_address(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'+')
    })
}

/// Whether a program can be found: named with a slash, or in `PATH`.
pub(super) fn is_installed(program: &Path) -> bool {
    let is_there = |path: &Path| path.is_file();
    match program.components().count() {
        0 | 1 => std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| is_there(&folder.join(program)))
        }),
        _ => is_there(program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_literally_and_addresses_stay() {
        for (name, argument) in [
            ("-y.mp4", "file:-y.mp4"),
            ("a:b.mp4", "file:a:b.mp4"),
            ("/x/y.mp4", "file:/x/y.mp4"),
            ("://x", "file:://x"),
            ("rtsp://host/x", "rtsp://host/x"),
        ] {
            assert_eq!(file_argument(OsStr::new(name)), argument);
        }
    }
}
