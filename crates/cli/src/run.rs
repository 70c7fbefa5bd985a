//! The common parts of commands that run a stream: flags, the runtime, and what is printed at the end.

use std::ffi::{OsStr, OsString};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_files::FileId;
use evener_runtime::dispatch::MAX_WORKERS;
use evener_runtime::{Choice, Placement, Report, Runtime, Topology, Trace};
use serde::Serialize;

use crate::device::DeviceArgs;
use crate::failure::{DONE, Ended, Failure};
use crate::output::{SideOutput, check_distinct};
use crate::signals::Signals;
use crate::stderr::{note, print_err};
use crate::structures;

/// How a stream runs, and what is reported about it.
#[derive(clap::Args)]
pub struct StreamArgs {
    /// Plan to run: auto or NAME[/DISPATCH[/GRAIN]]; see `evener plans`
    #[arg(long, default_value = "auto", value_parser = structures::plan)]
    pub plan: Choice,

    /// Use exactly N workers; by default the tuner picks, up to one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    pub workers: Option<u32>,

    /// Place workers relative to the I/O threads
    #[arg(long, default_value = "none", value_parser = placement())]
    pub affinity: Placement,

    /// Print the computation, the plans tried, and why
    #[arg(long)]
    pub explain: bool,

    /// Write a report as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<OsString>,

    /// Write a timeline of all workers for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub trace: Option<OsString>,

    /// Neither use nor save remembered plans
    #[arg(long)]
    pub no_memory: bool,
}

/// The values of `--affinity`.
pub fn placement() -> impl TypedValueParser<Value = Placement> {
    PossibleValuesParser::new(Placement::ALL.map(Placement::name))
        .try_map(|name| name.parse::<Placement>())
}

impl StreamArgs {
    /// Refuses files that would overwrite one another.
    pub fn check_distinct(&self, input: Option<FileId>, output: &OsStr) -> Result<(), Failure> {
        let sides = [
            ("--json", self.json.as_deref()),
            ("--trace", self.trace.as_deref()),
        ];
        check_distinct(input, Some(output), &sides)
    }

    /// Makes the runtime, and the files for report and trace. From now on the first signal ends the stream, not the process.
    pub fn start(&self, signals: &Signals) -> Result<StartedRun, Failure> {
        self.start_with(None, signals)
    }

    /// The same for a service that devices can compute.
    pub fn start_with(
        &self,
        devices: Option<&DeviceArgs>,
        signals: &Signals,
    ) -> Result<StartedRun, Failure> {
        let json = self.json.as_deref().map(SideOutput::create).transpose()?;
        let trace = self.trace.as_deref().map(SideOutput::create).transpose()?;
        signals.streaming();
        let topology = Topology::detect();
        let workers = self.workers.map_or(topology.workers(), |n| n as usize);
        let recorder = if trace.is_some() {
            Trace::on(workers)
        } else {
            Trace::off()
        };
        let mut builder = Runtime::builder()
            .workers(workers)
            .placement(self.affinity)
            .memory(!self.no_memory)
            .trace(recorder.clone());
        if let Some(devices) = devices {
            builder = devices.give(builder)?;
        }
        let runtime = builder.build()?;
        Ok(StartedRun {
            json,
            trace,
            recorder,
            runtime,
            explain: self.explain,
        })
    }
}

/// The runtime of a stream and the files for its report and trace.
pub struct StartedRun {
    json: Option<SideOutput>,
    trace: Option<SideOutput>,
    recorder: Trace,
    /// The runtime.
    pub runtime: Runtime,
    explain: bool,
}

impl StartedRun {
    /// Whether the report goes to the standard output.
    pub fn prints_json(&self) -> bool {
        self.json.as_ref().is_some_and(SideOutput::is_stdout)
    }

    /// Prints `lines` about one of several runs.
    pub fn tell(&self, report: &Report, lines: &[String]) {
        tell(self.explain, report, lines);
    }

    /// Writes report and trace and prints `lines`. If that fails, the error adds `complete`, which says what is complete,
    /// unless the run was cancelled.
    pub fn done(
        self,
        report: &Report,
        lines: &[String],
        signals: &Signals,
        complete: &str,
    ) -> Ended {
        self.done_with(report, report, lines, signals, complete)
    }

    /// The same with `json` as the report.
    pub fn done_with(
        self,
        report: &Report,
        json: &impl Serialize,
        lines: &[String],
        signals: &Signals,
        complete: &str,
    ) -> Ended {
        let recorder = self.recorder;
        let json = self.json.map_or(Ok(()), |side| side.write_json(json));
        let written = json.and_then(|()| match self.trace {
            Some(side) => side.write(|out| recorder.write(out)),
            None => Ok(()),
        });
        written.map_err(|failure| match report.cancelled {
            true => signals.failed(failure),
            false => failure.and(complete),
        })?;
        tell(self.explain, report, lines);
        Ok(match signals.status() {
            Some(status) if report.cancelled => status,
            _ => DONE,
        })
    }
}

/// Prints how a run went, if that was asked for, and its lines.
fn tell(explain: bool, report: &Report, lines: &[String]) {
    if explain {
        report
            .decisions
            .iter()
            .for_each(|decision| print_err(decision));
        if let Some(how) = report.how() {
            print_err(&format!("ran     {how}"));
        }
        report
            .devices
            .iter()
            .for_each(|device| print_err(&format!("device  {device}")));
    }
    if let Some(text) = &report.placement_note {
        note(&format!("evener: note: {text}"));
    }
    lines.iter().for_each(|line| note(line));
}
