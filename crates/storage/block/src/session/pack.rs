//! Packing an image.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evener_files::{FileId, InputFile};
use evener_runtime::stream::Report;
use evener_runtime::{Runtime, Service};

use super::input::{self, Input};
use super::naming::{self, named_as};
use super::{
    FileSystem, OpenOptions, Options, SessionError, bytes, create, directory, image, is_no_layer,
    merged, stream,
};
use crate::codec::{Codec, ZSTD};
use crate::compressed::{Compression, FRONT};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::RAW;
use crate::pack::{Pack, PackSink, PackSource, Packed, Sequential};
use crate::{MAX_BLOCK, MIN_BLOCK};

/// The default block size in bytes.
pub const DEFAULT_BLOCK: u32 = 64 << 10;

/// How to pack an image.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The codec.
    pub codec: &'static Codec,
    /// Its level; by default that of the codec.
    pub level: Option<i32>,
    /// The block size in bytes, a power of two.
    pub block: u32,
    /// How to open the input.
    pub open: OpenOptions,
    /// Stacked overlays of the input, which are packed together with it.
    pub overlays: Vec<PathBuf>,
    /// The file system for packing a directory; by default ext4.
    pub file_system: Option<FileSystem>,
    /// The size of an ext4 in bytes; by default as large as the directory needs.
    pub size: Option<u64>,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions {
            codec: &ZSTD,
            level: None,
            block: DEFAULT_BLOCK,
            open: OpenOptions::default(),
            overlays: Vec::new(),
            file_system: None,
            size: None,
        }
    }
}

/// Parses a block size: `64K`, `1M`, `65536`.
///
/// # Errors
/// It is not a power of two, or too small or too large.
pub fn block_size(text: &str) -> Result<u32, String> {
    let size = bytes(text).ok().and_then(|size| u32::try_from(size).ok());
    let fits = |size: &u32| size.is_power_of_two() && (4096..=MAX_BLOCK).contains(size);
    size.filter(fits).ok_or_else(|| {
        let most = MAX_BLOCK >> 20;
        format!("'{text}' is not a block size: a power of two from 4K to {most}M")
    })
}

/// An input, a codec and an output, ready to run. If it is dropped before it has run, there is no output.
pub struct PackSession {
    source: PackSource,
    service: Pack,
    sink: PackSink,
}

/// Packs `input` into `output`, a file or `-`. The input is an image, a URL of one, a directory, or `-` for a raw
/// image from a pipe. A file as the standard input is treated as if it were named. A raw image that gzip, xz or zstd
/// compressed as one stream is decompressed.
///
/// # Errors
/// The input cannot be read, is damaged, or is not supported; the options contradict each other; or the output cannot
/// be created.
pub fn pack(
    input: &OsStr,
    output: &OsStr,
    options: &PackOptions,
) -> Result<PackSession, SessionError> {
    let (codec, block) = (options.codec, options.block);
    let level = level(codec, options.level)?;
    if !block.is_power_of_two() || !(MIN_BLOCK..=MAX_BLOCK).contains(&block) {
        return Err(SessionError::Request(format!("no block has {block} bytes")));
    }
    named_as(output, naming::packed(codec))?;
    let source = source(input, options)?;
    let merged = source.as_image().cloned();
    let under = merged.as_ref().map(|merged| Arc::clone(merged.image()));
    if let Some(image) = &under {
        is_no_layer(output, image)?;
    }
    let out = create(output, &source.source_file())?;
    Ok(PackSession {
        source,
        service: Pack::new(codec, level, block, merged),
        sink: PackSink::new(out, under, (codec, level, block)),
    })
}

fn source(input: &OsStr, options: &PackOptions) -> Result<PackSource, SessionError> {
    let block = options.block;
    let sequential = |input| Ok(PackSource::sequential(input, block));
    if Path::new(input).is_dir() {
        let file = directory(input, options)?;
        let image = image(file, Some(&RAW), &options.open)?;
        return Ok(PackSource::image(merged(image, &[])?, block));
    }
    if options.file_system.is_some() || options.size.is_some() {
        let text = "--filesystem and --size are for a directory, and this is none";
        return Err(SessionError::Request(text.to_owned()));
    }
    let (file, format) = match input::find(input)? {
        Input::File(file) if is_pipe(input, &file) => {
            let is_raw = sequential_only("through a pipe", options)?;
            return sequential(Sequential::of_pipe(file, is_raw));
        }
        Input::Stream { name, input } => {
            let is_raw = sequential_only("from a server that gives no ranges", options)?;
            return sequential(Sequential::new(name, input, is_raw));
        }
        Input::File(file) => (input::named(input, file)?, options.open.format),
        Input::Remote(file) => (file, options.open.format),
        Input::Disk(file) => (file, options.open.format.or(Some(&RAW))),
    };
    let compression = match format {
        None => Compression::of(&file.bytes(0, FRONT as u64)?),
        Some(_) => None,
    };
    let in_order = |file| {
        sequential_only("compressed as one stream", options)?;
        sequential(Sequential::of_file(file))
    };
    if compression == Some(Compression::Gzip) {
        return in_order(file);
    }
    match (image(file, format, &options.open), compression) {
        (Ok(image), _) => {
            let merged = merged(image, &options.overlays)?;
            Ok(PackSource::image(merged, block))
        }
        // No part of it can be read by itself.
        (Err(SessionError::Image(Error::Unsupported { .. })), Some(_)) => {
            in_order(input::file(input)?.0)
        }
        (Err(error), _) => Err(error),
    }
}

/// The file system of a directory.
fn directory(input: &OsStr, options: &PackOptions) -> Result<ImageFile, SessionError> {
    let refuse = |text: &str| Err(SessionError::Request(text.to_owned()));
    let file_system = options.file_system.unwrap_or_default();
    let open = &options.open;
    if open.format.is_some() || open.backing.is_some() || !options.overlays.is_empty() {
        return refuse("--format, --backing and --overlay are not for a directory");
    }
    if options.size.is_some() && file_system != FileSystem::Ext4 {
        return refuse("--size is for ext4; squashfs has the size of what is in it");
    }
    if let Some(size) = options.size.filter(|&size| size < directory::LEAST) {
        let least = directory::LEAST >> 10;
        return refuse(&format!("--size {size}: an ext4 has {least}K at least"));
    }
    directory::image(input, file_system, options.size)
}

/// Whether an input can only be read in order.
fn is_pipe(input: &OsStr, file: &InputFile) -> bool {
    matches!(input.to_str(), Some("-" | "/dev/stdin")) && !file.is_file()
}

/// Checks that the options fit an image that can only be read in order, because of `how` it comes. `true`: it is raw,
/// whatever it looks like.
fn sequential_only(how: &str, options: &PackOptions) -> Result<bool, SessionError> {
    if let Some(format) = options.open.format.filter(|format| format.name != RAW.name) {
        let name = format.name;
        let text =
            format!("--format {name}: only a raw image can come {how}; unpack it into a file");
        return Err(SessionError::Request(text));
    }
    if !options.overlays.is_empty() {
        let text =
            format!("--overlay: the image under it cannot come {how}; unpack it into a file");
        return Err(SessionError::Request(text));
    }
    if options.open.backing.is_some() {
        let text =
            format!("--backing: an image over another cannot come {how}; unpack it into a file");
        return Err(SessionError::Request(text));
    }
    Ok(options.open.format.is_some())
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
    /// The size of the image in bytes, if known.
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
    /// Reading, packing or writing failed.
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
            None => f.write_str(", read from front to back")?,
        }
        writeln!(f, "\nkernel  {}", self.service.key())?;
        write!(f, "output  {}", self.sink.name())
    }
}
