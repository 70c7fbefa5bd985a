//! The line that a run ends with, for all commands: what was done, how long it took, and then how it ran.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};

use evener_block::pack::Packed;
use evener_files::{FileId, one_line};
use evener_h264::session::{Quality, Summary};
use evener_runtime::Report;
use evener_runtime::quantity::{Figures, Seconds, Size, counted};

use crate::amount::Amount;
use crate::failure::Failure;
use crate::output::{file_id, is_stdout};

/// Runs shorter than this many seconds have no rate: it would be that of starting and ending.
const RATE: f64 = 0.01;
/// Runs shorter than this many seconds do not say how they ran.
const HOW: f64 = 0.1;

/// An output by name, and the file that was there before the run.
pub struct Output<'a> {
    name: &'a OsStr,
    before: Option<FileId>,
    /// It stands for numbered pictures.
    pictures: bool,
}

impl<'a> Output<'a> {
    /// Remembers the file that is there now.
    pub fn named(name: &'a OsStr) -> Output<'a> {
        let before = file_id(name);
        Output {
            name,
            before,
            pictures: false,
        }
    }

    /// Sets whether it stands for numbered pictures.
    pub fn of_pictures(self, pictures: bool) -> Output<'a> {
        Output { pictures, ..self }
    }

    /// Its name in messages; the standard output and what keeps nothing have none.
    pub fn name(&self) -> Option<String> {
        let shown = !is_stdout(self.name) && self.name != "null:" && self.name != "/dev/null";
        shown.then(|| one_line(&self.name.to_string_lossy()))
    }

    /// Whether a person sees it on a terminal.
    pub fn is_terminal(&self) -> bool {
        is_stdout(self.name) && io::stdout().is_terminal()
    }

    /// Whether there is a file now that was not there before.
    pub fn is_new(&self) -> bool {
        let now = file_id(self.name);
        now.is_some() && now != self.before
    }

    /// The failure of a run that wrote so much before, with what is kept of it if that was asked for.
    pub fn kept(&self, failure: Failure, written: Amount, keep_partial: bool) -> Failure {
        match self.name() {
            Some(name) if keep_partial && self.is_new() => {
                failure.and(format_args!("{written} kept in {name}"))
            }
            _ => failure,
        }
    }

    /// Whether it is written in place, like a named pipe or a device.
    fn is_in_place(&self) -> bool {
        fs::metadata(self.name).is_ok_and(|found| !found.is_file())
    }
}

/// The line of a complete run: `disk.sealed: 1.02 GiB in 0.7 s, 1.5 GiB/s, on 2 workers`. `subject` is the output, `what` is
/// what was done, and `amount` is that of the rate.
pub fn done(subject: Option<&str>, what: &str, amount: Amount, report: &Report) -> String {
    let mut line = subject.map_or(String::new(), |name| format!("{name}: "));
    line.push_str(what);
    if report.dropped > 0 {
        line.push_str(&format!(" ({} dropped)", report.dropped));
    }
    if report.wall_s >= RATE {
        let rate = amount.rate(amount.number() as f64 / report.wall_s);
        line.push_str(&format!(" in {}, {rate}", Seconds(report.wall_s)));
    }
    line + &on_workers(report)
}

/// `, on 2 workers`, for runs that could have more than one and took a while.
fn on_workers(report: &Report) -> String {
    match report.plan {
        Some(plan) if report.workers > 1 && report.wall_s >= HOW => {
            let used = report.devices.iter().filter(|device| device.units > 0);
            let used: String = used.map(|device| format!(" and {}", device.name)).collect();
            format!(", on {}{used}", counted(plan.workers.into(), "workers"))
        }
        _ => String::new(),
    }
}

/// The line of a run that was interrupted after `done` of `all`: what the output has.
pub fn interrupted(output: &Output<'_>, done: Amount, all: Option<Amount>) -> String {
    let far = done.of(all);
    match (output.name(), done) {
        (None, _) => format!("interrupted: {far} done"),
        (Some(name), Amount::Frames(_)) if output.is_new() => {
            format!("interrupted: {name} has the first {far}")
        }
        (Some(name), Amount::Frames(1..)) if output.pictures => {
            format!("interrupted: the first {far} are kept as pictures {name}")
        }
        (Some(name), Amount::Bytes(_)) if output.is_new() => {
            format!("interrupted at the very end: {name} is complete")
        }
        (Some(name), _) if output.is_in_place() => {
            format!("interrupted: {far} written to {name}")
        }
        (Some(name), _) => format!("interrupted: {far} done, {name} was not written"),
    }
}

/// What packing did, and a line of details.
pub fn packed(packed: &Packed) -> (String, String) {
    let (size, into) = (Size(packed.size), Size(packed.packed_size));
    let mut rest = format!("{} of {} blocks zero", packed.zero_blocks, packed.blocks);
    if let Some(root) = packed.root {
        rest.push_str(&format!(", root {root}"));
    }
    (format!("{size} packed into {into}"), rest)
}

/// What encoding did, and a line for each measure that was asked for.
pub fn encoded(encoded: &Summary) -> (String, Vec<String>) {
    let what = format!(
        "{}, {}, {}",
        counted(encoded.pictures, "frames"),
        Size(encoded.bytes),
        Amount::bits_per_second(encoded.bits_per_second),
    );
    let line = |name, unit, digits: usize, quality: Quality| {
        let Quality { y, u, v, all } = quality;
        format!("{name}: Y {y:.digits$}, U {u:.digits$}, V {v:.digits$}, all {all:.digits$}{unit}")
    };
    let psnr = encoded.psnr.map(|psnr| line("PSNR", " dB", 3, psnr));
    let ssim = encoded.ssim.map(|ssim| line("SSIM", "", 5, ssim));
    (what, psnr.into_iter().chain(ssim).collect())
}

/// The line of a verified image, or of one of which `bytes` of `all` were verified.
pub fn checked(name: &str, bytes: Amount, all: Amount, report: &Report) -> String {
    match report.cancelled {
        true => format!("interrupted: {} of {name} checked", bytes.of(Some(all))),
        false => done(Some(name), &format!("{bytes} checked"), bytes, report),
    }
}

/// The line of a complete count of boards. `resumed` is the share that earlier runs had done.
pub fn counted_board(n: u32, resumed: f64, report: &Report) -> String {
    let what = match resumed {
        0.0 => "counted".to_owned(),
        1.0.. => return format!("N = {n}: counted by an earlier run"),
        done => format!("the remaining {} % counted", Figures(100.0 * (1.0 - done))),
    };
    let time = match report.wall_s >= RATE {
        true => format!(" in {}", Seconds(report.wall_s)),
        false => String::new(),
    };
    format!("N = {n}: {what}{time}{}", on_workers(report))
}

/// The line of a count that was interrupted with `share` of the board done: what is kept, and how to resume with the same
/// `flags`.
pub fn interrupted_board(n: u32, share: f64, flags: &str, checkpoint: Option<&OsStr>) -> String {
    let percent = 100.0 * share;
    let begin = format!("interrupted: N = {n} is {percent:.1} % done");
    match checkpoint {
        Some(file) => format!(
            "{begin} and kept; to resume: evener queens {n}{flags} --checkpoint {}",
            one_line(&file.to_string_lossy())
        ),
        None => format!("{begin} and not kept; with --checkpoint FILE a run can be resumed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_a_file_has_a_name() {
        let name = |text: &str| Output::named(text.as_ref()).name();
        assert_eq!(name("-"), None);
        assert_eq!(name("null:"), None);
        assert_eq!(name("/dev/null"), None);
        assert_eq!(name("out.y4m").as_deref(), Some("out.y4m"));
    }

    #[test]
    fn an_interrupted_count_names_the_command_that_resumes_it() {
        let line =
            |flags, file: Option<&str>| interrupted_board(16, 0.25, flags, file.map(OsStr::new));
        assert_eq!(
            line(" --fundamental", Some("c.txt")),
            "interrupted: N = 16 is 25.0 % done and kept; to resume: evener queens 16 --fundamental --checkpoint c.txt"
        );
        assert!(line("", None).ends_with("with --checkpoint FILE a run can be resumed"));
    }
}
