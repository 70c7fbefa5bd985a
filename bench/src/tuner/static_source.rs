//! A source and a service whose frame lies in memory, so that nothing is read or written.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_image::Frame;
use evener_image::exec::service::{FilterService, Scratch};
use evener_runtime::stream::Source;
use evener_runtime::{Part, Service, Shape, Structure};

use super::buffer_pool::{BufferPool, PooledFrame};

/// What a stream has done so far, shared with the benchmark.
#[derive(Debug, Default)]
pub(super) struct StreamCounters {
    units_read: AtomicU64,
    excluded_ns: AtomicU64,
}

impl StreamCounters {
    /// Units that were read.
    pub(super) fn units_read(&self) -> u64 {
        self.units_read.load(Ordering::Relaxed)
    }

    /// Time that is no part of the stream: that of hooks and, in short streams, of making buffers.
    pub(super) fn excluded(&self) -> Duration {
        Duration::from_nanos(self.excluded_ns.load(Ordering::Relaxed))
    }

    fn exclude<T>(&self, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let value = work();
        let nanos = begin.elapsed().as_nanos() as u64;
        self.excluded_ns.fetch_add(nanos, Ordering::Relaxed);
        value
    }
}

/// Where a stream gets its buffers, and whether their making is a part of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    /// The stream makes its own, as a user's does.
    Counted,
    /// They come from the pool, so that short streams can be compared.
    Excluded,
}

/// A service whose inputs hold the frame from the start.
pub(super) struct PooledService {
    service: FilterService,
    pool: BufferPool,
    making: Making,
    counters: Arc<StreamCounters>,
}

impl PooledService {
    pub(super) fn new(
        service: FilterService,
        pool: &BufferPool,
        making: Making,
        counters: Arc<StreamCounters>,
    ) -> PooledService {
        PooledService {
            service,
            pool: match making {
                Making::Counted => pool.empty(),
                Making::Excluded => pool.clone(),
            },
            making,
            counters,
        }
    }

    fn make(&self, make: impl FnOnce() -> PooledFrame) -> PooledFrame {
        match self.making {
            Making::Counted => make(),
            Making::Excluded => self.counters.exclude(make),
        }
    }
}

fn frames<'a>(pooled: &[&'a PooledFrame]) -> Vec<&'a Frame> {
    pooled.iter().map(|pooled| &***pooled).collect()
}

impl Service for PooledService {
    type Input = PooledFrame;
    type Output = PooledFrame;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.service.key()
    }

    fn input(&self) -> PooledFrame {
        self.make(|| self.pool.input())
    }

    fn output(&self) -> PooledFrame {
        self.make(|| self.pool.output(&self.service))
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

/// A function that is called before some units are read.
pub(super) struct UnitHook {
    units: VecDeque<u64>,
    call: Box<dyn FnMut(u64) + Send>,
}

impl UnitHook {
    /// Calls `call` before each of these units, in ascending order, with its number from 0. The number after the last
    /// unit is that of the end.
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

/// A source of a known number of units, which leaves them as they are.
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
            self.counters.exclude(|| (hook.call)(number));
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
