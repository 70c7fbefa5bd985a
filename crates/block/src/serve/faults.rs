//! What goes wrong while something is served, told once and then counted.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;

/// Different lines that are told; of what comes then only the number is.
const LINES: usize = 1000;
/// How long the same line is only counted, if it goes on.
const AGAIN: Duration = Duration::from_secs(60);

/// Lines about what cannot be read or written. Each is logged when it is first told; what is told again is counted, and
/// the number logged after a while and at the end.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    lines: HashMap<String, Repeated>,
    /// Of lines that there was no room for.
    others: u64,
}

#[derive(Debug)]
struct Repeated {
    logged: Instant,
    /// How often since then.
    times: u64,
}

impl Faults {
    /// Tells of a fault.
    pub fn tell(&self, line: impl fmt::Display) {
        let line = line.to_string();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(repeated) = told.lines.get_mut(&line) {
            repeated.times += 1;
            if now.duration_since(repeated.logged) >= AGAIN {
                repeated.log(&line, now);
            }
            return;
        }
        if told.lines.len() == LINES {
            told.others += 1;
            return;
        }
        warn!("{line}");
        let repeated = Repeated {
            logged: now,
            times: 0,
        };
        told.lines.insert(line, repeated);
    }

    /// Logs what was only counted.
    pub fn close(&self) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let mut lines: Vec<_> = told.lines.iter_mut().collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        for (line, repeated) in lines {
            repeated.log(line, now);
        }
        match std::mem::take(&mut told.others) {
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
