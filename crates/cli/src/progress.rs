//! The progress bar: amount done, rate and time left. Only on a terminal.

use std::io::{self, IsTerminal};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use console::Term;
use evener_runtime::quantity::Seconds;
use evener_runtime::stream::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::amount::Amount;
use crate::stderr::{is_quiet, note};

/// The bar of this process, which lines on the terminal have to suspend.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// Steps of a bar that shows the share of all work.
const STEPS: u64 = 1000;

/// How long a terminal may take to clear a line.
const PATIENCE: Duration = Duration::from_millis(100);

/// Calls `print` while no bar is on the terminal.
pub fn without_bar(print: impl FnOnce()) {
    match BAR.get() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Removes the bar before the process ends in the middle of its work. A terminal that is blocked, as after Ctrl-S, is not
/// waited for.
pub fn leave() {
    let Some(bar) = BAR.get() else {
        return;
    };
    let (done, cleared) = mpsc::channel();
    let clear = move || {
        if !bar.is_finished() {
            bar.finish_and_clear();
        }
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(clear).is_ok() {
        let _ = cleared.recv_timeout(PATIENCE);
    }
}

/// How far a run is, as a bar shows it.
#[derive(Default)]
struct Far {
    units: u64,
    bytes: Option<u64>,
    elapsed_s: f64,
    waiting: bool,
    dropped: u64,
}

impl From<&Progress> for Far {
    fn from(progress: &Progress) -> Far {
        Far {
            units: progress.units,
            bytes: progress.bytes,
            elapsed_s: progress.elapsed_s,
            waiting: progress.waiting,
            dropped: progress.dropped,
        }
    }
}

/// What a bar shows.
#[derive(Clone, Copy, Debug)]
pub enum BarKind {
    /// Frames, and how many there are.
    Frames(Option<u64>),
    /// Frames that are coded, how many there are, and how many are shown in a second.
    Coded(Option<u64>, f64),
    /// Bytes, and how many there are.
    Bytes(Option<u64>),
    /// The share of all work.
    Work,
    /// Status lines of a service.
    Lines,
}

impl BarKind {
    fn length(self) -> Option<u64> {
        match self {
            BarKind::Frames(all) | BarKind::Coded(all, _) | BarKind::Bytes(all) => all,
            BarKind::Work => Some(STEPS),
            BarKind::Lines => None,
        }
    }

    /// How much is done.
    fn amount(self, progress: &Far) -> Option<Amount> {
        match self {
            BarKind::Frames(_) | BarKind::Coded(..) => Some(Amount::Frames(progress.units)),
            BarKind::Bytes(_) => progress.bytes.map(Amount::Bytes),
            BarKind::Work | BarKind::Lines => None,
        }
    }

    /// The rate and the size of what is written.
    fn written(self, progress: &Far) -> Option<[String; 2]> {
        let (BarKind::Coded(_, rate), Some(bytes)) = (self, progress.bytes) else {
            return None;
        };
        let seconds = progress.units.max(1) as f64 / rate;
        let bits = Amount::bits_per_second(bytes as f64 * 8.0 / seconds);
        Some([bits, Amount::Bytes(bytes).to_string()])
    }

    /// How much there is.
    fn all(self) -> Option<Amount> {
        match self {
            BarKind::Frames(all) | BarKind::Coded(all, _) => all.map(Amount::Frames),
            BarKind::Bytes(all) => all.map(Amount::Bytes),
            BarKind::Work | BarKind::Lines => None,
        }
    }
}

/// A bar on the standard error.
pub struct Bar {
    bar: &'static ProgressBar,
    kind: BarKind,
    /// Columns before the text.
    before: usize,
}

impl Bar {
    /// `None` if the standard error is no terminal that can draw a bar, or `--quiet` is set.
    pub fn start(kind: BarKind) -> Option<Bar> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if dumb || is_quiet() || !io::stderr().is_terminal() {
            return None;
        }
        let width = if columns() < 80 { 12 } else { 24 };
        let (template, before) = match kind.length() {
            Some(_) => (
                format!("{{bar:{width}}} {{percent:>3}} %  {{msg}}"),
                width + 8,
            ),
            None => ("{spinner} {msg}".to_owned(), 2),
        };
        let bar = ProgressBar::with_draw_target(kind.length(), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("\u{2501}\u{2578}\u{2500}"));
        }
        let bar = BAR.get_or_init(|| bar);
        Some(Bar { bar, kind, before })
    }

    /// The callback of a stream for its progress.
    pub fn updater(&self) -> impl FnMut(&Progress) + Send + use<> {
        let mut update = self.share_updater();
        move |progress| update(progress, None)
    }

    /// A callback for what counts bytes and is no stream.
    pub fn bytes_updater(&self) -> impl FnMut(u64) + use<> {
        let (begin, mut update) = (Instant::now(), self.far_updater());
        move |bytes| {
            let progress = Far {
                bytes: Some(bytes),
                elapsed_s: begin.elapsed().as_secs_f64(),
                ..Far::default()
            };
            update(&progress, None);
        }
    }

    /// The callback of a stream whose units differ in size. It takes the progress, the share of all work that is done,
    /// including earlier runs, and the share of what was left for this run.
    pub fn share_updater(&self) -> impl FnMut(&Progress, Option<[f64; 2]>) + Send + use<> {
        let mut update = self.far_updater();
        move |progress, shares| update(&progress.into(), shares)
    }

    fn far_updater(&self) -> impl FnMut(&Far, Option<[f64; 2]>) + Send + use<> {
        let &Bar { bar, kind, before } = self;
        let mut rate = Rate::default();
        move |progress, shares| {
            let done = kind.amount(progress);
            let share = |done: Amount| {
                let all = kind.all()?.number().max(1);
                Some([(done.number() as f64 / all as f64).min(1.0); 2])
            };
            let mut said: Vec<String> = done.iter().map(|done| done.of(kind.all())).collect();
            if progress.waiting {
                said.push("waiting for input".to_owned());
            } else {
                if let Some(done) = done {
                    said.push(done.rate(rate.at(progress.elapsed_s, done.number())));
                }
                if let Some([_, run]) = shares.or_else(|| share(done?))
                    && run > 0.0
                {
                    let left = (progress.elapsed_s / run * (1.0 - run)).ceil();
                    said.push(format!("{} left", Seconds(left)));
                }
            }
            said.extend(kind.written(progress).into_iter().flatten());
            if progress.dropped > 0 {
                said.push(format!("{} dropped", progress.dropped));
            }
            let position = match (shares, done) {
                (Some([all, _]), _) => (all * STEPS as f64) as u64,
                (None, done) => done.map_or(0, Amount::number),
            };
            if bar.length().is_some_and(|length| length < position) {
                // Some containers have a wrong number of frames.
                bar.set_length(position);
            }
            bar.set_position(position);
            bar.set_message(fitted(&said, room(before)));
        }
    }

    /// A callback that shows a line of parts separated by commas.
    pub fn line_updater<T: std::fmt::Display>(&self) -> impl FnMut(&T) + Send + use<T> {
        let &Bar { bar, before, .. } = self;
        move |line| {
            let parts: Vec<String> = line.to_string().split(", ").map(str::to_owned).collect();
            bar.set_message(fitted(&parts, room(before)));
            bar.tick();
        }
    }
}

impl Drop for Bar {
    /// Removes the bar.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Lines on the standard error for runs of hours, where there is no bar. `--quiet` leaves them out.
pub struct ShareLog {
    every: Duration,
    next: Duration,
}

impl ShareLog {
    /// A line after each `every`.
    pub fn new(every: Duration) -> ShareLog {
        ShareLog { every, next: every }
    }

    /// Takes the share of all work that is done, and the share of what was left for this run.
    pub fn tell(&mut self, progress: &Progress, [all, run]: [f64; 2]) {
        let elapsed = Duration::from_secs_f64(progress.elapsed_s);
        if elapsed < self.next || run <= 0.0 {
            return;
        }
        self.next = elapsed + self.every;
        note(&format!(
            "{:.1} % after {}, {} left",
            all * 100.0,
            Seconds(progress.elapsed_s),
            Seconds(progress.elapsed_s / run * (1.0 - run))
        ));
    }
}

fn columns() -> usize {
    usize::from(Term::stderr().size().1)
}

/// Columns for the text. Some are left free for the ^C that a terminal shows, since a line that wraps cannot be cleared.
fn room(before: usize) -> usize {
    columns().saturating_sub(before + 4)
}

/// As many of the parts as fit, or as many words of the first part.
fn fitted(parts: &[String], room: usize) -> String {
    let fits = |text: &String| text.chars().count() <= room;
    let all = (1..=parts.len()).rev().map(|n| parts[..n].join(", "));
    let words: Vec<&str> = parts.first().map_or(Vec::new(), |p| p.split(' ').collect());
    let some = (0..words.len()).rev().map(|n| words[..n].join(" "));
    all.chain(some).find(fits).unwrap_or_default()
}

/// A smoothed rate.
#[derive(Default)]
struct Rate {
    last: (f64, u64),
    smooth: Option<f64>,
}

impl Rate {
    /// The rate when `done` are done after so many seconds.
    fn at(&mut self, seconds: f64, done: u64) -> f64 {
        let (before, had) = std::mem::replace(&mut self.last, (seconds, done));
        let latest = done.saturating_sub(had) as f64 / (seconds - before).max(1e-3);
        let smooth = self.smooth.map_or(latest, |old| 0.8 * old + 0.2 * latest);
        self.smooth = Some(smooth);
        smooth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_slowly() {
        let mut rate = Rate::default();
        assert!((rate.at(1.0, 100) - 100.0).abs() < 1e-9);
        assert!((rate.at(2.0, 300) - 120.0).abs() < 1e-9);
    }

    #[test]
    fn a_line_is_cut_between_its_parts_and_then_between_words() {
        let parts = ["120 of 300 frames", "27.8 fps", "7 s left"].map(str::to_owned);
        for (room, text) in [
            (40, "120 of 300 frames, 27.8 fps, 7 s left"),
            (37, "120 of 300 frames, 27.8 fps, 7 s left"),
            (36, "120 of 300 frames, 27.8 fps"),
            (17, "120 of 300 frames"),
            (16, "120 of 300"),
            (2, ""),
        ] {
            assert_eq!(fitted(&parts, room), text, "{room}");
        }
        assert_eq!(fitted(&[], 10), "");
    }
}
