//! A frame that lies in memory, as the service and the source of a stream in which nothing is read or written.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_image::Frame;
use evener_image::exec::service::{FilterService, Scratch};
use evener_runtime::stream::Source;
use evener_runtime::{Part, Service, Shape, Structure};

use super::buffer_pool::{Buffers, PooledFrame};

/// What happened in a stream so far, for those outside.
#[derive(Debug, Default)]
pub(super) struct StreamCounters {
    units_read: AtomicU64,
    excluded_ns: AtomicU64,
}

impl StreamCounters {
    /// Units that were taken.
    pub(super) fn units_read(&self) -> u64 {
        self.units_read.load(Ordering::Relaxed)
    }

    /// Time that lending, making and filling buffers took, and what was called before units were taken.
    pub(super) fn excluded(&self) -> Duration {
        Duration::from_nanos(self.excluded_ns.load(Ordering::Relaxed))
    }

    fn timed<T>(&self, make: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let made = make();
        let nanos = begin.elapsed().as_nanos() as u64;
        self.excluded_ns.fetch_add(nanos, Ordering::Relaxed);
        made
    }
}

/// A service whose inputs hold the frame from the start.
pub(super) struct PooledService {
    service: FilterService,
    buffers: Buffers,
    counters: Arc<StreamCounters>,
}

impl PooledService {
    pub(super) fn new(
        service: FilterService,
        buffers: Buffers,
        counters: Arc<StreamCounters>,
    ) -> PooledService {
        PooledService {
            service,
            buffers,
            counters,
        }
    }
}

/// The frames that are lent.
fn frames<'a>(lent: &[&'a PooledFrame]) -> Vec<&'a Frame> {
    lent.iter().map(|lent| &***lent).collect()
}

impl Service for PooledService {
    type Input = PooledFrame;
    type Output = PooledFrame;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.service.key()
    }

    fn input(&self) -> PooledFrame {
        self.counters.timed(|| self.buffers.input())
    }

    fn output(&self) -> PooledFrame {
        self.counters.timed(|| self.buffers.output(&self.service))
    }

    fn scratch(&self) -> Scratch {
        self.service.scratch()
    }

    fn prepare(&self, structure: &'static Structure) {
        self.service.prepare(structure);
    }

    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        self.service.shapes(private_cache)
    }

    fn run(
        &self,
        part: &Part,
        input: &PooledFrame,
        output: &PooledFrame,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        self.service.run(part, input, output, scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&PooledFrame],
        outputs: &[&PooledFrame],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let (inputs, outputs) = (frames(inputs), frames(outputs));
        self.service.run_group(part, &inputs, &outputs, scratch)
    }
}

/// What is called before some units are taken.
pub(super) struct UnitHook {
    units: VecDeque<u64>,
    call: Box<dyn FnMut(u64) + Send>,
}

impl UnitHook {
    /// Calls `call` before each of these units, in ascending order, with its number from 0. The number after the last
    /// is that of the end.
    pub(super) fn at(
        units: impl IntoIterator<Item = u64>,
        call: impl FnMut(u64) + Send + 'static,
    ) -> UnitHook {
        UnitHook {
            units: units.into_iter().collect(),
            call: Box::new(call),
        }
    }
}

/// A source that says how many units there are, and leaves them as they are.
pub(super) struct StaticSource {
    counters: Arc<StreamCounters>,
    total: u64,
    hook: Option<UnitHook>,
}

impl StaticSource {
    pub(super) fn new(
        counters: Arc<StreamCounters>,
        total: u64,
        hook: Option<UnitHook>,
    ) -> StaticSource {
        StaticSource {
            counters,
            total,
            hook,
        }
    }
}

impl Source<PooledService> for StaticSource {
    type Error = Infallible;

    fn read(&mut self, _: &mut PooledFrame) -> Result<bool, Infallible> {
        let number = self.counters.units_read();
        if let Some(hook) = &mut self.hook
            && hook.units.front() == Some(&number)
        {
            hook.units.pop_front();
            self.counters.timed(|| (hook.call)(number));
        }
        if number == self.total {
            return Ok(false);
        }
        self.counters
            .units_read
            .store(number + 1, Ordering::Relaxed);
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.total)
    }

    fn inline(&self) -> bool {
        true
    }
}
