//! How long a waiting thread spins before it parks.

#[cfg(not(loom))]
use std::time::{Duration, Instant};

#[cfg(not(loom))]
use crate::dispatch::sync::{spin_loop, thread};

/// Iterations before the clock is read for the first time; most waits end within them.
#[cfg(not(loom))]
const FIRST_SPINS: u32 = 200;
/// Iterations between two readings of the clock.
#[cfg(not(loom))]
const SPINS: u32 = 32;
/// A thread spins this long, yields its processor once, and again, then parks. To wake a parked thread on a virtual
/// machine costs from tens of microseconds to more than a hundred, and the sum is of that order. So a wait costs little
/// more than twice what the better of spinning and parking would have cost.
#[cfg(not(loom))]
const PHASES: [Duration; 2] = [Duration::from_micros(10), Duration::from_micros(150)];

/// Spins until `ready`, or until it is time to park (`false`).
#[cfg(not(loom))]
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    let mut round = |n: u32| {
        for _ in 0..n {
            if ready() {
                return true;
            }
            spin_loop();
        }
        false
    };
    if round(FIRST_SPINS) {
        return true;
    }
    let start = Instant::now();
    for phase in PHASES {
        while start.elapsed() < phase {
            if round(SPINS) {
                return true;
            }
        }
        // The thread that is waited for may need this very processor.
        thread::yield_now();
    }
    round(1)
}

/// Under loom a spin is one look: longer ones add states and no behaviour.
#[cfg(loom)]
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    ready()
}
