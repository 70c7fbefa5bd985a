//! The commands that encrypt and decrypt, a file each.

pub mod ctr;
pub mod decrypt;
pub mod encrypt;
mod files;
mod identity;
pub mod inspect;
pub mod keygen;
pub mod product;
pub mod rewrap;
mod sealed;
mod secret;

use std::ffi::OsStr;
use std::fmt::Display;

use evener_runtime::Report;

use crate::failure::{Ended, Failure};
use crate::run::StreamArgs;
use crate::session::{RunOutcome, RunSession, convert};
use files::Files;

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
