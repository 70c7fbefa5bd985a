//! The progress bar: units, rate, time left and the plan, on a terminal only.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use console::Term;
use evener_runtime::stream::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Columns before the text: the bar and the percentage.
const BEFORE: usize = 32;

/// The bar of this process, for those who print beside it.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// Calls `print` while no bar is on the terminal.
pub fn beside(print: impl FnOnce()) {
    match BAR.get() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// A bar on the standard error.
pub struct Bar {
    bar: &'static ProgressBar,
    units: &'static str,
    rate: &'static str,
}

impl Bar {
    /// A bar for `count` units, if their number is known; units and units a second are called `units` and `rate`.
    /// `None` where the standard error is no terminal that can draw one.
    pub fn start(count: Option<u64>, units: &'static str, rate: &'static str) -> Option<Bar> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if dumb || !io::stderr().is_terminal() {
            return None;
        }
        let template = match count {
            Some(_) => "{bar:24} {percent:>3} %  {msg}",
            None => "{spinner} {msg}",
        };
        let target = ProgressDrawTarget::stderr();
        let bar = ProgressBar::with_draw_target(count, target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("\u{2501}\u{2578}\u{2500}"));
        }
        Some(Bar {
            bar: BAR.get_or_init(|| bar),
            units,
            rate,
        })
    }

    /// What a stream calls with its progress.
    pub fn updater(&self) -> impl FnMut(&Progress) + Send + use<> {
        let mut update = self.updater_of_shares();
        move |progress| update(progress, None)
    }

    /// What a stream calls whose units differ in size: with its progress, and with the share of all work that is done,
    /// by earlier runs too, and of what was left for this one.
    pub fn updater_of_shares(&self) -> impl FnMut(&Progress, Option<[f64; 2]>) + Send + use<> {
        let &Bar { bar, units, rate } = self;
        let mut smooth = Rate::default();
        move |progress, shares| {
            let now = smooth.smooth(progress.rate);
            let mut text = match progress.total {
                Some(total) => format!("{}/{total} {units}, {now:.0} {rate}, ", progress.units),
                None => format!("{} {units}, {now:.0} {rate}, ", progress.units),
            };
            let of_units = progress.total.map(|total| {
                let share = progress.units as f64 / total.max(1) as f64;
                [share.min(1.0); 2]
            });
            if let Some([_, run]) = shares.or(of_units)
                && run > 0.0
            {
                let left = progress.elapsed_s / run * (1.0 - run);
                text.push_str(&format!("{} left, ", Seconds(left)));
            }
            if progress.dropped > 0 {
                text.push_str(&format!("{} dropped, ", progress.dropped));
            }
            text.push_str(&progress.plan.to_string());
            // Room is left for the ^C that a terminal shows: a line that wraps cannot be cleared.
            let columns = usize::from(Term::stderr().size().1);
            let text: String = text
                .chars()
                .take(columns.saturating_sub(BEFORE + 4))
                .collect();
            let position = match (shares, bar.length()) {
                (Some([all, _]), Some(length)) => (all * length as f64) as u64,
                _ => progress.units,
            };
            if bar.length().is_some_and(|length| length < position) {
                // Containers count frames wrongly now and then.
                bar.set_length(position);
            }
            bar.set_position(position);
            bar.set_message(text);
        }
    }

    /// What shows anything that is a line.
    pub fn teller<T: std::fmt::Display>(&self) -> impl FnMut(&T) + Send + use<T> {
        let bar = self.bar;
        move |line| {
            let columns = usize::from(Term::stderr().size().1);
            let text = line.to_string();
            let text: String = text.chars().take(columns.saturating_sub(6)).collect();
            bar.set_message(text);
            bar.tick();
        }
    }
}

impl Drop for Bar {
    /// Takes the bar off the terminal.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A rate that can be read while it changes.
#[derive(Default)]
struct Rate(Option<f64>);

impl Rate {
    fn smooth(&mut self, latest: f64) -> f64 {
        let smooth = self.0.map_or(latest, |old| 0.8 * old + 0.2 * latest);
        self.0 = Some(smooth);
        smooth
    }
}

/// `4 s`, `2 min 5 s`, `3 h 20 min`
struct Seconds(f64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = self.0.ceil() as u64;
        match s {
            0..60 => write!(f, "{s} s"),
            60..3600 => write!(f, "{} min {} s", s / 60, s % 60),
            _ => write!(f, "{} h {} min", s / 3600, s % 3600 / 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_left_read_well() {
        for (s, text) in [
            (0.0, "0 s"),
            (3.2, "4 s"),
            (125.0, "2 min 5 s"),
            (12_000.0, "3 h 20 min"),
        ] {
            assert_eq!(Seconds(s).to_string(), text);
        }
    }

    #[test]
    fn the_rate_follows_slowly() {
        let mut rate = Rate::default();
        assert_eq!(rate.smooth(100.0), 100.0);
        assert_eq!(rate.smooth(200.0), 120.0);
    }
}
