//! Unpacking an image.

use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;

use evener_files::FileId;
use evener_runtime::Runtime;
use evener_runtime::stream::Report;

use super::{Options, SessionError, create, open, stream};
use crate::check::{BlockSource, Decode, Purpose, UnpackSink};
use crate::format::Format;
use crate::image::Image;

/// An image and an output, ready to run. Dropped before it has run it leaves no output behind.
pub struct UnpackSession {
    image: Arc<Image>,
    source: BlockSource,
    service: Decode,
    sink: UnpackSink,
}

/// Unpacks `input` into `output`, a raw image with holes where it is zero, or `-`.
///
/// # Errors
/// The input cannot be read, is damaged or of a kind that is not read; the output cannot be created.
pub fn unpack(
    input: &OsStr,
    output: &OsStr,
    format: Option<&'static Format>,
) -> Result<UnpackSession, SessionError> {
    let image = open(input, format)?;
    let out = create(output, image.file().id())?;
    Ok(UnpackSession {
        source: BlockSource::new(Arc::clone(&image)),
        service: Decode::new(Arc::clone(&image), Purpose::Unpack),
        sink: UnpackSink::new(out),
        image,
    })
}

impl UnpackSession {
    /// Units that will be read, about.
    pub fn units(&self) -> u64 {
        self.source.count()
    }

    /// The identity of the input.
    pub fn input_id(&self) -> Option<FileId> {
        self.image.file().id()
    }

    /// Runs until the image ends, or is cancelled, and then there is no output.
    ///
    /// # Errors
    /// What could not be read, decoded or written; above all a block that is not what was packed.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, SessionError> {
        let trouble = self.service.trouble();
        let parts = (self.source, self.service, self.sink);
        stream(runtime, options, &trouble, parts)
    }
}

impl fmt::Display for UnpackSession {
    /// A few lines: what is read and written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, format) = (self.image.file().name(), self.image.format().name);
        writeln!(f, "input   {name}, {format}, {} bytes", self.image.size())?;
        write!(f, "output  {}", self.sink.name())
    }
}
