//! Both ends of a stream of blocks in memory, and the time between them.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use evener_crypt::bulk::UnitOut;
use evener_crypt::product::{Batch, Block, BlockSource};
use evener_runtime::{Service, Sink, Source};

use crate::error::Error;

/// When a stream began and ended, by the clock and in processor time of the whole process.
#[derive(Default)]
pub(super) struct Clock {
    begin: OnceLock<(Instant, Duration)>,
    end: OnceLock<(Instant, Duration)>,
}

impl Clock {
    /// Seconds between both ends, and of processor time.
    pub(super) fn between(&self) -> Option<(f64, f64)> {
        let (begin, end) = (self.begin.get()?, self.end.get()?);
        let processor = end.1.saturating_sub(begin.1);
        Some(((end.0 - begin.0).as_secs_f64(), processor.as_secs_f64()))
    }
}

fn now() -> (Instant, Duration) {
    (Instant::now(), processor_time())
}

#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Elsewhere it is not told.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

/// Blocks in memory; the clock begins with the first.
pub(super) struct Timed {
    pub(super) inner: BlockSource,
    pub(super) clock: Arc<Clock>,
}

impl<S: Service<Input = Batch>> Source<S> for Timed {
    type Error = Infallible;

    fn read(&mut self, batch: &mut Batch) -> Result<bool, Infallible> {
        self.clock.begin.get_or_init(now);
        Source::<S>::read(&mut self.inner, batch)
    }

    fn units(&self) -> Option<u64> {
        Source::<S>::units(&self.inner)
    }

    fn inline(&self) -> bool {
        true
    }
}

/// Keeps what comes; the clock ends when `room` is filled.
pub(super) struct Gather {
    pub(super) blocks: Arc<Mutex<Vec<Block>>>,
    pub(super) room: usize,
    pub(super) clock: Arc<Clock>,
}

impl<S: Service<Output = UnitOut>> Sink<S> for Gather {
    type Error = Error;

    fn write(&mut self, unit: &UnitOut) -> Result<(), Error> {
        let bytes = unit.bytes();
        let (blocks, _) = bytes[..unit.len()].as_chunks();
        let mut all = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(blocks);
        if all.len() == self.room {
            self.clock.end.get_or_init(now);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}
