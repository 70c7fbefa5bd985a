//! Inputs: files, or images on servers.

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
    /// A disk on an NBD server. A guest may have written bytes into it that look like another format.
    Disk(ImageFile),
    /// A file of a web server.
    Remote(ImageFile),
    /// A file on a web server that does not support ranges.
    Stream {
        /// The name in messages.
        name: String,
        /// Its bytes, in order.
        input: Box<dyn Read + Send>,
    },
}

/// Opens the input with this name: a path, `-`, or a URL.
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

/// Opens a file that can be read at any offset, local or on a server, and returns whether it is a disk on an NBD
/// server.
///
/// # Errors
/// There is no such file, or it can only be read sequentially.
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

/// Opens the file at a path.
///
/// # Errors
/// The file is a pipe or a terminal.
pub fn named(text: &OsStr, file: InputFile) -> Result<ImageFile, SessionError> {
    let file = ImageFile::of(file)?;
    Ok(match text.to_str() {
        Some("-" | "/dev/stdin") => file,
        _ => file.of_path(Path::new(text)),
    })
}
