//! Packing, describing, verifying, unpacking and serving images, as `evener image` does.
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

mod directory;
mod error;
mod info;
mod input;
mod naming;
mod overlay;
mod pack;
mod pid_file;
mod range;
mod serve;
mod ublk;
mod unpack;
mod verify;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use evener_files::{FileId, FirstError, OutputFile, SourceFile};
use evener_runtime::stream::{ByteCount, Report, StreamError};
use evener_runtime::{Runtime, Service, Sink, Source};

use crate::error::Error;
use crate::file::ImageFile;
use crate::format::{Format, RAW, foreign};
use crate::image::Image;
use crate::merged::Merged;
use crate::overlay::{Base, Overlay, is_overlay};
use crate::remote;

pub use directory::FileSystem;
pub use error::SessionError;
pub use evener_runtime::stream::{OnProgress, RunOptions as Options};
pub use info::{CodecUse, Described, Info, describe, info};
pub use overlay::OverlayInfo;
pub use pack::{DEFAULT_BLOCK, PackOptions, PackSession, block_size, pack};
pub use range::ByteRange;
pub use serve::{
    DEFAULT_CACHE, ReadAhead, ServeOptions, ServeSession, Served, TlsOptions, Writes, bytes, serve,
};
pub use ublk::{DEFAULT_DEPTH, Disk, DiskOptions, DiskSession, disk};
pub use unpack::{UnpackSession, unpack};
pub use verify::{Verified, VerifySession, verify};

/// Runs a stream.
fn stream<S, Src, Snk>(
    runtime: &Runtime,
    options: Options<'_>,
    (first_error, count): (&FirstError<Error>, &ByteCount),
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
        .counting(count)
        .into(sink)
        .map_err(|error| match (&error, first_error.take()) {
            (StreamError::Unit { .. }, Some(cause)) => cause.into(),
            _ => error.into(),
        })
}

/// How to open an image.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The format; `None` recognises it.
    pub format: Option<&'static Format>,
    /// Rejects an image with a backing file, because an untrusted image may name any file.
    pub no_backing: bool,
    /// The backing file of the image, instead of the one it names. An image on a server or in a tar never selects
    /// one.
    pub backing: Option<PathBuf>,
}

/// Opens an image.
fn open(input: &OsStr, options: &OpenOptions) -> Result<Arc<Image>, SessionError> {
    let (file, is_disk) = input::file(input)?;
    // A guest may have written what looks like another format into a disk.
    let format = options.format.or_else(|| is_disk.then_some(&RAW));
    image(file, format, options)
}

/// The image in a file, of this format if one is given. Otherwise an overlay is refused, and so is a raw image that looks like
/// something else.
fn image(
    file: ImageFile,
    format: Option<&'static Format>,
    options: &OpenOptions,
) -> Result<Arc<Image>, SessionError> {
    let file = match (options.no_backing, &options.backing) {
        (true, _) => file.alone(),
        (false, Some(path)) => file.over(path),
        (false, None) => file,
    };
    if format.is_none() && is_overlay(&file.bytes(0, 512)?) {
        let what = "holds what was written over another; name that one, and this with --overlay";
        return Err(Error::Unsupported {
            name: file.name().to_owned(),
            format: "overlay",
            what: what.to_owned(),
        }
        .into());
    }
    let image = Image::of(file, format)?;
    if format.is_none() && image.format().name == RAW.name {
        let file = image.file();
        if let Some(foreign) = foreign(file)? {
            return Err(foreign.refuse(file.name()).into());
        }
    }
    if options.backing.is_some() && image.backing().is_none() {
        let name = image.file().name();
        let text = format!("--backing: {name} has no backing file; leave it out");
        return Err(SessionError::Request(text));
    }
    Ok(Arc::new(image))
}

/// An image with overlays, which lie over one another.
fn merged(image: Arc<Image>, overlays: &[PathBuf]) -> Result<Merged, SessionError> {
    let overlay = match overlays {
        [] => None,
        _ => Overlay::read_only_chain(overlays, &Base::of(&image)?)?,
    };
    Ok(Merged::new(image, overlay))
}

const TERMINAL: &str = "is a terminal; name a file";

/// Checks that an output is none of the files under an image.
fn is_no_layer(output: &OsStr, image: &Image) -> Result<(), SessionError> {
    let found = std::fs::metadata(output).ok();
    let id = found.as_ref().and_then(FileId::of);
    let name = evener_files::one_line(&output.to_string_lossy());
    for layer in image.layers() {
        let source = layer.file().source_file();
        source.exclude(id, &name).map_err(Error::from)?;
    }
    Ok(())
}

/// Creates an output: `-` is the standard output. It must not be one of the files that are read.
fn create(output: &OsStr, source: &SourceFile) -> Result<OutputFile, SessionError> {
    if let Some(reason) = output.to_str().and_then(remote::no_output) {
        let name = evener_files::one_line(&output.to_string_lossy());
        return Err(Error::from(evener_files::Error::Unfit { name, reason }).into());
    }
    Ok(OutputFile::named(output, source).map_err(Error::from)?)
}
