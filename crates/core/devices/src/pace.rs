//! Waiting for a device without keeping a core busy and without a call that blocks for ever.

use std::thread;
use std::time::{Duration, Instant};

/// How long the kernels of a lane take, so that a wait can sleep through the first half.
#[derive(Debug, Default)]
pub struct Pace {
    last: Duration,
}

impl Pace {
    /// Waits until `done`. `false` if it is not after `limit`.
    pub fn wait<E>(
        &mut self,
        limit: Duration,
        mut done: impl FnMut() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let begin = Instant::now();
        let mut step = self.last / 2;
        loop {
            if done()? {
                self.last = begin.elapsed();
                return Ok(true);
            }
            let elapsed = begin.elapsed();
            if elapsed >= limit {
                return Ok(false);
            }
            thread::sleep(step.min(limit - elapsed));
            // Short beside the whole, and never so short that waking up is all it does.
            let (shortest, longest) = (Duration::from_micros(20), Duration::from_millis(1));
            step = (begin.elapsed() / 16).clamp(shortest, longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_wait_ends_at_its_limit() {
        let begin = Instant::now();
        assert_eq!(
            Pace::default().wait(20 * MS, || Ok::<_, ()>(false)),
            Ok(false)
        );
        assert!(begin.elapsed() >= 20 * MS);
        // A long pace does not outlast the limit.
        let mut pace = Pace {
            last: Duration::from_secs(1000),
        };
        assert_eq!(pace.wait(20 * MS, || Ok::<_, ()>(false)), Ok(false));
        assert!(begin.elapsed() < Duration::from_secs(100));
    }

    #[test]
    fn few_looks_are_taken() {
        let mut pace = Pace::default();
        let mut looks = [0; 2];
        for looks in &mut looks {
            let begin = Instant::now();
            let mut done = || {
                *looks += 1;
                Ok::<_, ()>(begin.elapsed() >= 50 * MS)
            };
            assert_eq!(pace.wait(1000 * MS, &mut done), Ok(true));
        }
        assert!(looks[0] < 200, "{looks:?}");
        assert!(looks[1] < 60, "{looks:?}");
    }

    #[test]
    fn errors_end_a_wait() {
        assert_eq!(
            Pace::default().wait(MS, || Err::<bool, _>("lost")),
            Err("lost")
        );
    }
}
