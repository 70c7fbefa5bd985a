//! What is given on the command line, before any default is known.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Id};

use crate::usage::message;

/// The command that is run, and its options.
#[derive(Default)]
pub struct Given {
    /// The name of the command, as words.
    pub command: Vec<String>,
    /// The options that are given.
    pub options: Vec<Id>,
    /// The same with their values, each a word.
    pub words: Vec<OsString>,
}

impl Given {
    /// Reads the command line as far as it can be understood: an error is told when it is parsed with its defaults.
    pub fn on_command_line(all: &Command) -> Given {
        let Ok(matches) = all.clone().ignore_errors(true).try_get_matches() else {
            return Given::default();
        };
        let mut given = Given::default();
        let (mut command, mut matches) = (all, &matches);
        while let Some((name, below)) = matches.subcommand() {
            let Some(found) = command.find_subcommand(name) else {
                break;
            };
            given.command.push(name.to_owned());
            (command, matches) = (found, below);
        }
        for arg in command.get_arguments() {
            if is_given(matches, arg) {
                given.options.push(arg.get_id().clone());
                given.words.extend(given_words(matches, arg));
            }
        }
        given
    }
}

fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let known = matches.try_contains_id(id).unwrap_or(false);
    known && matches.value_source(id) == Some(ValueSource::CommandLine)
}

fn given_words(matches: &ArgMatches, arg: &Arg) -> Vec<OsString> {
    let Some(long) = arg.get_long() else {
        return Vec::new();
    };
    if !arg.get_action().takes_values() {
        return vec![format!("--{long}").into()];
    }
    let values = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
    let words = values.map(|value| {
        let mut word = OsString::from(format!("--{long}="));
        word.push(value);
        word
    });
    words.collect()
}

/// An option with these values of a default, as words of a command line.
pub fn words(arg: &Arg, values: &[String]) -> Vec<OsString> {
    let long = arg.get_long().unwrap_or_default();
    let takes_values = arg.get_action().takes_values();
    let word = |value: &String| match (takes_values, value.as_str()) {
        (true, value) => Some(format!("--{long}={value}").into()),
        (false, "false" | "0") => None,
        (false, _) => Some(format!("--{long}").into()),
    };
    values.iter().filter_map(word).collect()
}

/// Why options of a command exclude one another, if they do.
pub fn conflict(command: &Command, words: &[OsString]) -> Option<String> {
    let command = command.clone().no_binary_name(true);
    let command = command
        .subcommand_required(false)
        .arg_required_else_help(false);
    let error = command.try_get_matches_from(words).err()?;
    (error.kind() == ErrorKind::ArgumentConflict).then(|| message(error))
}
