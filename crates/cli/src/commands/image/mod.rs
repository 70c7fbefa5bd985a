//! The commands about disk images, a file each.

mod info;
mod pack;
mod serve;
mod unpack;
mod verify;

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use evener_block::format::{Format, TABLE};
use evener_block::session::OpenOptions;

use crate::failure::Ended;

/// Pack, inspect, verify, unpack and serve disk images
#[derive(clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Pack(pack::Args),
    Info(info::Args),
    Verify(verify::Args),
    Unpack(unpack::Args),
    Serve(serve::Args),
}

pub fn run(args: &Args) -> Ended {
    match &args.command {
        Command::Pack(args) => pack::run(args),
        Command::Info(args) => info::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Unpack(args) => unpack::run(args),
        Command::Serve(args) => serve::run(args),
    }
}

/// What is complete even if no report can be written.
const COMPLETE: &str = "the image itself is complete";

/// How an image is opened.
#[derive(clap::Args)]
struct Opening {
    #[arg(long, value_parser = format(), help = format_help(), hide_possible_values = true)]
    format: Option<&'static Format>,

    /// Refuse an image with a backing file; an untrusted image may name any file on this machine
    #[arg(long)]
    no_backing: bool,

    /// Use FILE as the backing file, whatever the image names; images from a server or in a tar open no other
    #[arg(long, value_name = "FILE", conflicts_with = "no_backing")]
    backing: Option<PathBuf>,
}

impl Opening {
    fn options(&self) -> OpenOptions {
        OpenOptions {
            format: self.format,
            no_backing: self.no_backing,
            backing: self.backing.clone(),
        }
    }
}

/// Their descriptions are for completions: with them, clap puts a blank line after every option of the help.
fn format_help() -> String {
    let names = TABLE.map(|format| format.name).join(", ");
    format!("Read the image as this format instead of detecting it: {names}")
}

/// The values of `--format`.
fn format() -> impl TypedValueParser<Value = &'static Format> {
    let values = TABLE.map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values).try_map(|name| Format::of_name(&name).ok_or("no such format"))
}
