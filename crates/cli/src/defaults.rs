//! Options that a user always gives, kept in a file of TOML: a key at the top is the default of every command that has the
//! option, and one in the table of a command is for that command and those below it. `[image.serve]` is the table of
//! `evener image serve`.

mod given;

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, Id};
use evener_files::{error_text, one_line};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use self::given::{Given, conflict, words};
use crate::failure::Failure;
use crate::usage::{is_close, message};

/// Names another file; empty for none.
pub const VARIABLE: &str = "EVENER_CONFIG";

/// The option that leaves the file out.
pub const NO_CONFIG: &str = "no-config";

/// What the file says.
#[derive(Default)]
pub struct Defaults {
    /// Where it is, or would be. `None` if `--no-config` is given, `EVENER_CONFIG` is empty, or neither `XDG_CONFIG_HOME` nor
    /// `HOME` is set.
    path: Option<PathBuf>,
    /// Empty if there is none.
    table: Table,
}

/// A default that a command takes.
#[derive(Debug, PartialEq, Eq)]
pub struct Default {
    /// As in `evener image serve`.
    pub command: String,
    /// Without dashes.
    pub option: String,
    /// As on the command line; `None` of a flag that takes none.
    pub value: Option<String>,
}

impl Defaults {
    /// Reads the user's file, unless the command line leaves it out.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, names an option that no command has, or has a value that none of its commands takes.
    pub fn read(all: &Command) -> Result<Defaults, Failure> {
        // The command line cannot be parsed before its defaults are known.
        let mut words = env::args_os().take_while(|word| word != "--");
        if words.any(|word| word == format!("--{NO_CONFIG}").as_str()) {
            return Ok(Defaults::default());
        }
        let (path, wanted) = match env::var_os(VARIABLE) {
            Some(name) if name.is_empty() => return Ok(Defaults::default()),
            Some(name) => (PathBuf::from(name), true),
            None => match usual_path() {
                Some(path) => (path, false),
                None => return Ok(Defaults::default()),
            },
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !wanted => String::new(),
            Err(error) => return Err(wrong(&path, error_text(&error))),
        };
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let malformed = |error: toml::de::Error| {
            let line = line(error.span().map_or(0, |span| span.start));
            wrong(&path, format!("line {line}: {}", error.message()))
        };
        let table = text.parse::<Table>().map_err(malformed)?;
        let places = DeTable::parse(&text).map_err(malformed)?;
        check((&table, places.get_ref()), all, &globals(all), "").map_err(|fault| {
            let line = line(fault.at);
            wrong(&path, format!("line {line}: {}", fault.why))
        })?;
        Ok(Defaults {
            path: Some(path),
            table,
        })
    }

    /// Where the file is, or would be.
    pub fn path(&self) -> Option<String> {
        self.path
            .as_ref()
            .map(|path| one_line(&path.display().to_string()))
    }

    /// The command line with these defaults, but those that exclude what is given on it.
    pub fn apply(&self, all: Command) -> Command {
        let given = Given::on_command_line(&all);
        let mut path = vec![Some(&self.table)];
        let mut command = &all;
        for name in &given.command {
            path = below(&path, name);
            command = command.find_subcommand(name).expect("it was parsed");
        }
        let mut candidates: Vec<_> = command
            .get_arguments()
            .filter_map(|arg| {
                let (depth, value) = said(&path, arg)?;
                Some((depth, arg, words(arg, &text(arg, value).ok()?)))
            })
            .collect();
        // What the table of the command says comes before what one above says.
        candidates.sort_by_key(|&(depth, ..)| std::cmp::Reverse(depth));
        let (mut line, mut left_out) = (given.words, Vec::new());
        for (_, arg, words) in candidates {
            let both = [&line[..], &words].concat();
            if given.options.contains(arg.get_id()) {
                continue;
            }
            match conflict(command, &both) {
                Some(_) => left_out.push(arg.get_id().clone()),
                None => line = both,
            }
        }
        let of_run = OfRun {
            command: given.command,
            tables: path,
            left_out,
        };
        applied(all, &vec![Some(&self.table)], &mut Vec::new(), &of_run)
    }

    /// What is in force, in the order of the commands.
    pub fn list(&self, all: &Command) -> Vec<Default> {
        let mut list = Vec::new();
        listed(
            all,
            &globals(all),
            "evener",
            &vec![Some(&self.table)],
            &mut list,
        );
        list
    }
}

/// `evener/config.toml` in `$XDG_CONFIG_HOME`, else in `~/.config`.
fn usual_path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("evener/config.toml"))
}

fn wrong(path: &std::path::Path, why: impl std::fmt::Display) -> Failure {
    let path = one_line(&path.display().to_string());
    Failure::request(format!("{path}: {why}")).and(format!("--{NO_CONFIG} ignores the file"))
}

/// What is wrong with the file, and at which byte.
struct Fault {
    at: usize,
    why: String,
}

/// Whether all keys are commands and options, and each value is what one of these takes. The table comes twice: its values, and
/// where they stand.
fn check(
    (table, places): (&Table, &DeTable<'_>),
    command: &Command,
    globals: &[&Arg],
    above: &str,
) -> Result<(), Fault> {
    let mut line = Vec::new();
    for (key, place) in places {
        let (at, key) = (key.span().start, key.get_ref().as_ref());
        let name = format!("{above}{key}");
        let fault = |why: String| Fault { at, why };
        let Some(value) = table.get(key) else {
            continue;
        };
        if let (Value::Table(inner), DeValue::Table(places)) = (value, place.get_ref()) {
            let found = command.find_subcommand(key);
            let none = || fault(format!("[{name}]: unknown command"));
            let found = found.ok_or_else(none)?;
            check((inner, places), found, globals, &format!("{name}."))?;
            continue;
        }
        let mut options = Vec::new();
        named(command, key, &mut options);
        if options.is_empty() {
            options.extend(globals.iter().filter(|arg| is(arg, key)));
        }
        if options.is_empty() {
            let hint = similar(command, key);
            let hint = hint.map(|similar| format!("; did you mean: {similar}"));
            let hint = hint.unwrap_or_default();
            return Err(fault(format!("{name}: unknown option{hint}")));
        }
        // Options of one name may be of different kinds: those that take the value get it.
        let refuses = |arg: &&Arg| takes(arg, value).err();
        let refused: Vec<String> = options.iter().filter_map(refuses).collect();
        if refused.len() == options.len() {
            return Err(fault(format!("{name}: {}", refused[0])));
        }
        let own = command.get_arguments().find(|arg| is(arg, key));
        if let Some(values) = own.and_then(|arg| Some((arg, text(arg, value).ok()?))) {
            line.extend(words(values.0, &values.1));
            if let Some(why) = conflict(command, &line) {
                return Err(fault(format!("{name}: {why}")));
            }
        }
    }
    Ok(())
}

/// The options that go with every command. None of them excludes another one.
fn globals(all: &Command) -> Vec<&Arg> {
    let arguments = all.get_arguments();
    arguments.filter(|arg| arg.is_global_set()).collect()
}

/// The options of this name, of a command and of those below it.
fn named<'a>(command: &'a Command, key: &str, found: &mut Vec<&'a Arg>) {
    found.extend(command.get_arguments().find(|arg| is(arg, key)));
    for below in command.get_subcommands() {
        named(below, key, found);
    }
}

/// Whether an option takes a value, by what it would say of it on the command line.
fn takes(arg: &Arg, value: &Value) -> Result<(), String> {
    let values = text(arg, value)?;
    let (Some(long), true) = (arg.get_long(), arg.get_action().takes_values()) else {
        return Ok(());
    };
    // By itself, since it may need others or exclude them.
    let mut alone = Arg::new("value")
        .long(long.to_owned())
        .action(arg.get_action().clone())
        .value_parser(arg.get_value_parser().clone())
        .value_delimiter(arg.get_value_delimiter())
        .num_args(1);
    if let Some(name) = arg.get_value_names().and_then(<[_]>::first) {
        alone = alone.value_name(name.clone());
    }
    let command = Command::new("evener").no_binary_name(true).arg(alone);
    let words = values.iter().map(|value| format!("--{long}={value}"));
    let parsed = command.try_get_matches_from(words);
    parsed.map(drop).map_err(message)
}

fn similar(command: &Command, key: &str) -> Option<String> {
    let own = command.get_arguments().filter_map(Arg::get_long);
    let near = |name: &&str| is_close(name, key);
    let found = own.into_iter().find(near).map(str::to_owned);
    found.or_else(|| {
        command
            .get_subcommands()
            .find_map(|below| similar(below, key))
    })
}

/// Whether an argument can have a default of this name: an option with a long name that does something to a run.
fn is(arg: &Arg, key: &str) -> bool {
    let action = arg.get_action();
    let shows = matches!(
        action,
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !shows && arg.get_long() == Some(key) && key != NO_CONFIG
}

/// The values of an option, as on the command line.
fn text(arg: &Arg, value: &Value) -> Result<Vec<String>, String> {
    let one = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        _ => Err("give a text or a number".to_owned()),
    };
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(set)) => Ok(vec![set.to_string()]),
        (ArgAction::SetTrue, _) => Err("give true or false".to_owned()),
        (ArgAction::Count, Value::Integer(times @ 0..=255)) => Ok(vec![times.to_string()]),
        (ArgAction::Count, _) => Err("give a number of times".to_owned()),
        (ArgAction::Append, Value::Array(values)) => values.iter().map(one).collect(),
        (_, value) => Ok(vec![one(value)?]),
    }
}

/// The tables of a command and of those above it, from the top; `None` where one has none.
type Tables<'a> = Vec<Option<&'a Table>>;

/// What the tables say of an option, if that is something it takes, and of how many above it the table is that says so; the
/// innermost counts.
fn said<'a>(tables: &Tables<'a>, arg: &Arg) -> Option<(usize, &'a Value)> {
    let key = arg.get_long().filter(|long| is(arg, long))?;
    let tables = tables.iter().enumerate().rev();
    let mut values = tables.filter_map(|(depth, table)| Some((depth, table.as_ref()?.get(key)?)));
    values.find(|(_, value)| !value.is_table() && takes(arg, value).is_ok())
}

/// The tables of the command `name` below.
fn below<'a>(tables: &Tables<'a>, name: &str) -> Tables<'a> {
    let here = tables.last().copied().flatten();
    let inner = here.and_then(|table| table.get(name)?.as_table());
    tables.iter().copied().chain([inner]).collect()
}

/// The command that is run.
struct OfRun<'a> {
    /// Its name, as words.
    command: Vec<String>,
    /// Its tables.
    tables: Tables<'a>,
    /// Its options whose defaults exclude what is given.
    left_out: Vec<Id>,
}

/// `path` is the name of the command.
fn applied(
    command: Command,
    tables: &Tables<'_>,
    path: &mut Vec<String>,
    run: &OfRun<'_>,
) -> Command {
    let is_run = *path == run.command;
    let mut set = Vec::new();
    let mut command = command.mut_args(|arg| {
        // Options that go with every command stand in the outermost.
        let (tables, is_run) = match arg.is_global_set() {
            true => (&run.tables, true),
            false => (tables, is_run),
        };
        match said(tables, &arg) {
            Some(_) if is_run && run.left_out.contains(arg.get_id()) => arg,
            Some((_, value)) => {
                set.push(arg.get_id().clone());
                let values = text(&arg, value).expect("it was checked");
                arg.required(false).default_values(values)
            }
            None => arg,
        }
    });
    // Of several options one may be needed.
    let groups = command.get_groups();
    let given = groups.filter(|group| group.get_args().any(|id| set.contains(id)));
    let given: Vec<Id> = given.map(|group| group.get_id().clone()).collect();
    for group in given {
        command = command.mut_group(group.as_str(), |group| group.required(false));
    }
    command.mut_subcommands(|inner| {
        let tables = below(tables, inner.get_name());
        path.push(inner.get_name().to_owned());
        let inner = applied(inner, &tables, path, run);
        path.pop();
        inner
    })
}

fn listed(
    command: &Command,
    globals: &[&Arg],
    name: &str,
    tables: &Tables<'_>,
    list: &mut Vec<Default>,
) {
    let everywhere = globals.iter().copied();
    // Those of the file's top are listed there.
    let everywhere = everywhere.filter(|arg| {
        tables.len() > 1 && said(tables, arg).is_some_and(|it| it.0 + 1 == tables.len())
    });
    for arg in command.get_arguments().chain(everywhere) {
        let Some((_, value)) = said(tables, arg) else {
            continue;
        };
        let set = matches!(arg.get_action(), ArgAction::SetTrue);
        for value in text(arg, value).expect("it was checked") {
            if set && value == "false" {
                continue;
            }
            list.push(Default {
                command: name.to_owned(),
                option: arg.get_long().unwrap_or_default().to_owned(),
                value: (!set).then_some(value),
            });
        }
    }
    for inner in command.get_subcommands() {
        let tables = below(tables, inner.get_name());
        let name = format!("{name} {}", inner.get_name());
        listed(inner, globals, &name, &tables, list);
    }
}
