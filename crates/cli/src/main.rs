//! The `evener` command line: each subcommand reads its arguments, calls one service and prints what it did.
//!
//! Exit status: 0 done, 1 something failed, 2 a command line that cannot work, 128 + N ended by signal N.
//! A reader that closes the pipe we write to, as `head` does, has had enough: that is 0, without a word.
#![forbid(unsafe_code)]

mod commands;
mod failure;
mod job;
mod log;
mod output;
mod panics;
mod progress;
mod signals;
mod stream;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, Parser};
use evener_image::io::ffmpeg::kill_programs;
use evener_runtime::Simd;

use crate::commands::Command;
use crate::failure::{Ended, Failure};

const ABOUT: &str = "Run a stream of work on all of a machine, tuned by measuring";

const HELP: &str = "\
Examples:
  evener filter \"undistort,rotate=6,crop=0.8\" -i in.mkv -o out.mkv
  evener filter blur,sobel -i testsrc:1920x1080:300 -o null: --explain
  evener filters
  evener keygen -o key && evener encrypt -k key disk.img -o disk.img.sealed
  evener image pack disk.img disk.img.zst
  evener queens 18
  evener topology

Environment:
  EVENER_CPU=scalar|sse2|avx2|avx512|neon   use no more of the processor than this
  EVENER_LOG=off|error|warn|info|debug      what to log, warn unless set; see also -v

Exit status: 0 done, 1 failed, 2 wrong command line, 130 interrupted";

#[derive(Parser)]
#[command(version, about = ABOUT, after_help = HELP, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Log more; twice for details
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 100)]
    verbose: u8,
}

fn main() -> ExitCode {
    panics::keep_quiet();
    let ended = panics::caught(run);
    // A thread that was left inside a read still owns the program it reads from.
    kill_programs();
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            output::tell(&format!("evener: {failure}"));
            ExitCode::from(failure.status)
        }
    }
}

fn run() -> Ended {
    let cli = Cli::try_parse().or_else(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => Err(Failure::from(error)),
    })?;
    log::start(cli.verbose)?;
    Simd::from_env().map_err(Failure::request)?;
    cli.command.run()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
