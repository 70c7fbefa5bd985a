//! The common parts of commands that run a session.

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

use crate::amount::Amount;
use crate::failure::{Ended, Failure};
use crate::progress::{Bar, BarKind};
use crate::run::{StartedRun, StreamArgs};
use crate::signals::Signals;
use crate::stderr::print_err;
use crate::summary::{Output, done, interrupted};

/// A session of a service.
pub trait RunSession: Sized {
    /// Its result.
    type Outcome;
    /// Why it failed.
    type Error: Into<Failure>;

    /// Bytes of all work, if their number is known.
    fn bytes(&self) -> Option<u64>;

    /// The identity of the input, if it is a file that could be overwritten.
    fn input_id(&self) -> Option<FileId>;

    fn run(self, runtime: &Runtime, options: RunOptions<'_>) -> Result<Self::Outcome, Self::Error>;
}

/// The result of a run: its report, what was done if that is more than bytes written, and a line of details.
pub struct RunOutcome {
    pub report: Report,
    pub what: Option<String>,
    pub more: Option<String>,
}

impl From<Report> for RunOutcome {
    fn from(report: Report) -> RunOutcome {
        RunOutcome {
            report,
            what: None,
            more: None,
        }
    }
}

/// Opens a session that writes `output`, runs it and prints what it did, as `describe` does its outcome. `complete` says
/// what is complete even if no report can be written.
pub fn convert<J: RunSession + Display>(
    args: &StreamArgs,
    output: &OsStr,
    complete: &str,
    open: impl FnOnce() -> Result<J, Failure>,
    describe: impl FnOnce(J::Outcome) -> RunOutcome,
) -> Ended {
    args.check_distinct(None, output)?;
    let signals = Signals::take()?;
    let session = open()?;
    args.check_distinct(session.input_id(), output)?;
    let started = args.start(&signals)?;
    let (report, lines) = convert_one(session, args, output, &started, &signals, describe)?;
    started.done(&report, &lines, &signals, complete)
}

/// Runs one of several sessions. Returns its report and the lines about it.
pub fn convert_one<J: RunSession + Display>(
    session: J,
    args: &StreamArgs,
    output: &OsStr,
    started: &StartedRun,
    signals: &Signals,
    describe: impl FnOnce(J::Outcome) -> RunOutcome,
) -> Result<(Report, Vec<String>), Failure> {
    if args.explain {
        print_err(&session.to_string());
    }
    let (all, output) = (session.bytes().map(Amount::Bytes), Output::named(output));
    // A bar and a closing line would stand in the middle of the text.
    let shown = output.is_terminal();
    let kind = BarKind::Bytes(session.bytes());
    let bar = (!shown).then(|| Bar::start(kind)).flatten();
    let outcome = run_behind(bar, session, args, started, signals)?;
    let RunOutcome { report, what, more } = describe(outcome);
    let bytes = Amount::Bytes(report.bytes.unwrap_or(0));
    let lines = match report.cancelled {
        true => vec![interrupted(&output, bytes, all)],
        false if shown => Vec::new(),
        false => {
            let what = what.unwrap_or_else(|| bytes.to_string());
            let line = done(output.name().as_deref(), &what, bytes, &report);
            std::iter::once(line).chain(more).collect()
        }
    };
    Ok((report, lines))
}

/// Runs a session behind a progress bar.
pub fn run<J: RunSession>(
    session: J,
    args: &StreamArgs,
    started: &StartedRun,
    signals: &Signals,
) -> Result<J::Outcome, Failure> {
    let bar = Bar::start(BarKind::Bytes(session.bytes()));
    run_behind(bar, session, args, started, signals)
}

fn run_behind<J: RunSession>(
    bar: Option<Bar>,
    session: J,
    args: &StreamArgs,
    started: &StartedRun,
    signals: &Signals,
) -> Result<J::Outcome, Failure> {
    let options = RunOptions {
        plan: args.plan.clone(),
        workers: args.workers,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
    };
    let result = session.run(&started.runtime, options);
    drop(bar);
    result.map_err(|error| signals.failed(error))
}

macro_rules! run_session {
    ([$($of:tt)*] $session:ty, $error:ty => $outcome:ty, $input_id:expr) => {
        impl $($of)* RunSession for $session {
            type Outcome = $outcome;
            type Error = $error;

            fn bytes(&self) -> Option<u64> {
                self.bytes().into()
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

run_session!([<O: Operation + 'static>] crypt::Session<O>, crypt::Error => Report, Self::input_id);
run_session!([] crypt::Decryption, crypt::Error => Report, Self::input_id);
run_session!([] product::Session, product::Error => Report, Self::input_id);
run_session!([] block::PackSession, block::SessionError => (Packed, Report), Self::input_id);
run_session!([] block::UnpackSession, block::SessionError => Report, Self::input_id);
run_session!([] block::VerifySession, block::SessionError => (block::Verified, Report), |_| None);
