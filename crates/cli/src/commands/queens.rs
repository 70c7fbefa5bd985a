//! `evener queens`

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use evener_queens::{CountProgress, LARGEST, Outcome, Session, board, fundamental};
use evener_runtime::Plan;
use evener_runtime::quantity::Size;
use evener_runtime::stream::Report;
use serde::Serialize;

use crate::device::DeviceArgs;
use crate::failure::{Ended, Failure};
use crate::output::{SideOutput, can_print, check_distinct, check_not_stdout, print, print_each};
use crate::progress::{Bar, BarKind, ShareLog, without_bar};
use crate::run::{StartedRun, StreamArgs};
use crate::signals::Signals;
use crate::stderr::{note, print_err};
use crate::summary;

/// Count, or show, the solutions of the N-queens problem
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener queens 18
  evener queens 18 --fundamental --json result.json
  evener queens 21 --checkpoint 21.txt        # the same command resumes it
  evener queens 8 --show 3
  evener queens 24 --svg board.svg

Each extra row takes 7 to 9 times as long. A unit is a range of starts, which
place queens in the outermost rows and columns, one per class under rotation and
reflection; beyond 19 rows also in one or two more rows.

A checkpoint is a text file with the solutions of every finished range. It is
replaced atomically every few seconds, at the end and on Ctrl-C. The same
command resumes from it, under any plan and number of workers. It stays after
the count is complete. However a run ends, only the work since the last
checkpoint is lost. A second run on the same file is refused.")]
pub struct Args {
    /// Rows of the board, from 0 to 30
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(LARGEST)))]
    n: u32,

    /// Also count solutions distinct under rotation and reflection
    #[arg(long)]
    fundamental: bool,

    /// Print the first K boards (1 by default) instead of counting
    #[arg(long, value_name = "K", num_args = 0..=1, default_missing_value = "1", conflicts_with_all = COUNT_ONLY)]
    show: Option<usize>,

    /// Draw the first board as SVG instead of counting; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = COUNT_ONLY)]
    svg: Option<OsString>,

    /// Save finished work in FILE and resume from it
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<OsString>,

    /// Seconds between checkpoints; 0 for one after every unit
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds, requires = "checkpoint")]
    checkpoint_every: Duration,

    /// Seconds between progress lines when no terminal shows a bar
    #[arg(long, value_name = "S", default_value = "3600", value_parser = seconds)]
    log_every: Duration,

    #[command(flatten)]
    stream: StreamArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

/// Flags that only a count has.
const COUNT_ONLY: [&str; 5] = ["fundamental", "checkpoint", "json", "trace", "explain"];

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok().filter(|s| (0.0..=86400.0).contains(s));
    parsed
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "not a number of seconds from 0 to 86400".into())
}

/// The JSON of a count.
#[derive(Serialize)]
struct Counted<'a> {
    n: u32,
    /// The number of solutions; none if the run was interrupted.
    total: Option<u128>,
    fundamental: Option<u128>,
    /// Of this run.
    seconds: f64,
    plan: Option<Plan>,
    decisions: &'a [String],
    /// Starts searched by earlier runs, and by all.
    resumed_starts: u64,
    finished_starts: u64,
    report: &'a Report,
}

pub fn run(args: &Args) -> Ended {
    if args.show.is_some() || args.svg.is_some() {
        return show(args);
    }
    check_outputs(args)?;
    let checkpoint = args.checkpoint.as_deref();
    let signals = Signals::take()?;
    let file = checkpoint.map(|name| (Path::new(name), args.checkpoint_every));
    let session = Session::open(args.n, file)?;
    let started = args.stream.start_with(Some(&args.device), &signals)?;
    if args.stream.explain {
        print_err(&session.to_string());
    }
    let resumed = session.progress().board;
    let outcome = count(session, args, &started, &signals)?;
    let fundamental = match outcome.total {
        Some(total) if args.fundamental => {
            Some(fundamental(args.n, total).map_err(Failure::request)?)
        }
        _ => None,
    };
    if let Some(total) = outcome.total {
        let line = sentence(args.n, total, fundamental);
        if started.prints_json() {
            print_err(&line);
        } else {
            print(line)?;
        }
    }
    let report = &outcome.report;
    let json = Counted {
        n: args.n,
        total: outcome.total,
        fundamental,
        seconds: report.wall_s,
        plan: report.plan,
        decisions: &report.decisions,
        resumed_starts: outcome.resumed,
        finished_starts: outcome.checkpoint.done(),
        report,
    };
    let line = match outcome.total {
        Some(_) => {
            // A board without starts is done before any run.
            let before = if outcome.resumed > 0 { resumed } else { 0.0 };
            summary::counted_board(args.n, before, report)
        }
        None => {
            let flags = if args.fundamental {
                " --fundamental"
            } else {
                ""
            };
            summary::interrupted_board(args.n, outcome.progress.board, flags, checkpoint)
        }
    };
    let complete = "the count itself is complete";
    let status = started.done_with(report, &json, &[line], &signals, complete)?;
    match outcome.problem {
        Some(problem) => {
            let text = format!("the last checkpoint was not written: {problem}");
            Err(signals.failed(Failure::running(text)))
        }
        None => Ok(status),
    }
}

/// Refuses files that would overwrite one another or what is printed.
fn check_outputs(args: &Args) -> Result<(), Failure> {
    let sides = [
        ("--json", args.stream.json.as_deref()),
        ("--trace", args.stream.trace.as_deref()),
        ("--checkpoint", args.checkpoint.as_deref()),
    ];
    check_distinct(None, None, &sides)?;
    if args.checkpoint.as_deref().is_some_and(|name| name == "-") {
        let why = "--checkpoint -: a checkpoint is a file that is replaced as a whole; a file of that name is written ./-";
        return Err(Failure::request(why));
    }
    check_not_stdout(&sides)?;
    match args.stream.json.as_deref() {
        Some(name) if name == "-" => Ok(()),
        _ => can_print(),
    }
}

/// Counts behind a progress bar.
fn count(
    session: Session,
    args: &Args,
    started: &StartedRun,
    signals: &Signals,
) -> Result<Outcome, Failure> {
    let bar = Bar::start(BarKind::Work);
    let options = evener_queens::Options {
        plan: args.stream.plan.clone(),
        workers: args.stream.workers,
        cancel: signals.token(),
        on_progress: Some(match &bar {
            Some(bar) => {
                let mut update = bar.share_updater();
                Box::new(move |progress: &_, far| update(progress, Some(shares(far)))) as _
            }
            None => {
                let mut log = ShareLog::new(args.log_every);
                Box::new(move |progress: &_, far| log.tell(progress, shares(far)))
            }
        }),
        on_problem: Some(Box::new(|problem: &_| {
            without_bar(|| print_err(&checkpoint_warning(problem)))
        })),
    };
    let outcome = session.run(&started.runtime, options);
    drop(bar);
    outcome.map_err(|error| signals.failed(error))
}

fn shares(far: CountProgress) -> [f64; 2] {
    [far.board, far.run]
}

/// Printed at once, since the run goes on and may lose ever more work from then on.
fn checkpoint_warning(problem: &evener_files::Error) -> String {
    format!("evener: warning: a checkpoint was not written, which will be tried again: {problem}")
}

fn sentence(n: u32, total: u128, fundamental_count: Option<u128>) -> String {
    let plural = if total == 1 { "" } else { "s" };
    let fundamental_count =
        fundamental_count.map_or(String::new(), |d| format!(", {d} fundamental"));
    format!("N = {n}: {total} solution{plural}{fundamental_count}")
}

fn show(args: &Args) -> Ended {
    if let Some(name) = &args.svg {
        board::check_picture(name).map_err(Failure::request)?;
    }
    // The first solution of a large board takes a while, and an unfinished picture must not stay.
    let _ended = Signals::take()?;
    let mut boards = board::solutions(args.n).map_err(Failure::request)?;
    let svg = args.svg.as_deref().map(SideOutput::create).transpose()?;
    let first = boards.next();
    let Some(first) = first else {
        return Err(Failure::running(format!(
            "N = {}: there is no solution to show",
            args.n
        )));
    };
    if let Some(count) = args.show {
        let rest = boards.take(count.saturating_sub(1));
        let shown = std::iter::once(first.clone()).chain(rest).take(count);
        print_each(shown.map(|one| board::text(&one)))?;
    }
    if let Some(side) = svg {
        let picture = board::svg(&first);
        let name = side.name().map(str::to_owned);
        side.write(|out| out.write_all(picture.as_bytes()))?;
        if let Some(name) = name {
            let size = Size(picture.len() as u64);
            note(&format!("{name}: a board of {0} x {0}, {size}", args.n));
        }
    }
    Ok(crate::failure::DONE)
}
