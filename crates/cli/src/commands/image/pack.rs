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

const HELP: &str = "\
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

With --codec zstd the output is in zstd's seekable format, which any zstd
unpacks. The other codecs use evener's own container, evb. Both store a hash of
every block. Holes and zero blocks take no space. The same image gives the same
file under every plan. The file appears when it is complete and on disk. Its
permissions are no wider than IN's. A run that fails or is interrupted, or whose
input changes, leaves no file.

A raw image compressed by gzip, xz or zstd as one stream is decompressed. A file
in no known image format is read as a raw image. If it looks like another
format, such as VMDK, or compressed in another way, such as bzip2, it is refused
unless --format raw is given. A tar stands for the one disk image in it, and is
refused if it holds none or several. A pipe with an image in another format is
refused. An NBD server's disk is read as raw unless --format is given.";

/// What follows the options, with the codecs.
fn after_help() -> String {
    let lines = Codec::encoders().map(|codec| format!("  {:<5}  {}\n", codec.name, codec.about));
    format!("Codecs:\n{}\n{HELP}", lines.collect::<String>())
}

/// Compress a disk image into independently readable blocks
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// Image in any supported format, its URL, a directory, or - for standard input: a raw image from a pipe, or any file
    #[arg(value_name = "IN")]
    input: OsString,

    /// Output; - for standard output
    #[arg(value_name = "OUT")]
    output: OsString,

    /// Compression codec; see below
    #[arg(long, default_value = "zstd", value_parser = codec(), hide_possible_values = true)]
    codec: &'static Codec,

    /// Compression level; for zstd -7 to 22, 3 by default
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    level: Option<i32>,

    /// Block size, a power of two from 4K to 4M; larger blocks compress better and take longer to read
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = block_size)]
    block: u32,

    #[command(flatten)]
    opening: super::Opening,

    /// Apply this overlay first (repeatable; later ones on top)
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,

    /// File system to make of a directory; ext4 by default
    #[arg(long, value_name = "FS", value_parser = file_system())]
    filesystem: Option<FileSystem>,

    /// Size of a directory's ext4; by default just large enough
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
