//! Packing an image.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use evener_files::{FileId, InputFile};
use evener_runtime::stream::Report;
use evener_runtime::{Runtime, Service};

use super::{Options, SessionError, TERMINAL, bytes, create, image, merged, stream};
use crate::codec::{Codec, ZSTD};
use crate::error::Error;
use crate::format::{Format, RAW};
use crate::pack::{Pack, PackSink, PackSource, Packed};
use crate::{MAX_BLOCK, MIN_BLOCK};

/// Bytes of a block unless others are asked for.
pub const DEFAULT_BLOCK: u32 = 64 << 10;

/// How an image is packed.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The codec.
    pub codec: &'static Codec,
    /// Its level; the default of the codec unless given.
    pub level: Option<i32>,
    /// Bytes of a block, a power of two.
    pub block: u32,
    /// The format of the input; `None` to recognise it.
    pub format: Option<&'static Format>,
    /// An overlay of the input, which is packed together with it.
    pub overlay: Option<PathBuf>,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions {
            codec: &ZSTD,
            level: None,
            block: DEFAULT_BLOCK,
            format: None,
            overlay: None,
        }
    }
}

/// Bytes of a block from text: `64K`, `1M`, `65536`.
///
/// # Errors
/// It is no power of two, or too small or too large.
pub fn block_size(text: &str) -> Result<u32, String> {
    let size = bytes(text).ok().and_then(|size| u32::try_from(size).ok());
    let fits = |size: &u32| size.is_power_of_two() && (4096..=MAX_BLOCK).contains(size);
    size.filter(fits).ok_or_else(|| {
        let most = MAX_BLOCK >> 20;
        format!("'{text}' is no size of a block: a power of two from 4K to {most}M")
    })
}

/// An input, a codec and an output, ready to run. If it is dropped before it has run, there is no output.
pub struct PackSession {
    source: PackSource,
    service: Pack,
    sink: PackSink,
}

/// Packs `input`, an image or `-` for a raw image from a pipe, into `output`, a file or `-`. A file as standard input
/// is read as if it were named.
///
/// # Errors
/// The input cannot be read, is damaged or not supported; the options contradict each other; or the output cannot be
/// created.
pub fn pack(
    input: &OsStr,
    output: &OsStr,
    options: &PackOptions,
) -> Result<PackSession, SessionError> {
    let (codec, block, overlay) = (options.codec, options.block, options.overlay.as_deref());
    let level = level(codec, options.level)?;
    if !block.is_power_of_two() || !(MIN_BLOCK..=MAX_BLOCK).contains(&block) {
        return Err(SessionError::Request(format!("no block has {block} bytes")));
    }
    let file = InputFile::named(input, TERMINAL).map_err(Error::from)?;
    let source = match input.to_str() {
        Some("-" | "/dev/stdin") if !file.is_file() => {
            if let Some(format) = options.format.filter(|format| format.name != RAW.name) {
                let name = format.name;
                let text = format!(
                    "--format {name}: only a raw image can come through a pipe; name a file"
                );
                return Err(SessionError::Request(text));
            }
            if overlay.is_some() {
                let text = "--overlay: the image under it cannot come through a pipe; name a file";
                return Err(SessionError::Request(text.to_owned()));
            }
            file.expect_sequential();
            PackSource::pipe(file, block, options.format.is_some())
        }
        _ => PackSource::image(merged(image(file, options.format)?, overlay)?, block),
    };
    let out = create(output, &source.source_file())?;
    let merged = source.as_image().cloned();
    let under = merged.as_ref().map(|merged| Arc::clone(merged.image()));
    Ok(PackSession {
        source,
        service: Pack::new(codec, level, block, merged),
        sink: PackSink::new(out, under, (codec, level, block)),
    })
}

/// The level to use.
fn level(codec: &Codec, asked: Option<i32>) -> Result<i32, SessionError> {
    let request = |text| Err(SessionError::Request(text));
    let name = codec.name;
    match (codec.levels, asked) {
        (None, None) => Ok(0),
        (None, Some(_)) => request(format!("--level: {name} has no levels; leave it out")),
        (Some(levels), None) => Ok(levels.default),
        (Some(levels), Some(level)) => match (levels.min..=levels.max).contains(&level) {
            true => Ok(level),
            false => request(format!(
                "--level {level}: {name} has levels {} to {}",
                levels.min, levels.max
            )),
        },
    }
}

impl PackSession {
    /// Bytes of the image, if they are known.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.source.as_image()?.image().size())
    }

    /// The identity of the input, if it is a file.
    pub fn input_id(&self) -> Option<FileId> {
        self.source.source_file().id()
    }

    /// Runs to the end of the input. If it is cancelled, there is no output.
    ///
    /// # Errors
    /// What could not be read, packed or written.
    pub fn run(
        self,
        runtime: &Runtime,
        options: Options<'_>,
    ) -> Result<(Packed, Report), SessionError> {
        let (first_error, result) = (self.service.first_error(), self.sink.result());
        let count = self.sink.count();
        let parts = (self.source, self.service, self.sink);
        let report = stream(runtime, options, (&first_error, &count), parts)?;
        Ok((result(), report))
    }
}

impl fmt::Display for PackSession {
    /// A few lines: input, kernel and output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input   {}", self.source.name())?;
        match self.source.as_image() {
            Some(merged) => write!(f, ", {merged}")?,
            None => f.write_str(", raw")?,
        }
        writeln!(f, "\nkernel  {}", self.service.key())?;
        write!(f, "output  {}", self.sink.name())
    }
}
