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

use super::shelf::{Buffers, Lent};

/// What happened in a stream so far, for those outside.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    taken: AtomicU64,
    aside_ns: AtomicU64,
}

impl Gauge {
    /// Units that were taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Time that lending, making and filling buffers took, and what was called before units were taken.
    pub(super) fn aside(&self) -> Duration {
        Duration::from_nanos(self.aside_ns.load(Ordering::Relaxed))
    }

    fn timed<T>(&self, make: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let made = make();
        let nanos = begin.elapsed().as_nanos() as u64;
        self.aside_ns.fetch_add(nanos, Ordering::Relaxed);
        made
    }
}

/// A service whose inputs hold the frame from the start.
pub(super) struct Prepared {
    service: FilterService,
    buffers: Buffers,
    gauge: Arc<Gauge>,
}

impl Prepared {
    pub(super) fn new(service: FilterService, buffers: Buffers, gauge: Arc<Gauge>) -> Prepared {
        Prepared {
            service,
            buffers,
            gauge,
        }
    }
}

/// The frames that are lent.
fn frames<'a>(lent: &[&'a Lent]) -> Vec<&'a Frame> {
    lent.iter().map(|lent| &***lent).collect()
}

impl Service for Prepared {
    type Input = Lent;
    type Output = Lent;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.service.key()
    }

    fn input(&self) -> Lent {
        self.gauge.timed(|| self.buffers.input())
    }

    fn output(&self) -> Lent {
        self.gauge.timed(|| self.buffers.output(&self.service))
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
        input: &Lent,
        output: &Lent,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        self.service.run(part, input, output, scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Lent],
        outputs: &[&Lent],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let (inputs, outputs) = (frames(inputs), frames(outputs));
        self.service.run_group(part, &inputs, &outputs, scratch)
    }
}

/// What is called before some units are taken.
pub(super) struct OnTake {
    units: VecDeque<u64>,
    call: Box<dyn FnMut(u64) + Send>,
}

impl OnTake {
    /// Calls `call` before each of these units, in ascending order, with its number from 0. The number after the last
    /// is that of the end.
    pub(super) fn at(
        units: impl IntoIterator<Item = u64>,
        call: impl FnMut(u64) + Send + 'static,
    ) -> OnTake {
        OnTake {
            units: units.into_iter().collect(),
            call: Box::new(call),
        }
    }
}

/// A source that says how many units there are, and leaves them as they are.
pub(super) struct Still {
    gauge: Arc<Gauge>,
    total: u64,
    on_take: Option<OnTake>,
}

impl Still {
    pub(super) fn new(gauge: Arc<Gauge>, total: u64, on_take: Option<OnTake>) -> Still {
        Still {
            gauge,
            total,
            on_take,
        }
    }
}

impl Source<Prepared> for Still {
    type Error = Infallible;

    fn read(&mut self, _: &mut Lent) -> Result<bool, Infallible> {
        let number = self.gauge.taken();
        if let Some(on_take) = &mut self.on_take
            && on_take.units.front() == Some(&number)
        {
            on_take.units.pop_front();
            self.gauge.timed(|| (on_take.call)(number));
        }
        if number == self.total {
            return Ok(false);
        }
        self.gauge.taken.store(number + 1, Ordering::Relaxed);
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.total)
    }

    fn inline(&self) -> bool {
        true
    }
}
