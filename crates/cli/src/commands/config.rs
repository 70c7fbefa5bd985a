//! `evener config`

use std::fmt::Write;

use crate::Cli;
use crate::defaults::{Defaults, VARIABLE};
use crate::failure::{DONE, Ended};
use crate::output::print;

/// Show your config file and the defaults it sets
#[derive(clap::Args)]
#[command(after_help = "\
The file is ~/.config/evener/config.toml, or the one named by $EVENER_CONFIG
(empty for no file). A key is an option's long name. At the top it applies to
every command that has the option, in a table to that command:
  workers = 2
  [filter]
  planes = \"luma\"
  [image.serve]
  cache = \"1G\"

The command line overrides the file. --no-config ignores the file.")]
pub struct Args {}

pub fn run() -> Ended {
    let all = Cli::command_for_all();
    let defaults = Defaults::read(&all)?;
    let Some(path) = defaults.path() else {
        print(format_args!(
            "no config file: --no-config, an empty ${VARIABLE}, or no $HOME"
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
