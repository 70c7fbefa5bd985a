//! The commands that encrypt and decrypt, a file each.

pub mod ctr;
pub mod decrypt;
pub mod encrypt;
mod files;
pub mod keygen;
pub mod product;
mod secret;

use std::ffi::OsStr;
use std::fmt::Display;

use evener_crypt::bulk::Operation;
use evener_crypt::session::{self, Secret, Session};
use evener_runtime::Report;

use crate::failure::{Ended, Failure};
use crate::run::StreamArgs;
use crate::session::{RunOutcome, RunSession, convert};
use files::Files;
use secret::SecretArgs;

/// The common arguments of encrypting and decrypting a file.
#[derive(clap::Args)]
pub struct SealedArgs {
    #[command(flatten)]
    secret: SecretArgs,

    /// A text that is not in the file; decrypting needs the same text as encrypting
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    context: String,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    stream: StreamArgs,
}

impl SealedArgs {
    /// Reads the secret, a new one twice, opens a session with it and runs that.
    fn run<O: Operation + 'static>(
        &self,
        new: bool,
        open: impl FnOnce(&OsStr, &OsStr, &Secret, &[u8]) -> Result<Session<O>, session::Error>,
    ) -> Ended {
        self.secret.check_distinct(&self.files, &self.stream)?;
        run(&self.files, &self.stream, |input, output| {
            let secret = self.secret.read(new, input)?;
            let context = self.context.as_bytes();
            Ok(open(input, output, &secret, context)?)
        })
    }
}

/// Opens a session and runs it.
fn run<J: RunSession<Outcome = Report> + Display>(
    files: &Files,
    args: &StreamArgs,
    open: impl FnOnce(&OsStr, &OsStr) -> Result<J, Failure>,
) -> Ended {
    let open = || open(&files.input, &files.output);
    convert(
        args,
        &files.output,
        "the output itself is complete",
        open,
        RunOutcome::from,
    )
}
