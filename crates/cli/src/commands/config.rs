//! `evener config`

use std::fmt::Write;

use crate::Cli;
use crate::defaults::{Defaults, VARIABLE};
use crate::failure::{DONE, Ended};
use crate::output::print;

/// Show the file with your defaults for options, and what it says
#[derive(clap::Args)]
#[command(after_help = "\
The file is ~/.config/evener/config.toml, or the one that $EVENER_CONFIG names; an empty name is for none.
A key is the long name of an option. At the top it is for every command that has the option, in a table
for that command:
  workers = 2
  [filter]
  planes = \"luma\"
  [image.serve]
  cache = \"1G\"

An option on the command line comes before the file, and --no-config leaves all of it out.")]
pub struct Args {}

pub fn run() -> Ended {
    let all = Cli::command_for_all();
    let defaults = Defaults::read(&all)?;
    let Some(path) = defaults.path() else {
        print(format_args!(
            "no file: it is left out, ${VARIABLE} is empty, or there is no $HOME"
        ))?;
        return Ok(DONE);
    };
    let list = defaults.list(&all);
    let mut text = path;
    if list.is_empty() {
        text.push_str(" sets nothing");
    }
    for default in list {
        // Writing to a string does not fail.
        let _ = write!(text, "\n  {} --{}", default.command, default.option);
        let _ = match default.value {
            Some(value) => write!(text, " {value}"),
            None => Ok(()),
        };
    }
    print(text)?;
    Ok(DONE)
}
