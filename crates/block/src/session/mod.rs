//! Images packed, described, verified, unpacked and served: what a command line asks for.
//!
//! ```no_run
//! use evener_block::session::{Options, PackOptions, pack};
//! use evener_runtime::Runtime;
//!
//! let session = pack("disk.img".as_ref(), "disk.img.zst".as_ref(), &PackOptions::default())?;
//! let (packed, report) = session.run(&Runtime::new()?, Options::default())?;
//! println!("{packed}\n{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod info;
mod overlay;
mod pack;
mod serve;
mod ublk;
mod unpack;
mod verify;

use std::ffi::OsStr;
use std::sync::Arc;

use evener_files::{FileId, InputFile, OutputFile};
use evener_runtime::stream::{Report, StreamError};
use evener_runtime::{Runtime, Service, Sink, Source};

use crate::error::Error;
use crate::file::ImageFile;
use crate::format::Format;
use crate::image::Image;
use crate::overlay::is_overlay;
use crate::units::Trouble;

pub use error::SessionError;
pub use evener_runtime::stream::{OnProgress, RunOptions as Options};
pub use info::{CodecUse, Described, Info, describe, info};
pub use overlay::OverlayInfo;
pub use pack::{DEFAULT_BLOCK, PackOptions, PackSession, block_size, pack};
pub use serve::{DEFAULT_CACHE, ReadAhead, ServeOptions, ServeSession, Served, bytes, serve};
pub use ublk::{DEFAULT_DEPTH, Disk, DiskOptions, DiskSession, disk};
pub use unpack::{UnpackSession, unpack};
pub use verify::{Verified, VerifySession, verify};

/// Runs a stream as asked for.
fn stream<S, Src, Snk>(
    runtime: &Runtime,
    options: Options<'_>,
    trouble: &Trouble,
    (source, service, sink): (Src, S, Snk),
) -> Result<Report, SessionError>
where
    S: Service + 'static,
    Src: Source<S> + 'static,
    Snk: Sink<S> + 'static,
{
    runtime
        .stream(source)
        .through(service)
        .options(options)
        .named("units", "blocks")
        .into(sink)
        .map_err(|error| match (&error, trouble.take()) {
            (StreamError::Unit { .. }, Some(cause)) => cause.into(),
            _ => error.into(),
        })
}

/// Opens an image, of a format if one is given.
fn open(input: &OsStr, format: Option<&'static Format>) -> Result<Arc<Image>, SessionError> {
    let file = InputFile::named(input, TERMINAL).map_err(Error::from)?;
    let file = ImageFile::of(file)?;
    if format.is_none() && is_overlay(&file.bytes(0, 512)?) {
        return Err(Error::Unsupported {
            name: file.name().to_owned(),
            format: "overlay",
            what: "holds what was written over another; serve that one with --overlay".to_owned(),
        }
        .into());
    }
    Ok(Arc::new(Image::of(file, format)?))
}

const TERMINAL: &str = "is a terminal; name a file";

/// Creates an output, which may not be the input: `-` is the standard output.
fn create(output: &OsStr, input: Option<FileId>) -> Result<OutputFile, SessionError> {
    Ok(OutputFile::named(output, input.as_slice()).map_err(Error::from)?)
}
