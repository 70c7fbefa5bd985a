//! Unpacking an image.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use evener_files::FileId;
use evener_runtime::Runtime;
use evener_runtime::stream::Report;

use super::naming::{RAW_OUTPUT, named_as};
use super::{OpenOptions, Options, SessionError, create, is_no_layer, merged, open, stream};
use crate::check::{BlockSource, Decode, Purpose, UnpackSink};
use crate::error::Error;
use crate::merged::Merged;

/// An image and an output, ready to run. If it is dropped before it has run, there is no output.
pub struct UnpackSession {
    merged: Merged,
    source: BlockSource,
    service: Decode,
    sink: UnpackSink,
}

/// Unpacks `input`, with stacked overlays, into `output`: a raw image with holes for zeros, or `-`.
///
/// # Errors
/// The input cannot be read, is damaged, or is not supported; an overlay belongs to another image or is in use; or
/// the output cannot be created.
pub fn unpack(
    input: &OsStr,
    output: &OsStr,
    options: OpenOptions,
    overlays: &[PathBuf],
) -> Result<UnpackSession, SessionError> {
    let merged = merged(open(input, &options)?, overlays)?;
    let image = merged.image();
    is_no_layer(output, image)?;
    named_as(output, &RAW_OUTPUT)?;
    let out = create(output, &merged.source_file())?;
    out.fits(image.size()).map_err(Error::from)?;
    Ok(UnpackSession {
        source: BlockSource::new(merged.clone()),
        service: Decode::new(merged.clone(), Purpose::Unpack),
        sink: UnpackSink::new(Arc::clone(image), out),
        merged,
    })
}

impl UnpackSession {
    /// The size of the image in bytes.
    pub fn bytes(&self) -> u64 {
        self.merged.image().size()
    }

    /// The identity of the input.
    pub fn input_id(&self) -> Option<FileId> {
        self.merged.image().file().source_file().id()
    }

    /// Runs to the end of the image. If it is cancelled, there is no output.
    ///
    /// # Errors
    /// Reading, decoding or writing failed, or a checksum is wrong.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, SessionError> {
        let (first_error, count) = (self.service.first_error(), self.sink.count());
        let parts = (self.source, self.service, self.sink);
        stream(runtime, options, (&first_error, &count), parts)
    }
}

impl fmt::Display for UnpackSession {
    /// Two lines: input and output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (merged, name) = (&self.merged, self.merged.image().file().name());
        writeln!(f, "input   {name}, {merged}")?;
        write!(f, "output  {}", self.sink.name())
    }
}
