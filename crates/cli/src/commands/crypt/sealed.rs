//! The common parts of encrypting and decrypting files, one or several.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use evener_crypt::session::Error;
use evener_files::{OutputFolder, one_line};
use evener_runtime::Report;

use super::secret::{SecretArgs, check_distinct};
use crate::amount::Amount;
use crate::failure::{DONE, Ended, Failure, Status};
use crate::output::file_id;
use crate::run::StreamArgs;
use crate::session::{RunOutcome, RunSession, convert, convert_one};
use crate::signals::Signals;
use crate::stderr::print_err;

/// The common arguments of encrypting and decrypting.
#[derive(clap::Args)]
pub struct SealedArgs {
    #[command(flatten)]
    pub secret: SecretArgs,

    /// Bind the file to this text, which is not stored; decryption needs the same text
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub context: String,

    /// Input; - or nothing for standard input; several files need -o DIR/
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    inputs: Vec<OsString>,

    /// Output; - or nothing for standard output. In DIR/, created if missing, each IN gets a file named after it. A new file keeps IN's
    /// mode, less the umask, and modification time
    #[arg(
        short,
        long,
        value_name = "OUT",
        default_value = "-",
        hide_default_value = true
    )]
    output: OsString,

    #[command(flatten)]
    stream: StreamArgs,
}

/// What becomes of the inputs.
pub enum Outputs<'a> {
    /// They are written, in a directory under these names.
    Named(&'a dyn Fn(&Path, &OsStr) -> Result<PathBuf, Error>),
    /// Nothing is written.
    None,
}

impl SealedArgs {
    /// Runs the session that `open` makes of what `read` reads, and of names of input and output; of each input one. `more` are
    /// further files with secrets. What `check` finds is told before `read` asks for anything.
    pub fn run<S, J: RunSession<Outcome = Report> + Display>(
        &self,
        more: &[PathBuf],
        outputs: &Outputs<'_>,
        check: impl Fn(&OsStr, &OsStr) -> Result<(), Error>,
        read: impl FnOnce(&OsStr) -> Result<S, Failure>,
        open: impl Fn(&S, &OsStr, &OsStr) -> Result<J, Failure>,
    ) -> Ended {
        let pairs = self.pairs(outputs)?;
        let secret = self.secret.path();
        let sides = [self.stream.json.as_ref(), self.stream.trace.as_ref()];
        check_distinct(secret.iter().chain(more), &pairs, &sides)?;
        let lists = more.iter().filter(|path| path.as_os_str() == "-").count();
        let piped = self.inputs.iter().filter(|input| *input == "-").count();
        if lists + piped > 1 && lists > 0 {
            return Err(Failure::request(
                "-: only one of IN, -i and -R can be the standard input; name files",
            ));
        }
        let directory = match outputs {
            Outputs::Named(_) if is_directory(&self.output) => Some(Path::new(&self.output)),
            _ => None,
        };
        let _made = directory.map(OutputFolder::create).transpose()?;
        let outcome = |input: &OsStr, report: Report| RunOutcome {
            what: match outputs {
                Outputs::Named(_) => None,
                Outputs::None => {
                    let bytes = Amount::Bytes(report.bytes.unwrap_or(0));
                    let name = one_line(&input.to_string_lossy());
                    Some(format!("{name}: {bytes} verified"))
                }
            },
            ..RunOutcome::from(report)
        };
        match &pairs[..] {
            [(input, output)] => convert(
                &self.stream,
                output,
                "the output itself is complete",
                || {
                    check(input, output)?;
                    open(&read(input)?, input, output)
                },
                |report| outcome(input, report),
            ),
            pairs => self.run_each(pairs, check, read, open, outcome),
        }
    }

    /// The same for several inputs. A failure with one does not keep the others from their turn.
    fn run_each<S, J: RunSession<Outcome = Report> + Display>(
        &self,
        pairs: &[(OsString, OsString)],
        check: impl Fn(&OsStr, &OsStr) -> Result<(), Error>,
        read: impl FnOnce(&OsStr) -> Result<S, Failure>,
        open: impl Fn(&S, &OsStr, &OsStr) -> Result<J, Failure>,
        outcome: impl Fn(&OsStr, Report) -> RunOutcome,
    ) -> Ended {
        if self.stream.json.is_some() || self.stream.trace.is_some() {
            return Err(Failure::request(
                "--json and --trace are about one file; name a single IN",
            ));
        }
        let signals = Signals::take()?;
        let checked = pairs.iter().map(|(input, output)| check(input, output));
        let wrong: Vec<Failure> = checked.filter_map(|it| Some(it.err()?.into())).collect();
        if wrong.len() == pairs.len() {
            wrong.iter().for_each(tell);
            return Ok(Status::Exit(1));
        }
        let read = read(&pairs[0].0)?;
        let started = self.stream.start(&signals)?;
        let mut status = DONE;
        for (input, output) in pairs {
            let done = open(&read, input, output).and_then(|session| {
                let outcome = |report| outcome(input, report);
                convert_one(session, &self.stream, output, &started, &signals, outcome)
            });
            match done {
                Ok((report, lines)) => started.tell(&report, &lines),
                Err(failure) => {
                    tell(&failure);
                    status = Status::Exit(1);
                }
            }
            if let Some(signal) = signals.status() {
                return Ok(signal);
            }
        }
        Ok(status)
    }

    /// Inputs and outputs.
    fn pairs(&self, outputs: &Outputs<'_>) -> Result<Vec<(OsString, OsString)>, Failure> {
        let Outputs::Named(name) = outputs else {
            let nothing = OsString::from("/dev/null");
            return Ok(self.all(|input| Ok((input.clone(), nothing.clone())))?);
        };
        if is_directory(&self.output) {
            let directory = Path::new(&self.output);
            let pairs = self.all(|input| Ok((input.clone(), name(directory, input)?.into())))?;
            return distinct(pairs);
        }
        match &self.inputs[..] {
            [input] => Ok(vec![(input.clone(), self.output.clone())]),
            [_, second, ..] => {
                let second = one_line(&second.to_string_lossy());
                let to_do = match self.output == "-" {
                    true => "add -o DIR/".to_owned(),
                    false => format!(
                        "add a slash: -o {}/",
                        one_line(&self.output.to_string_lossy())
                    ),
                };
                Err(Failure::request(format!(
                    "{second}: a second input; several files go into a directory: {to_do}"
                )))
            }
            [] => unreachable!("there is a default"),
        }
    }

    fn all<T>(&self, of: impl Fn(&OsString) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        self.inputs.iter().map(of).collect()
    }
}

/// Whether an output is a directory, or is written as one.
fn is_directory(output: &OsStr) -> bool {
    output.as_encoded_bytes().ends_with(b"/") || Path::new(output).is_dir()
}

fn tell(failure: &Failure) {
    print_err(&format!("evener: {failure}"));
}

/// Refuses two inputs of one name, of which one output would replace the other.
fn distinct(pairs: Vec<(OsString, OsString)>) -> Result<Vec<(OsString, OsString)>, Failure> {
    for (i, (input, output)) in pairs.iter().enumerate() {
        let same = |(_, other): &&(OsString, OsString)| other == output;
        if let Some((before, _)) = pairs[..i].iter().find(same) {
            let [input, before, output] =
                [input, before, output].map(|name| one_line(&name.to_string_lossy()));
            return Err(Failure::request(format!(
                "{input}: its output would be {output}, as that of {before}; use another directory for it"
            )));
        }
    }
    Ok(pairs)
}

/// Whether a file is one of those with secrets.
pub fn is_secret(secret: &Path, input: &OsStr) -> bool {
    let id = file_id(secret.as_os_str());
    id.is_some() && input != "-" && file_id(input) == id
}
