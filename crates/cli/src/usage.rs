//! Errors of command lines, in one line, with hints that work.

use std::env;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use evener_files::one_line;

use crate::Cli;
use crate::failure::Failure;

/// Arguments whose values no message repeats, since they are secret or a secret may be given to them by mistake.
const SECRET: [&str; 3] = ["--key", "--iv", "--passphrase"];

impl From<clap::Error> for Failure {
    /// Clap's error without the usage, in one line.
    fn from(mut error: clap::Error) -> Failure {
        let hint = match error.kind() {
            ErrorKind::UnknownArgument => of_argument(&mut error),
            ErrorKind::InvalidSubcommand => of_command(&mut error),
            ErrorKind::MissingRequiredArgument => {
                shorten(&mut error);
                None
            }
            _ => None,
        };
        let failure = Failure::request(message(error));
        match hint {
            Some(hint) => failure.and(hint),
            None => failure,
        }
        .and("see --help")
    }
}

/// The most possible values that are listed beside the nearest one.
const FEW: usize = 10;

/// What clap says of an error, in one line. No value of an option that may be a secret is in it.
pub fn message(mut error: clap::Error) -> String {
    let argument = error.get(ContextKind::InvalidArg);
    let argument = argument.map(ContextValue::to_string).unwrap_or_default();
    if SECRET.iter().any(|secret| argument.starts_with(secret)) {
        let nothing = ContextValue::String("...".to_owned());
        error.insert(ContextKind::InvalidValue, nothing);
    }
    // Clap suggests `-- -f`, which passes `-f` neither to a flag nor to filters.
    error.remove(ContextKind::Suggested);
    // Clap has the best match last.
    if let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) {
        let best_first = names.into_iter().rev().collect();
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(best_first),
        );
    }
    // A long list of names would hide the one that was meant.
    let near = text(&error, ContextKind::SuggestedValue);
    error.remove(ContextKind::SuggestedValue);
    if let Some(ContextValue::Strings(all)) = error.get(ContextKind::ValidValue)
        && near.is_some()
        && all.len() > FEW
    {
        error.remove(ContextKind::ValidValue);
    }
    let text = error.render().to_string();
    let said = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    let message = said.fold(String::new(), |all, line| match all.as_str() {
        "" => line.trim_start_matches("error: ").to_owned(),
        list if list.ends_with(':') || line.starts_with('[') => all + " " + line,
        _ => all + "; " + line.trim_start_matches("tip: "),
    });
    let message = message.replace("invalid digit found in string", "not a whole number");
    match near {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message,
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// Names an unknown argument as it was given, and explains how to give a value that looks like a flag.
fn of_argument(error: &mut clap::Error) -> Option<String> {
    let invalid = text(error, ContextKind::InvalidArg)?;
    if let Some(similar) = text(error, ContextKind::SuggestedArg)
        && !is_close(&invalid, &similar)
    {
        error.remove(ContextKind::SuggestedArg);
    }
    let args: Vec<String> = env::args_os()
        .skip(1)
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let at = args.iter().position(|arg| is_of(arg, &invalid))?;
    let given = args[at].clone();
    let before = at.checked_sub(1).map(|at| args[at].as_str());
    let hint = hint(&given, before.filter(|flag| takes_value(flag)));
    let hint = hint.or_else(|| one_dash(&given));
    let hint = hint.or_else(|| {
        let meant = meant(&given)?;
        error.remove(ContextKind::SuggestedArg);
        Some(meant)
    });
    let hint = hint.or_else(|| files(&args, at));
    let hint = hint.or_else(|| of_similar(args.first()?, &given));
    // The value of an unknown flag may be secret.
    let flag = given
        .strip_prefix("--")
        .and_then(|_| given.split('=').next());
    let shown = flag.unwrap_or(&given).to_owned();
    error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    hint
}

/// Of options of which one is missing, names each once, by its short flag if it has one: those of a file or a descriptor with
/// the same say less.
fn shorten(error: &mut clap::Error) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let all = Cli::command();
    let command = called(&all);
    let shown = missing.iter().map(|item| {
        let group = item
            .strip_prefix('<')
            .and_then(|item| item.strip_suffix('>'));
        let options: Vec<&str> = match group {
            Some(options) if options.contains('|') => options.split('|').collect(),
            _ => return item.clone(),
        };
        let name = |option: &str| option.split([' ', '[']).next().map(str::to_owned);
        let is_variant = |option: &&str| {
            let of = |other: &&str| name(other).is_some_and(|it| option.starts_with(&(it + "-")));
            options.iter().any(of)
        };
        let short = |option: &str| {
            let long = name(option)?;
            let mut args = command.get_arguments();
            let arg = args.find(|arg| arg.get_long() == long.strip_prefix("--"))?;
            Some(format!("-{}{}", arg.get_short()?, &option[long.len()..]))
        };
        let kept = options.iter().filter(|option| !is_variant(option));
        let kept: Vec<_> = kept
            .map(|it| short(it).unwrap_or_else(|| (*it).to_owned()))
            .collect();
        format!("one of {}", kept.join(", "))
    });
    let shown = ContextValue::Strings(shown.collect());
    error.insert(ContextKind::InvalidArg, shown);
}

/// The command that the command line names.
fn called(all: &Command) -> &Command {
    let words = env::args_os().skip(1).take_while(|word| word != "--");
    words.fold(all, |command, word| {
        command.find_subcommand(word).unwrap_or(command)
    })
}

/// How to write an option with a long name, if `given` has one dash before it.
fn one_dash(given: &str) -> Option<String> {
    let name = given.strip_prefix('-')?.split('=').next()?;
    let all = Cli::command();
    let mut args = called(&all).get_arguments();
    let is_long = name.len() > 1 && args.any(|arg| arg.get_long() == Some(name));
    is_long.then(|| format!("-{name} is short options; the long one is --{name}"))
}

/// What people know from other programs, the option that the command must have for the hint, and the hint.
const MEANT: [(&str, &str, &str); 4] = [
    ("--threads", "workers", "did you mean --workers?"),
    ("-vf", "filter", "did you mean --filter?"),
    (
        "--password",
        "passphrase",
        "did you mean -p (--passphrase)?",
    ),
    (
        "--frames",
        "filter",
        "filter first: evener filter null --frames N -i IN -o - | evener encode -i - ...",
    ),
];

/// What fits an option of another program, or one that is misspelt.
fn meant(given: &str) -> Option<String> {
    let name = given.split('=').next()?;
    let all = Cli::command();
    let command = called(&all);
    let is = |typed: &str| {
        let similar = name.starts_with("--") && strsim::levenshtein(name, typed) <= 2;
        name == typed || similar
    };
    let mut rows = MEANT.iter();
    let (_, _, hint) = rows.find(|(typed, long, _)| is(typed) && has_option(command, long))?;
    Some((*hint).to_owned())
}

fn has_option(command: &Command, long: &str) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|it| it.get_long() == Some(long))
}

/// How to name files, if the argument at `at` is one that a command would have by -i and -o.
fn files(args: &[String], at: usize) -> Option<String> {
    let all = Cli::command();
    let command = called(&all);
    let takes_files = ["input", "output"]
        .iter()
        .all(|long| has_option(command, long));
    let named = args
        .iter()
        .any(|arg| arg.starts_with("-i") || arg.starts_with("--input"));
    if named || !takes_files || args[at].starts_with('-') {
        return None;
    }
    let output = args.get(at + 1).filter(|next| !next.starts_with('-'));
    let output = output.map_or("OUT", String::as_str);
    Some(one_line(&format!(
        "files are named by options: -i {} -o {output}",
        args[at]
    )))
}

/// The same of the command line, for one that could not be run.
pub fn one_dash_of_all() -> Option<String> {
    let words = env::args_os().skip(1).take_while(|word| word != "--");
    words.into_iter().find_map(|word| one_dash(word.to_str()?))
}

/// How to write `given`, if it was meant as a value, of the flag `before` if that takes one.
fn hint(given: &str, before: Option<&str>) -> Option<String> {
    if !given.starts_with('-') {
        return None;
    }
    match before {
        Some(flag) if flag.starts_with("--") => Some(format!(
            "a value that begins with - is written {flag}={given}"
        )),
        Some(_) => Some(format!("a file of that name is written ./{given}")),
        None if given.contains(['.', '/']) => {
            Some(format!("a file of that name is written ./{given}"))
        }
        None => None,
    }
}

/// Whether `invalid` is the unknown part of the argument `arg`, which may be several short flags in one.
fn is_of(arg: &str, invalid: &str) -> bool {
    let short = invalid
        .strip_prefix('-')
        .filter(|name| name.chars().count() == 1);
    match short {
        Some(flag) => arg.starts_with('-') && !arg.starts_with("--") && arg.contains(flag),
        None => {
            arg == invalid
                || arg
                    .strip_prefix(invalid)
                    .is_some_and(|r| r.starts_with('='))
        }
    }
}

/// Whether one flag or command may be a misspelling of the other.
pub fn is_close(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_start_matches('-'), b.trim_start_matches('-'));
    let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    alike >= 4 || strsim::levenshtein(a, b) <= 2
}

/// Whether some command has a flag of that name with a value.
fn takes_value(flag: &str) -> bool {
    fn of(command: &Command, flag: &str) -> bool {
        let is = |arg: &clap::Arg| match flag.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => arg
                .get_short()
                .is_some_and(|short| flag == format!("-{short}")),
        };
        let mut args = command.get_arguments();
        args.any(|arg| is(arg) && arg.get_action().takes_values())
            || command.get_subcommands().any(|below| of(below, flag))
    }
    of(&Cli::command(), flag)
}

/// The path of a command that was given in the wrong place.
fn of_command(error: &mut clap::Error) -> Option<String> {
    let invalid = text(error, ContextKind::InvalidSubcommand)?;
    if invalid == "bench" && cfg!(not(feature = "bench")) {
        error.remove(ContextKind::SuggestedSubcommand);
        let how = "this build has no benchmarks; build it with --features bench";
        return Some(how.to_owned());
    }
    let all = Cli::command();
    if let Some(found) = path(&all, &invalid) {
        error.remove(ContextKind::SuggestedSubcommand);
        return Some(there_is(found));
    }
    // `evener help NAME` gets no suggestions from clap.
    if text(error, ContextKind::SuggestedSubcommand).is_none() {
        let names = called(&all).get_subcommands().map(Command::get_name);
        let near = names.filter(|name| strsim::levenshtein(name, &invalid) <= 2);
        let near = near.min_by_key(|name| strsim::levenshtein(name, &invalid))?;
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    None
}

/// The subcommand of that name of a command that is called much like `typed`.
fn of_similar(typed: &str, name: &str) -> Option<String> {
    let all = Cli::command();
    let mut similar = all
        .get_subcommands()
        .filter(|command| is_close(command.get_name(), typed));
    similar.find_map(|command| {
        path(command, name).map(|below| there_is(format!("{} {below}", command.get_name())))
    })
}

/// How to call a command.
fn there_is(path: String) -> String {
    format!("did you mean: evener {path}")
}

/// The path of the command of that name.
fn path(command: &Command, name: &str) -> Option<String> {
    command.get_subcommands().find_map(|below| {
        let here = below.get_name();
        match here == name {
            true => Some(here.to_owned()),
            false => path(below, name).map(|rest| format!("{here} {rest}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_close_can_be_meant() {
        for (a, b, close) in [
            ("--plans", "--planes", true),
            ("--worker", "--workers", true),
            ("--pass", "--passphrase", true),
            ("--password", "--passphrase", true),
            ("--threads", "--trace", false),
        ] {
            assert_eq!(is_close(a, b), close, "{a} {b}");
        }
    }

    #[test]
    fn an_argument_is_told_as_it_was_given() {
        assert!(is_of("-vf", "-f") && is_of("-dash.mp4", "-d"));
        assert!(is_of("--frames=3", "--frames") && !is_of("--flag", "-f"));
    }
}
