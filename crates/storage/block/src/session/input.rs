//! What an input is: a file, or something on a server.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use evener_files::InputFile;

use super::{SessionError, TERMINAL};
use crate::error::Error;
use crate::file::ImageFile;
use crate::remote::{self, Found};

/// An input.
pub enum Input {
    /// A file, or a pipe as standard input.
    File(InputFile),
    /// A disk of an NBD server. A guest may have written what looks like another format into it.
    Disk(ImageFile),
    /// A file of a web server.
    Remote(ImageFile),
    /// A file of a web server that gives no ranges.
    Stream {
        /// What messages call it.
        name: String,
        /// All of it, in order.
        input: Box<dyn Read + Send>,
    },
}

/// Opens an input by its text: a path, `-`, or a URL.
///
/// # Errors
/// There is no such input.
pub fn find(text: &OsStr) -> Result<Input, SessionError> {
    let Some(found) = text.to_str().and_then(remote::find) else {
        let file = InputFile::named(text, TERMINAL).map_err(Error::from)?;
        return Ok(Input::File(file));
    };
    let (name, found) = found?;
    Ok(match found {
        Found::Stream(input) => Input::Stream { name, input },
        Found::Image { remote, is_disk } => match is_disk {
            true => Input::Disk(ImageFile::remote(name, remote)),
            false => Input::Remote(ImageFile::remote(name, remote)),
        },
    })
}

/// A file that can be read at any place, here or on a server, and whether it is a disk of an NBD server.
///
/// # Errors
/// There is no such file, or it can only be read in order.
pub fn file(text: &OsStr) -> Result<(ImageFile, bool), SessionError> {
    match find(text)? {
        Input::File(file) => Ok((named(text, file)?, false)),
        Input::Remote(file) => Ok((file, false)),
        Input::Disk(file) => Ok((file, true)),
        Input::Stream { name, .. } => {
            let what = "the server gives no ranges of a file (as python's http.server), and an image is read at any \
                        place; download it first";
            let what = what.to_owned();
            Err(Error::Remote { name, what }.into())
        }
    }
}

/// The file that a path names.
///
/// # Errors
/// It is a pipe or a terminal.
pub fn named(text: &OsStr, file: InputFile) -> Result<ImageFile, SessionError> {
    let file = ImageFile::of(file)?;
    Ok(match text.to_str() {
        Some("-" | "/dev/stdin") => file,
        _ => file.of_path(Path::new(text)),
    })
}
