//! The source and the sink of a stream of blocks in memory, and the time between them.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use evener_crypt::bulk::UnitOut;
use evener_crypt::product::{Batch, Block, BlockSource};
use evener_files::unpoisoned;
use evener_runtime::structure::FARM;
use evener_runtime::{Part, Service, Sink, Source};

use crate::error::Error;

/// When a stream began and ended, by the clock and in processor time of the whole process.
#[derive(Default)]
pub(super) struct StreamClock {
    begin: OnceLock<(Instant, Duration)>,
    end: OnceLock<(Instant, Duration)>,
}

impl StreamClock {
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

/// Not available.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

/// Costs of a unit at the ends of a stream, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndpointCosts {
    /// Reading it.
    pub(super) read: f64,
    /// Writing its result.
    pub(super) write: f64,
}

impl EndpointCosts {
    /// Means over the `units` units of a stream, all of one size.
    ///
    /// # Errors
    /// A unit cannot be computed or written.
    pub(super) fn measure<S>(
        service: &S,
        (mut source, mut sink): (TimedSource, Collect),
        units: u64,
    ) -> Result<EndpointCosts, Error>
    where
        S: Service<Input = Batch, Output = UnitOut>,
    {
        let (mut input, output) = (service.input(), service.output());
        let begin = Instant::now();
        for _ in 0..units {
            let Ok(_) = Source::<S>::read(&mut source, &mut input);
        }
        let read = begin.elapsed().as_secs_f64() / units.max(1) as f64;
        let part = Part {
            structure: &FARM,
            pass: 0,
            items: 0..1,
        };
        service
            .run(&part, &input, &output, &mut service.scratch())
            .map_err(Error::Runtime)?;
        let begin = Instant::now();
        for _ in 0..units {
            Sink::<S>::write(&mut sink, &output)?;
        }
        let write = begin.elapsed().as_secs_f64() / units.max(1) as f64;
        Ok(EndpointCosts { read, write })
    }

    /// The costs of the stages of a pipeline, with reading in the first and writing in the last.
    pub(super) fn around(self, mut stages: Vec<f64>) -> Vec<f64> {
        if let Some(first) = stages.first_mut() {
            *first += self.read;
        }
        if let Some(last) = stages.last_mut() {
            *last += self.write;
        }
        stages
    }
}

/// Blocks in memory. The clock starts with the first.
pub(super) struct TimedSource {
    pub(super) inner: BlockSource,
    pub(super) clock: Arc<StreamClock>,
}

impl<S: Service<Input = Batch>> Source<S> for TimedSource {
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

/// Collects blocks. The clock stops when `room` is filled.
pub(super) struct Collect {
    pub(super) blocks: Arc<Mutex<Vec<Block>>>,
    pub(super) room: usize,
    pub(super) clock: Arc<StreamClock>,
}

impl<S: Service<Output = UnitOut>> Sink<S> for Collect {
    type Error = Error;

    fn write(&mut self, unit: &UnitOut) -> Result<(), Error> {
        let bytes = unit.bytes();
        let (blocks, _) = bytes[..unit.len()].as_chunks();
        let mut all = unpoisoned(self.blocks.lock());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_added_to_the_first_and_the_last_stage() {
        let ends = EndpointCosts {
            read: 1.0,
            write: 2.0,
        };
        assert_eq!(ends.around(vec![10.0, 20.0, 30.0]), [11.0, 20.0, 32.0]);
        assert_eq!(ends.around(vec![10.0]), [13.0]);
    }
}
