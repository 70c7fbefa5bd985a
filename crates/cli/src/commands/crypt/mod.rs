//! The commands that encrypt and decrypt, a file each.

pub mod ctr;
pub mod decrypt;
pub mod encrypt;
pub mod keygen;
pub mod product;
mod secret;

use std::ffi::{OsStr, OsString};
use std::fmt::Display;

use evener_crypt::bulk::Operation;
use evener_crypt::product::session as cipher;
use evener_crypt::session::{self, Options, Secret, Session};
use evener_files::FileId;
use evener_runtime::{Report, Runtime};

use crate::failure::{DONE, Ended, Failure};
use crate::output::tell;
use crate::progress::Bar;
use crate::signals::Signals;
use crate::stream::StreamArgs;
use secret::SecretArgs;

/// What is read and what is written.
#[derive(clap::Args)]
pub struct Files {
    /// What to read; - or nothing is the standard input
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    input: OsString,

    /// What to write; - or nothing is the standard output
    #[arg(
        short,
        long,
        value_name = "OUT",
        default_value = "-",
        hide_default_value = true
    )]
    output: OsString,
}

/// What encrypting and decrypting a file take alike.
#[derive(clap::Args)]
pub struct SealedArgs {
    #[command(flatten)]
    secret: SecretArgs,

    /// A text that is not in the file: whoever decrypts has to give the same as whoever encrypted
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    context: String,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    stream: StreamArgs,
}

impl SealedArgs {
    /// Reads the secret, a new one twice, opens a session with it and runs that.
    fn run<O: Operation + 'static>(
        &self,
        new: bool,
        open: impl FnOnce(&OsStr, &OsStr, &Secret, &[u8]) -> Result<Session<O>, session::Error>,
    ) -> Ended {
        self.secret.check_apart(&self.files, &self.stream)?;
        let secret = self.secret.read(new)?;
        run(&self.files, &self.stream, |input, output| {
            Ok(open(input, output, &secret, self.context.as_bytes())?)
        })
    }
}

/// What is opened and run.
trait Job: Display {
    /// Why it did not run to its end.
    type Error: Into<Failure>;
    /// What units and units a second are called.
    const NAMES: (&'static str, &'static str);

    fn units(&self) -> Option<u64>;
    fn input_id(&self) -> Option<FileId>;
    fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, Self::Error>;
    fn is_closed_pipe(error: &Self::Error) -> bool;
}

macro_rules! job {
    ([$($of:tt)*] $session:ty, $error:ty, $names:expr) => {
        impl $($of)* Job for $session {
            type Error = $error;
            const NAMES: (&'static str, &'static str) = $names;

            fn units(&self) -> Option<u64> {
                self.units()
            }

            fn input_id(&self) -> Option<FileId> {
                self.input_id()
            }

            fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, $error> {
                self.run(runtime, options)
            }

            fn is_closed_pipe(error: &$error) -> bool {
                error.is_closed_pipe()
            }
        }
    };
}

job!([<O: Operation + 'static>] Session<O>, session::Error, ("MiB", "MiB/s"));
job!([] cipher::Session, cipher::Error, ("units", "units/s"));

/// Opens a session and runs it.
fn run<J: Job>(
    files: &Files,
    args: &StreamArgs,
    open: impl FnOnce(&OsStr, &OsStr) -> Result<J, Failure>,
) -> Ended {
    args.check_apart(None, &files.output)?;
    let signals = Signals::take()?;
    let session = open(&files.input, &files.output)?;
    args.check_apart(session.input_id(), &files.output)?;
    let started = args.start(&signals)?;
    if args.explain {
        tell(&session.to_string());
    }
    let bar = Bar::start(session.units(), J::NAMES.0, J::NAMES.1);
    let options = Options {
        plan: args.plan,
        workers: args.workers,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
    };
    let result = session.run(&started.runtime, options);
    if let Some(bar) = bar {
        bar.end();
    }
    match result {
        Ok(report) => started.done(&report, &signals, "the output itself is complete"),
        Err(error) if J::is_closed_pipe(&error) => Ok(signals.status().unwrap_or(DONE)),
        Err(error) => {
            let failure: Failure = error.into();
            Err(match signals.status() {
                Some(status) => failure.with_status(status),
                None => failure,
            })
        }
    }
}
