//! `evener completions`

use clap_complete::Shell;

use crate::Cli;
use crate::failure::{DONE, Ended};
use crate::output::printed;

/// Print a shell's completion script
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener completions bash > ~/.local/share/bash-completion/completions/evener
  evener completions zsh > ~/.zfunc/_evener
  evener completions fish > ~/.config/fish/completions/evener.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> Ended {
    let mut command = Cli::command_for_all();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "evener", &mut script);
    printed(|out| out.write_all(&script))?;
    Ok(DONE)
}
