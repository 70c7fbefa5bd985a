//! `evener ctr`

use std::io::{self, IsTerminal};

use evener_crypt::keys::Hex;
use evener_crypt::session::counter;

use super::files::Files;
use crate::failure::{Ended, Failure};
use crate::run::StreamArgs;
use crate::stderr::note;

/// Encrypt or decrypt with AES-CTR, without authentication
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener ctr --key $KEY --iv $IV disk.img -o disk.img.ctr
  evener ctr --key $KEY --iv $IV --at 1048576 part -o part.ctr

The second one encrypts a part that starts 1 MiB into the stream.

The bytes are those of `openssl enc -aes-256-ctr` and its shorter keys.
Encryption and decryption are the same operation. Tampering is not detected, and
two plaintexts under the same key and counter reveal each other. Use this only
to exchange data with other programs; otherwise use `evener encrypt`.")]
pub struct Args {
    /// Key: 32, 48 or 64 hexadecimal digits for AES-128, AES-192 or AES-256
    #[arg(long, value_name = "HEX")]
    key: Hex,

    /// Initial counter: 32 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    iv: Hex,

    /// Position of the input in the stream, in bytes
    #[arg(long, value_name = "OFFSET", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    at: u64,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    stream: StreamArgs,
}

pub fn run(args: &Args) -> Ended {
    if io::stderr().is_terminal() {
        note("evener: note: counter mode does not detect changes of the data; evener encrypt does");
    }
    super::run(&args.files, &args.stream, |input, output| {
        let session = counter(input, output, (args.key.bytes(), args.iv.bytes()), args.at);
        session.map_err(Failure::from)
    })
}
