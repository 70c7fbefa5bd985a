//! Problems while an image is served. Each message is logged once and then counted.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use evener_files::lock;
use tracing::warn;

/// Different lines that are logged. Of further ones only the number is.
const MAX_LINES: usize = 1000;
/// How long a repeated line is only counted.
const INTERVAL: Duration = Duration::from_secs(60);

/// Messages about reads or writes that failed. Each is logged when it is first reported. Repetitions are counted, and
/// their number is logged after a while and at the end.
#[derive(Debug, Default)]
pub struct FaultLog(Mutex<Reported>);

#[derive(Debug, Default)]
struct Reported {
    lines: HashMap<String, Repeated>,
    /// Reports of lines beyond the first [`MAX_LINES`].
    others: u64,
}

#[derive(Debug)]
struct Repeated {
    logged: Instant,
    /// Reports since then.
    times: u64,
}

impl FaultLog {
    /// Reports a problem.
    pub fn report(&self, line: impl fmt::Display) {
        let line = line.to_string();
        let mut reported = lock(&self.0);
        let now = Instant::now();
        if let Some(repeated) = reported.lines.get_mut(&line) {
            repeated.times += 1;
            if now.duration_since(repeated.logged) >= INTERVAL {
                repeated.log(&line, now);
            }
            return;
        }
        if reported.lines.len() == MAX_LINES {
            reported.others += 1;
            return;
        }
        warn!("{line}");
        let repeated = Repeated {
            logged: now,
            times: 0,
        };
        reported.lines.insert(line, repeated);
    }

    /// Logs the messages that were only counted.
    pub fn close(&self) {
        let mut reported = lock(&self.0);
        let now = Instant::now();
        let mut lines: Vec<_> = reported.lines.iter_mut().collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        for (line, repeated) in lines {
            repeated.log(line, now);
        }
        match std::mem::take(&mut reported.others) {
            0 => {}
            others => warn!("{others} more such faults, in other places"),
        }
    }
}

impl Repeated {
    fn log(&mut self, line: &str, now: Instant) {
        match std::mem::take(&mut self.times) {
            0 => return,
            1 => warn!("{line} (the same once more)"),
            times => warn!("{line} (the same {times} times more)"),
        }
        self.logged = now;
    }
}
