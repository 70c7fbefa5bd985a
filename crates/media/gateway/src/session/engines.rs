//! The threads of engines, and how many there are.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use evener_files::lock;
use evener_runtime::IoThreads;
use evener_runtime::io::{ThreadLoad, wants_another};
use evener_runtime::stream::CancelToken;
use tracing::info;

use super::SessionError;
use super::config::Engines;
use crate::engine::{Engine, Resolver, Shared};

/// The thread of an engine.
const THREAD: &str = "evener-gateway";
/// Looks in a row at which engines must have no room before there is another: a burst is no load.
const LOOKS: u32 = 2;

/// How the first engine ended that failed.
#[derive(Debug, Default)]
pub struct Ended(Mutex<Option<io::Error>>);

impl Ended {
    /// After all have ended.
    pub fn result(self) -> io::Result<()> {
        let inner = self.0.into_inner();
        inner
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }

    fn add(&self, result: io::Result<()>) {
        if let Err(error) = result {
            let mut first = lock(&self.0);
            first.get_or_insert(error);
        }
    }
}

/// Looks in a row at which one more engine was wanted.
#[derive(Debug, Default)]
struct Growth(u32);

impl Growth {
    /// Whether there is to be another one.
    fn another(&mut self, loads: &[ThreadLoad]) -> bool {
        self.0 = match wants_another(loads) {
            true => self.0 + 1,
            false => 0,
        };
        let grows = self.0 >= LOOKS;
        if grows {
            // The new one is seen to be idle, or busy, first.
            self.0 = 0;
        }
        grows
    }
}

/// Engines that run.
pub struct Crew<'scope, 'env> {
    threads: IoThreads<'scope, 'env>,
    shared: &'scope Arc<Shared>,
    /// The resolver's threads end when nobody can ask any more.
    resolver: Resolver,
    ended: &'scope Ended,
    cancel: &'scope CancelToken,
    /// How many there are may change.
    is_auto: bool,
    growth: Growth,
    /// Why there are so many.
    reasons: Vec<String>,
}

impl<'scope, 'env> Crew<'scope, 'env> {
    /// Without any.
    pub fn new(
        threads: IoThreads<'scope, 'env>,
        shared: &'scope Arc<Shared>,
        resolver: Resolver,
        ended: &'scope Ended,
        cancel: &'scope CancelToken,
    ) -> Self {
        Crew {
            threads,
            shared,
            resolver,
            ended,
            cancel,
            is_auto: false,
            growth: Growth::default(),
            reasons: Vec::new(),
        }
    }

    /// Starts those that there are at the beginning.
    ///
    /// # Errors
    /// The system refuses one.
    pub fn begin(&mut self, engines: Engines) -> Result<(), SessionError> {
        let (count, reason) = match engines {
            Engines::Auto => (1, "1 engine at the beginning".to_owned()),
            Engines::Count(count) => (count.get(), format!("{count} engines, as asked for")),
        };
        self.is_auto = engines == Engines::Auto;
        self.reasons.push(reason);
        (0..count).try_for_each(|_| self.start())
    }

    /// Looks at the load of all, and adds one where it would be of use.
    ///
    /// # Errors
    /// The system refuses one.
    pub fn look(&mut self) -> Result<(), SessionError> {
        if !self.is_auto {
            return Ok(());
        }
        let engines = self.shared.directory.engines();
        let loads: Vec<ThreadLoad> = engines.iter().map(|engine| engine.load()).collect();
        if !self.growth.another(&loads) {
            return Ok(());
        }
        let least = loads
            .iter()
            .fold(1.0, |least: f64, load| least.min(load.busy));
        let reason = format!(
            "1 more engine after {:.0} s: each of {} was busy {:.0} % of the time or more, and none waited for a CPU",
            self.shared.began.elapsed().as_secs_f64(),
            loads.len(),
            100.0 * least
        );
        info!("{reason}");
        self.reasons.push(reason);
        self.start()
    }

    /// Why there are so many, a line a decision.
    pub fn into_reasons(self) -> Vec<String> {
        self.reasons
    }

    fn start(&self) -> Result<(), SessionError> {
        let engine =
            Engine::new(self.shared, self.resolver.clone()).map_err(SessionError::System)?;
        let (ended, cancel) = (self.ended, self.cancel);
        self.threads.start(THREAD, move || {
            // Without an engine what it has is not served, whatever ended it.
            let _cancels = CancelOnDrop(cancel);
            ended.add(engine.run());
        })?;
        Ok(())
    }
}

struct CancelOnDrop<'a>(&'a CancelToken);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_that_stays_brings_another_engine_and_a_burst_does_not() {
        let (full, idle) = (
            ThreadLoad {
                busy: 0.9,
                waited: 0.0,
            },
            ThreadLoad::default(),
        );
        let mut growth = Growth::default();
        let looks = [
            &[full][..],
            &[idle],
            &[full],
            &[full],
            &[full, idle],
            &[full, full],
        ];
        let grown = looks.map(|loads| growth.another(loads));
        assert_eq!(grown, [false, false, false, true, false, false]);
        assert!(growth.another(&[full, full]));
    }
}
