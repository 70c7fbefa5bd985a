//! The input and the output of a command that encrypts or decrypts.

use std::ffi::OsString;

/// What is read and what is written.
#[derive(clap::Args)]
pub struct Files {
    /// Input; - or nothing for standard input
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    pub input: OsString,

    /// Output; - or nothing for standard output; a new file's permissions are no wider than IN's
    #[arg(
        short,
        long,
        value_name = "OUT",
        default_value = "-",
        hide_default_value = true
    )]
    pub output: OsString,
}
