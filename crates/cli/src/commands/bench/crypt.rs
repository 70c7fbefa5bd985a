//! `evener bench crypt`

use std::ffi::OsString;

use evener_bench::crypt::{self, JOBS, Options};
use evener_bench::report;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time AES over memory under every dispatch flavour
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener bench crypt
  evener bench crypt --bytes 256M --job 16K,64K --workers 1,2 --report run.html
  evener bench crypt --in-place")]
pub struct Args {
    /// Bytes encrypted at a time, such as 4G or 256M
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = bytes)]
    bytes: u64,

    /// Encrypt in place instead of from one buffer to another
    #[arg(long)]
    in_place: bool,

    /// Worker counts; by default 1, 2, 4, … up to one per CPU
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..MAX_WORKERS as i64))]
    workers: Vec<u32>,

    /// Job sizes, powers of two from 16; by default 1K to 1M
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = job)]
    job: Vec<u32>,

    #[command(flatten)]
    measured: Measured,

    /// Write an HTML page with tables and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

/// `64`, `16K`, `256M`, `4G`
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<u64>().ok().filter(|&n| n > 0);
    let bytes = number.and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| "not a size, as 16K, 256M or 4G".into())
}

fn job(text: &str) -> Result<u32, String> {
    match bytes(text)? {
        size @ 16..=0x4000_0000 if size.is_power_of_two() => Ok(size as u32),
        _ => Err("not a power of two from 16 to 1G".into()),
    }
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), args.report.as_deref())?;
    let options = Options {
        bytes: args.bytes,
        in_place: args.in_place,
        workers: args.workers,
        jobs: match args.job {
            none if none.is_empty() => JOBS.into(),
            some => some,
        },
        rounds: args.measured.rounds,
    };
    let report = crypt::run(&options, &mut progress()).map_err(failure)?;
    results.write(&report.table().to_string(), &report, || {
        report::crypt_html(&report)
    })
}
