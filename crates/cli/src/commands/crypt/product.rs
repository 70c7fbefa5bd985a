//! `evener product`

use clap::ValueEnum;
use evener_crypt::keys::Hex;
use evener_crypt::product::session;

use super::files::Files;
use crate::failure::{Ended, Failure};
use crate::run::StreamArgs;

/// Run a 64-pass cipher as a workload to balance; not protection
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  KEY=30313233343536373839616263646566
  evener product encrypt --key $KEY in.bin -o out.bin
  evener product decrypt --key $KEY out.bin -o back.bin --plan pipeline
  evener product encrypt --key $KEY --chain 64 in.bin -o out.bin

IDEA 20 times, Skipjack 24 times and Raiden 20 times over blocks of 8 bytes, all
under one key. Do not protect anything with it: these are old ciphers, changes
go undetected, and without --chain equal blocks stay equal. It is here because
its passes can be cut anywhere into the stages of a pipeline. To protect a file
use `evener encrypt`.

With --chain N the file holds N interleaved streams, each in cipher block
chaining. A unit then depends on those before it: encryption is divided by
stream only, and not at all with 32 streams or fewer; decryption is divided in
every way.")]
pub struct Args {
    /// Direction
    #[arg(value_enum)]
    direction: Direction,

    /// Key: 32 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    key: Hex,

    /// Chain the blocks of N streams; N is a power of two up to 2048
    #[arg(long, value_name = "N")]
    chain: Option<usize>,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    stream: StreamArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Direction {
    Encrypt,
    Decrypt,
}

pub fn run(args: &Args) -> Ended {
    super::run(&args.files, &args.stream, |input, output| {
        let open = match args.direction {
            Direction::Encrypt => session::encrypt,
            Direction::Decrypt => session::decrypt,
        };
        open(input, output, args.key.bytes(), args.chain).map_err(Failure::from)
    })
}
