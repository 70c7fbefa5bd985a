//! How long an engine waits between turns.
//!
//! A call to the kernel for each datagram and each client is what a stream costs most of. While there are few of them, all
//! goes on at once. Where there are many, datagrams gather: then a call takes what came for a source in a while, and another
//! sends all of that to a client.

use std::time::{Duration, Instant};

/// In which calls are counted.
const WINDOW: Duration = Duration::from_millis(100);
/// Calls a second, of a chunk to a client each, from which on datagrams gather: about half of what a processor can do.
const MANY: f64 = 130e3;
/// They no longer do when there are fewer than this part of it.
const FEWER: f64 = 0.85;
/// From a turn to the next, while datagrams gather: a tenth of a picture's time.
const GATHERING: Duration = Duration::from_millis(4);

/// Decides by what would be sent if each chunk went to each client by itself. That does not depend on what was decided.
#[derive(Debug)]
pub struct Pace {
    /// When the window began.
    begun: Instant,
    /// Calls in it so far.
    calls: u64,
    gathers: bool,
}

impl Pace {
    /// Nothing has come yet.
    pub fn new(now: Instant) -> Pace {
        Pace {
            begun: now,
            calls: 0,
            gathers: false,
        }
    }

    /// Chunks have come for so many clients.
    pub fn came(&mut self, chunks: u64, clients: usize) {
        self.calls += chunks * clients as u64;
    }

    /// A turn has begun at `now`. Returns from when on the next may begin.
    pub fn turn(&mut self, now: Instant) -> Option<Instant> {
        let window = now.saturating_duration_since(self.begun);
        if window >= WINDOW {
            let many = MANY * if self.gathers { FEWER } else { 1.0 };
            self.gathers = self.calls as f64 > many * window.as_secs_f64();
            (self.begun, self.calls) = (now, 0);
        }
        self.gathers.then(|| now + GATHERING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_gather_while_there_are_many_calls() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        // Chunks and clients of a window, and whether datagrams gather after it.
        let windows = [
            (120, 100, false),
            (140, 100, true),
            (13_500, 1, true),
            (120, 100, true),
            (100, 100, false),
            (120, 100, false),
        ];
        for (number, (chunks, clients, gathers)) in windows.into_iter().enumerate() {
            now += WINDOW;
            pace.came(chunks, clients);
            let next = pace.turn(now);
            assert_eq!(next, gathers.then(|| now + GATHERING), "window {number}");
        }
    }
}
