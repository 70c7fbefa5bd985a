//! The `evener` command line: each subcommand reads its arguments, calls one service and prints what it did.
//!
//! Exit status: 0 done, 1 failed, 2 a command line that cannot work. A signal that ends a run ends the process, too, once
//! outputs are in order; shells show 128 + N. If the reader of a pipe closes it, as `head` does, the process ends by SIGPIPE
//! without a message.
#![forbid(unsafe_code)]

mod amount;
mod commands;
mod defaults;
mod device;
mod exit;
mod failure;
mod help;
mod ignored;
mod log;
mod output;
mod panics;
mod progress;
mod run;
mod session;
mod signals;
mod stderr;
mod structures;
mod summary;
mod terminal;
mod usage;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser};
use evener_runtime::{Simd, kernels};

use crate::commands::Command;
use crate::defaults::{Defaults, NO_CONFIG};
use crate::failure::{DONE, Ended, Failure, Status};

const ABOUT: &str = "Process video, files, disk images and packets on every core, self-tuning";

const HELP: &str = "\
Examples:
  evener filter \"undistort,rotate=6,crop=0.8\" -i in.mkv -o out.mkv
  evener filter blur,sobel -i testsrc:1920x1080:300 -o null: --explain
  evener filters
  evener encode -i in.mkv -o out.mp4
  evener keygen -o key && evener encrypt -k key disk.img -o disk.img.sealed
  evener image pack disk.img disk.img.zst
  evener net run --device tun:evener0,addr=10.1.0.1/24 --address 10.1.0.2/24
  evener queens 18
  evener topology

Environment:
  EVENER_CPU=LEVEL     vector instructions to use at most: scalar, sse2, avx2,
                       avx512 or neon
  EVENER_DEVICE=NAME   default of --device: auto, none or a device's name
  EVENER_LOG=LEVEL     what to log: off, error, warn (default), info or debug
  EVENER_CONFIG=FILE   your defaults for options; see evener config

Exit status: 0 success, 1 failure, 2 wrong usage. On Ctrl-C or a closed pipe
evener dies by the signal, which a shell shows as 130 or 141.";

#[derive(Parser)]
#[command(name = "evener", version, about = ABOUT, after_help = HELP, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Log more; -vv for details
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 100)]
    verbose: u8,

    /// Print only results, warnings and errors
    #[arg(short, long, global = true, display_order = 101)]
    quiet: bool,
}

/// What contradicts `--quiet`.
const NOT_QUIET: [&str; 2] = ["verbose", "explain"];

impl Cli {
    fn command_for_all() -> clap::Command {
        // `-5` is a wrong number where a number is expected, not an unknown flag.
        fn with_negative_numbers(command: clap::Command) -> clap::Command {
            let negative = |arg: clap::Arg| match arg.get_action().takes_values() {
                true => arg.allow_negative_numbers(true),
                false => arg,
            };
            command
                .mut_args(negative)
                .mut_subcommands(with_negative_numbers)
        }
        let no_config = clap::Arg::new(NO_CONFIG)
            .long(NO_CONFIG)
            .help("Ignore the file with your defaults")
            .global(true)
            .action(ArgAction::SetTrue)
            .display_order(102);
        help::grouped(with_negative_numbers(Cli::command().arg(no_config)))
    }

    fn parse(command: clap::Command) -> Result<Cli, clap::Error> {
        let matches = command.try_get_matches()?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        if cli.quiet {
            let mut leaf = &matches;
            while let Some((_, below)) = leaf.subcommand() {
                leaf = below;
            }
            let given = |name: &&str| {
                let known = leaf.try_contains_id(name).unwrap_or(false);
                known && leaf.value_source(name) == Some(ValueSource::CommandLine)
            };
            if let Some(other) = NOT_QUIET.into_iter().find(given) {
                if !given(&"quiet") {
                    cli.quiet = false;
                    return Ok(cli);
                }
                let text = format!("--quiet and --{other} contradict each other; leave one out");
                return Err(Cli::command().error(ErrorKind::ArgumentConflict, text));
            }
        }
        Ok(cli)
    }
}

fn main() {
    panics::keep_quiet();
    let status = panics::caught(run).unwrap_or_else(|failure| {
        if failure.has_message() {
            stderr::print_err(&format!("evener: {failure}"));
        }
        failure.status
    });
    status.end()
}

fn run() -> Ended {
    let all = Cli::command_for_all();
    let defaults = match Defaults::read(&all) {
        Ok(defaults) => defaults,
        Err(failure) => match all.try_get_matches() {
            // Help is there for a file that is wrong, too.
            Err(shown) if !shown.use_stderr() => {
                output::printed(|_| shown.print())?;
                return Ok(DONE);
            }
            _ => return Err(failure),
        },
    };
    let cli = match Cli::parse(defaults.apply(all)) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            output::printed(|_| error.print())?;
            return Ok(DONE);
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If printing fails, the exit status remains.
            let _ = error.print();
            return Ok(Status::Exit(2));
        }
        Err(error) => {
            let alone = Cli::parse(Cli::command_for_all());
            let failure = Failure::from(error);
            return Err(match defaults.path().filter(|_| alone.is_ok()) {
                Some(path) => failure.and(format!("{path} says so")),
                None => failure,
            });
        }
    };
    stderr::set_quiet(cli.quiet);
    log::start(cli.verbose)?;
    Simd::from_env().map_err(Failure::request)?;
    kernels::remember();
    cli.command
        .run()
        .map_err(|failure| match usage::one_dash_of_all() {
            Some(hint) => failure.and(hint),
            None => failure,
        })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command_for_all().debug_assert();
    }
}
