//! `evener image pack`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use evener_block::codec::Codec;
use evener_block::session::{FileSystem, PackOptions, block_size, bytes, pack};

use crate::failure::Ended;
use crate::run::StreamArgs;
use crate::session::{RunOutcome, convert};
use crate::summary;

/// Pack a disk image so that any block of it can be read by itself
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image pack disk.img disk.img.zst
  evener image pack disk.qcow2 disk.img.zst --level 12 --block 256K
  evener image pack disk.img disk.evb --codec lz4
  evener image pack disk.img.xz disk.img.zst
  evener image pack https://example.org/disk.img.gz disk.img.zst
  evener image pack nbd://server/disk disk.img.zst
  evener image pack folder folder.img.zst --filesystem squashfs
  evener image pack disk.img.zst new.img.zst --overlay disk.overlay
  evener image unpack disk.img.zst disk.img        or: zstd -d disk.img.zst

With zstd the result is in zstd's seekable format, which any zstd unpacks; with the other codecs in
evener's own container, evb. Both hold a hash of every block. Holes and zero blocks take no room.
The same image gives the same file under every plan. It appears when it is complete and on the disk.
A new one is not more readable than IN. A run that fails or is interrupted, or whose input changes
meanwhile, leaves none.

A raw image that gzip, xz or zstd compressed as one stream is decompressed. A file in no known image
format is taken as a raw image. If it looks like another format, such as VMDK, a warning says so
unless --format raw is given; if it looks compressed, as bzip2 does, it is refused. A tar stands for
the one disk image in it, and is refused if it has none or several. A pipe with an
image of another format is refused. What an NBD server gives is a raw image unless --format says
another.")]
pub struct Args {
    /// What to pack: an image of any format that is read, a URL of one, a directory, or - for a raw one through a pipe; a
    /// file as standard input is read as if it were named
    #[arg(value_name = "IN")]
    input: OsString,

    /// What to write; - is the standard output
    #[arg(value_name = "OUT")]
    output: OsString,

    /// How blocks are packed
    #[arg(long, default_value = "zstd", value_parser = codec())]
    codec: &'static Codec,

    /// Compression level; zstd has -7 to 22, 3 unless given
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    level: Option<i32>,

    /// Bytes of a block: a power of two from 4K to 4M. Larger ones pack better and take longer to read one of
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = block_size)]
    block: u32,

    #[command(flatten)]
    opening: super::Opening,

    /// Pack IN with what was written over it into this overlay, as a server of both gives it; given several times, each
    /// lies over the one before
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,

    /// The file system that a directory is packed as: ext4 unless given
    #[arg(long, value_name = "FS", value_parser = file_system())]
    filesystem: Option<FileSystem>,

    /// Bytes of the ext4 that a directory is packed as; otherwise as many as it needs
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    size: Option<u64>,

    #[command(flatten)]
    stream: StreamArgs,
}

/// The values of `--codec`.
fn codec() -> impl TypedValueParser<Value = &'static Codec> {
    let values = Codec::encoders().map(|codec| PossibleValue::new(codec.name).help(codec.about));
    PossibleValuesParser::new(values).try_map(|name| Codec::of_name(&name).ok_or("no such codec"))
}

/// The values of `--filesystem`.
fn file_system() -> impl TypedValueParser<Value = FileSystem> {
    let values = FileSystem::ALL.map(FileSystem::name);
    PossibleValuesParser::new(values).try_map(|name| name.parse::<FileSystem>())
}

pub fn run(args: &Args) -> Ended {
    let options = PackOptions {
        codec: args.codec,
        level: args.level,
        block: args.block,
        open: args.opening.options(),
        overlays: args.overlay.clone(),
        file_system: args.filesystem,
        size: args.size,
    };
    let open = || Ok(pack(&args.input, &args.output, &options)?);
    convert(
        &args.stream,
        &args.output,
        super::COMPLETE,
        open,
        |(packed, report)| {
            let (what, more) = summary::packed(&packed);
            RunOutcome {
                report,
                what: Some(what),
                more: Some(more),
            }
        },
    )
}
