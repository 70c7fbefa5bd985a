//! The input and the output of a command that encrypts or decrypts.

use std::ffi::OsString;

/// What is read and what is written.
#[derive(clap::Args)]
pub struct Files {
    /// What to read; - or nothing is the standard input
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    pub input: OsString,

    /// What to write; - or nothing is the standard output. A new file is not more readable than IN
    #[arg(
        short,
        long,
        value_name = "OUT",
        default_value = "-",
        hide_default_value = true
    )]
    pub output: OsString,
}
