//! What commands that run a session have in common, from opening it to how it ends.

use std::ffi::OsStr;
use std::fmt::Display;

use evener_block::pack::Packed;
use evener_block::session as block;
use evener_crypt::bulk::Operation;
use evener_crypt::product::session as product;
use evener_crypt::session as crypt;
use evener_files::FileId;
use evener_runtime::stream::RunOptions;
use evener_runtime::{Report, Runtime};

use crate::failure::{Ended, Failure};
use crate::output::tell;
use crate::progress::Bar;
use crate::signals::Signals;
use crate::stream::{Started, StreamArgs};

/// A session that can be run.
pub trait Job: Sized {
    /// What it comes to.
    type Outcome;
    /// Why it did not run to its end.
    type Error: Into<Failure>;
    /// What units and units a second are called.
    const NAMES: (&'static str, &'static str);

    /// Units that will be read, about, where that is known.
    fn units(&self) -> Option<u64>;

    /// The identity of what is read, where it is a file that could be overwritten.
    fn input_id(&self) -> Option<FileId>;

    fn run(self, runtime: &Runtime, options: RunOptions<'_>) -> Result<Self::Outcome, Self::Error>;
}

/// Opens a session that writes `output`, runs it and tells what it did; `report` makes that of what it came to.
/// `complete` says what is well even if no report can be written.
pub fn convert<J: Job + Display>(
    args: &StreamArgs,
    output: &OsStr,
    complete: &str,
    open: impl FnOnce() -> Result<J, Failure>,
    report: impl FnOnce(J::Outcome) -> Report,
) -> Ended {
    args.check_apart(None, output)?;
    let signals = Signals::take()?;
    let session = open()?;
    args.check_apart(session.input_id(), output)?;
    let started = args.start(&signals)?;
    if args.explain {
        tell(&session.to_string());
    }
    let outcome = run(session, args, &started, &signals)?;
    started.done(&report(outcome), &signals, complete)
}

/// Runs a session behind a progress bar.
pub fn run<J: Job>(
    session: J,
    args: &StreamArgs,
    started: &Started,
    signals: &Signals,
) -> Result<J::Outcome, Failure> {
    let bar = Bar::start(session.units(), J::NAMES.0, J::NAMES.1);
    let options = RunOptions {
        plan: args.plan,
        workers: args.workers,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
    };
    let result = session.run(&started.runtime, options);
    drop(bar);
    result.map_err(|error| signals.failed(error))
}

macro_rules! job {
    ([$($of:tt)*] $session:ty, $error:ty => $outcome:ty, $names:expr, $input_id:expr) => {
        impl $($of)* Job for $session {
            type Outcome = $outcome;
            type Error = $error;
            const NAMES: (&'static str, &'static str) = $names;

            fn units(&self) -> Option<u64> {
                self.units().into()
            }

            fn input_id(&self) -> Option<FileId> {
                $input_id(self)
            }

            fn run(self, runtime: &Runtime, options: RunOptions<'_>) -> Result<$outcome, $error> {
                self.run(runtime, options)
            }
        }
    };
}

const MIB: (&str, &str) = ("MiB", "MiB/s");
const UNITS: (&str, &str) = ("units", "units/s");

job!([<O: Operation + 'static>] crypt::Session<O>, crypt::Error => Report, MIB, Self::input_id);
job!([] product::Session, product::Error => Report, UNITS, Self::input_id);
job!([] block::PackSession, block::SessionError => (Packed, Report), UNITS, Self::input_id);
job!([] block::UnpackSession, block::SessionError => Report, UNITS, Self::input_id);
job!([] block::VerifySession, block::SessionError => (block::Verified, Report), UNITS, |_| None);
