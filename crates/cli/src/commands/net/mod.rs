//! The commands about the network stack, a file each.

mod exec;
mod link;
mod run;

use clap::Subcommand;
use evener_net::device::Prefix;

use crate::failure::Ended;

/// Run a TCP/IP stack on its own core, and emulate links
#[derive(clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Exec(exec::Args),
    Link(link::Args),
}

pub fn run(args: Args) -> Ended {
    match args.command {
        Command::Run(args) => run::run(args),
        Command::Exec(args) => exec::run(args),
        Command::Link(args) => link::run(&args),
    }
}

fn prefix(text: &str) -> Result<Prefix, String> {
    let wrong = |()| "an address with its prefix, as in 10.1.0.2/24".to_owned();
    text.parse().map_err(wrong)
}
