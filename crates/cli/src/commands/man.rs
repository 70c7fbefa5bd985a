//! `evener man`

use std::fs;
use std::path::PathBuf;

use evener_files::{error_text, one_line};

use crate::Cli;
use crate::failure::{DONE, Ended, Failure};

/// Write a manual page for each command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener man ~/.local/share/man/man1 && man evener-filter")]
pub struct Args {
    /// The folder for the pages, which is made if there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(args: &Args) -> Ended {
    let pages = fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command_for_all(), &args.folder));
    pages.map_err(|error| {
        let folder = one_line(&args.folder.display().to_string());
        Failure::running(format!("cannot write to {folder}: {}", error_text(&error)))
    })?;
    Ok(DONE)
}
