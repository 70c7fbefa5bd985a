//! `evener product`

use clap::ValueEnum;
use evener_crypt::keys::Hex;
use evener_crypt::product::session;

use super::files::Files;
use crate::failure::{Ended, Failure};
use crate::run::StreamArgs;

/// Run a cipher of 64 passes as a load to balance: a workload, not protection
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener product encrypt --key 30313233343536373839616263646566 in.bin -o out.bin
  evener product decrypt --key 30313233343536373839616263646566 out.bin -o back.bin --plan pipeline --explain
  evener product encrypt --key 30313233343536373839616263646566 --chain 64 in.bin -o out.bin

IDEA twenty times, Skipjack twenty-four times and Raiden twenty times over blocks of 8 bytes, all under one key. Do not
protect anything with it: these are old ciphers, nothing shows a change, and without --chain equal blocks stay equal. It is
here because its passes can be cut anywhere into the stages of a pipeline. To protect a file use `evener encrypt`.

With --chain N the file holds N streams, block by block in turn, each in cipher block chaining. Then units depend on those
before them: encrypting is divided by streams only, with 32 or fewer not at all, and decrypting in every way.")]
pub struct Args {
    /// Which way
    #[arg(value_enum)]
    direction: Direction,

    /// The key in hexadecimal, 32 digits
    #[arg(long, value_name = "HEX")]
    key: Hex,

    /// Chain the blocks of N streams, a power of two up to 2048
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
