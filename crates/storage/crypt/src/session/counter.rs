//! Counter mode over a file.

use std::ffi::OsStr;

use evener_files::OutputFile;

use super::{Error, Session, open};
use crate::bulk::{Bulk, BulkSink, BulkSource, Counter};
use crate::chosen;
use crate::ctr::Ctr;

/// Encrypts or decrypts `input` into `output`, both file names or `-`, as `openssl enc -aes-256-ctr` does, with a
/// `key` of 16, 24 or 32 bytes and the initial counter `iv` of 16 bytes. The input's first byte is byte `at` of the
/// stream.
///
/// # Errors
/// The key or the counter has the wrong length, the input cannot be read, or the output cannot be written.
pub fn counter(
    input: &OsStr,
    output: &OsStr,
    (key, iv): (&[u8], &[u8]),
    at: u64,
) -> Result<Session<Counter>, Error> {
    let ctr = Ctr::new(key, iv, chosen::CTR.level())?;
    let file = open(input)?;
    let sink = BulkSink::new(OutputFile::named(output, &file.source_file())?, Vec::new());
    Ok(Session {
        source: BulkSource::to_end::<Counter>(file, 0, 0),
        service: Bulk::new(Counter { ctr, at }),
        sink,
    })
}
