//! A service whose result shows every mistake of a stream, and sources and sinks that fail on demand.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

use crate::structures::{BACKWARD, FARM, GROUPED, PIPELINE, SEQUENTIAL, TILED};
use evener_runtime::tuner::{Epoch, Measured, Purpose};
use evener_runtime::{
    Dispatch, Part, Plan, Runtime, Service, Shape, Sink, Source, Structure, Work, stream::Schedule,
};

/// Items of a unit.
pub const ITEMS: u32 = 97;

/// Steps of a unit in a pipeline.
pub const STEPS: u32 = 6;

/// Runs `f` on a thread of its own and fails if it takes too long: a stream must never hang.
pub fn within<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = done.send(f());
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("no end after a minute"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}

pub fn runtime() -> Runtime {
    Runtime::builder().workers(3).build().unwrap()
}

pub fn plan(structure: &'static Structure, dispatch: Dispatch, grain: u32, workers: u32) -> Plan {
    Plan {
        structure,
        dispatch,
        grain,
        workers,
        devices: 0,
    }
}

/// How a kernel fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fail {
    Error,
    Panic,
}

/// A unit, some of its steps, and where they ran.
pub type Ran = (u64, Range<u32>, ThreadId);

/// Item i of a unit is a mix of items i and i + 1 of the one before, twice.
#[derive(Clone, Default)]
pub struct Toy {
    pub fail: Option<(u64, Fail)>,
    /// Time of a unit, by its number, spent in its first item.
    pub delay: Option<fn(u64, &'static Structure) -> Duration>,
    pub pipeline: bool,
    /// Units of a group; 0 for a toy that has no such structure.
    pub grouped: u32,
    /// How many units each group had.
    pub groups: Arc<Mutex<Vec<usize>>>,
    /// What a failure leaves in private memory makes every later job fail.
    pub spoils: bool,
    /// Time of a step, by the unit's number, and the step that fails.
    pub step: Option<fn(u64, u32) -> Duration>,
    pub fail_step: u32,
    /// Which thread ran which steps of a unit.
    pub ran: Arc<Mutex<Vec<Ran>>>,
    /// Structures that were prepared, each taking this long.
    pub prepared: Arc<Mutex<Vec<&'static Structure>>>,
    pub prepare: Duration,
    pub made: Arc<[AtomicUsize; 3]>,
}

#[derive(Default)]
pub struct In {
    pub number: u64,
    pub data: Vec<u32>,
}

pub struct Out {
    pub number: AtomicU32,
    middle: Vec<AtomicU32>,
    pub data: Vec<AtomicU32>,
    /// Steps done, and whether one is being done.
    steps: AtomicU32,
    busy: AtomicBool,
}

fn mix(a: u32, b: u32) -> u32 {
    a.rotate_left(7).wrapping_mul(0x9E37_79B9) ^ b.wrapping_add(0x7F4A_7C15)
}

fn item(number: u64, i: usize) -> u32 {
    mix(number as u32, i as u32)
}

/// What unit `number` becomes.
pub fn expected(number: u64) -> Vec<u32> {
    let mut data: Vec<u32> = (0..ITEMS as usize).map(|i| item(number, i)).collect();
    for _ in 0..2 {
        data = (0..data.len())
            .map(|i| mix(data[i], data[(i + 1) % data.len()]))
            .collect();
    }
    data
}

/// Private memory of a worker.
#[derive(Default)]
pub struct Private {
    mixed: Vec<u32>,
    spoilt: bool,
}

impl Service for Toy {
    type Input = In;
    type Output = Out;
    type Scratch = Private;

    fn key(&self) -> String {
        "toy".into()
    }

    fn input(&self) -> In {
        self.made[0].fetch_add(1, Ordering::Relaxed);
        In {
            number: u64::MAX,
            data: vec![0; ITEMS as usize],
        }
    }

    fn output(&self) -> Out {
        self.made[1].fetch_add(1, Ordering::Relaxed);
        let zeros = || (0..ITEMS).map(|_| AtomicU32::new(0)).collect();
        Out {
            number: AtomicU32::new(u32::MAX),
            middle: zeros(),
            data: zeros(),
            steps: AtomicU32::new(0),
            busy: AtomicBool::new(false),
        }
    }

    fn scratch(&self) -> Private {
        self.made[2].fetch_add(1, Ordering::Relaxed);
        Private::default()
    }

    fn prepare(&self, structure: &'static Structure) {
        std::thread::sleep(self.prepare);
        self.prepared.lock().unwrap().push(structure);
    }

    fn shapes(&self, _: usize) -> Vec<Shape> {
        let shape = |structure, passes: &[u32]| Shape {
            structure,
            passes: passes.to_vec(),
            steps: Vec::new(),
            lines: Vec::new(),
            pass_names: Vec::new(),
            device_pass: None,
            default_grain: 8,
            min_grain: 1,
            units: 1,
            work: Work {
                ops: 4.0 * f64::from(ITEMS),
                bytes: 8.0 * f64::from(ITEMS),
                fresh: 0.0,
            },
        };
        let mut shapes = vec![
            shape(&SEQUENTIAL, &[ITEMS, ITEMS]),
            shape(&BACKWARD, &[ITEMS]),
            shape(&TILED, &[ITEMS]),
            shape(&FARM, &[ITEMS]),
        ];
        if self.pipeline {
            shapes.push(shape(&PIPELINE, &[STEPS]));
        }
        if self.grouped > 0 {
            let mut shape = shape(&GROUPED, &[ITEMS, ITEMS]);
            shape.units = self.grouped;
            shape.work.ops /= f64::from(self.grouped);
            shape.work.bytes /= f64::from(self.grouped);
            shapes.push(shape);
        }
        shapes
    }

    fn run(
        &self,
        part: &Part,
        input: &In,
        output: &Out,
        scratch: &mut Private,
    ) -> Result<(), String> {
        if part.structure == &PIPELINE {
            return self.steps(part.items.clone(), input, output);
        }
        self.begin(part, &[input], scratch)?;
        self.mix(part, input, output, scratch);
        Ok(())
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&In],
        outputs: &[&Out],
        scratch: &mut Private,
    ) -> Result<(), String> {
        assert_eq!(part.structure, &GROUPED);
        assert_eq!(inputs.len(), outputs.len());
        assert!((1..=self.grouped as usize).contains(&inputs.len()));
        if part.pass == 0 && part.items.start == 0 {
            self.groups.lock().unwrap().push(inputs.len());
        }
        self.begin(part, inputs, scratch)?;
        for (input, output) in inputs.iter().zip(outputs) {
            self.mix(part, input, output, scratch);
        }
        Ok(())
    }
}

fn has_two_passes(structure: &'static Structure) -> bool {
    [&SEQUENTIAL, &GROUPED].contains(&structure)
}

impl Toy {
    /// Fails if one of the units is to fail in this part, and takes as long as the slowest of them.
    fn begin(&self, part: &Part, inputs: &[&In], scratch: &mut Private) -> Result<(), String> {
        assert!(!scratch.spoilt, "left by a kernel that failed");
        let items = part.of(ITEMS as usize);
        let last = !has_two_passes(part.structure) || part.pass == 1;
        if last
            && items.contains(&(ITEMS as usize / 2))
            && let Some((unit, how)) = self.fail
            && inputs.iter().any(|input| input.number == unit)
        {
            scratch.spoilt = self.spoils;
            match how {
                Fail::Error => return Err("the toy broke".into()),
                Fail::Panic => panic!("the toy fell"),
            }
        }
        if items.start == 0
            && let Some(delay) = self.delay
        {
            let delays = inputs.iter().map(|i| delay(i.number, part.structure));
            std::thread::sleep(delays.max().unwrap_or_default());
        }
        Ok(())
    }

    fn mix(&self, part: &Part, input: &In, output: &Out, scratch: &mut Private) {
        let n = ITEMS as usize;
        let items = part.of(n);
        output.number.store(input.number as u32, Ordering::Relaxed);
        let at = |i: usize| input.data[i % n];
        match (has_two_passes(part.structure), part.pass) {
            (true, 0) => {
                for i in items {
                    output.middle[i].store(mix(at(i), at(i + 1)), Ordering::Relaxed);
                }
            }
            (true, _) => {
                let at = |i: usize| output.middle[i % n].load(Ordering::Relaxed);
                for i in items {
                    output.data[i].store(mix(at(i), at(i + 1)), Ordering::Relaxed);
                }
            }
            _ => {
                let mixed = &mut scratch.mixed;
                mixed.clear();
                mixed.extend((items.start..items.end + 1).map(|i| mix(at(i), at(i + 1))));
                for (pair, i) in mixed.windows(2).zip(items) {
                    output.data[i].store(mix(pair[0], pair[1]), Ordering::Relaxed);
                }
            }
        }
    }

    /// Step 1 mixes once and step 4 again; the others do nothing but be counted.
    fn steps(&self, steps: Range<u32>, input: &In, output: &Out) -> Result<(), String> {
        let n = ITEMS as usize;
        assert!(!output.busy.swap(true, Ordering::Acquire), "two at once");
        assert!(!steps.is_empty() && steps.end <= STEPS, "{steps:?}");
        if steps.start == 0 {
            output.steps.store(0, Ordering::Relaxed);
            output.number.store(input.number as u32, Ordering::Relaxed);
        }
        let thread = std::thread::current().id();
        let ran = (input.number, steps.clone(), thread);
        self.ran.lock().unwrap().push(ran);
        for step in steps {
            let done = output.steps.swap(step + 1, Ordering::Relaxed);
            assert_eq!(done, step, "unit {}", input.number);
            if let Some(delay) = self.step {
                std::thread::sleep(delay(input.number, step));
            }
            if let Some((unit, how)) = self.fail
                && (unit, self.fail_step) == (input.number, step)
            {
                output.busy.store(false, Ordering::Release);
                match how {
                    Fail::Error => return Err("the toy broke".into()),
                    Fail::Panic => panic!("the toy fell"),
                }
            }
            for i in 0..n {
                if step == 1 {
                    let mixed = mix(input.data[i], input.data[(i + 1) % n]);
                    output.middle[i].store(mixed, Ordering::Relaxed);
                } else if step == 4 {
                    let at = |i: usize| output.middle[i % n].load(Ordering::Relaxed);
                    output.data[i].store(mix(at(i), at(i + 1)), Ordering::Relaxed);
                }
            }
        }
        output.busy.store(false, Ordering::Release);
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the toy {0} is out of order")]
pub struct Broken(pub &'static str);

/// Where [`Numbers`] fail that do not start.
pub const START: u64 = u64::MAX;

/// Counts up to `units`, failing or panicking on demand.
#[derive(Default)]
pub struct Numbers {
    pub units: u64,
    pub next: u64,
    pub inline: bool,
    /// It waits for no other program.
    pub ready: bool,
    pub fail: Option<(u64, Fail)>,
    /// Blocks before this unit until the gate is opened (or dropped).
    pub gate: Option<(u64, mpsc::Receiver<()>)>,
    pub delay: Duration,
    pub started: bool,
    /// Goes with the source.
    pub _alive: Arc<()>,
}

pub fn numbers(units: u64) -> Numbers {
    Numbers {
        units,
        ..Numbers::default()
    }
}

/// The first unit of [`Numbers`], without a stream.
pub fn first(unit: &mut In) {
    let mut numbers = Numbers {
        started: true,
        ..numbers(1)
    };
    assert!(numbers.read(unit).unwrap());
}

impl Source<Toy> for Numbers {
    type Error = Broken;

    fn start(&mut self, _: &Toy) {
        assert!(!self.started, "started twice");
        assert!(self.fail != Some((START, Fail::Panic)), "the source fell");
        self.started = true;
    }

    fn read(&mut self, unit: &mut In) -> Result<bool, Broken> {
        assert!(self.started, "read before the start");
        if let Some((at, gate)) = &self.gate
            && *at == self.next
        {
            let _ = gate.recv();
        }
        match self.fail {
            Some((at, Fail::Error)) if at == self.next => return Err(Broken("source")),
            Some((at, Fail::Panic)) if at == self.next => panic!("the source fell"),
            _ => {}
        }
        if self.next == self.units {
            // What is not a unit must not come out.
            unit.data.fill(0);
            return Ok(false);
        }
        assert!(self.next < self.units, "read after the end");
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        unit.number = self.next;
        unit.data
            .iter_mut()
            .enumerate()
            .for_each(|(i, v)| *v = item(self.next, i));
        self.next += 1;
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.units)
    }

    fn may_wait(&self) -> bool {
        !self.ready
    }

    fn inline(&self) -> bool {
        self.inline
    }
}

/// What became of a [`Keep`].
#[derive(Debug, Default, PartialEq, Clone)]
pub struct Kept {
    pub started: bool,
    pub numbers: Vec<u64>,
    pub finished: bool,
    pub aborted: bool,
}

/// Keeps the numbers of the units, all of which it checks; fails or panics on demand.
#[derive(Default, Clone)]
pub struct Keep {
    pub kept: Arc<Mutex<Kept>>,
    pub inline: bool,
    /// It waits for no other program.
    pub ready: bool,
    pub fail: Option<(u64, Fail)>,
    pub fail_start: bool,
    pub fail_finish: bool,
    pub delay: Duration,
}

impl Keep {
    pub fn kept(&self) -> Kept {
        self.kept.lock().unwrap().clone()
    }
}

impl Sink<Toy> for Keep {
    type Error = Broken;

    fn start(&mut self, _: &Toy) -> Result<(), Broken> {
        self.kept.lock().unwrap().started = true;
        if self.fail_start {
            Err(Broken("start"))
        } else {
            Ok(())
        }
    }

    fn write(&mut self, unit: &Out) -> Result<(), Broken> {
        let number = u64::from(unit.number.load(Ordering::Relaxed));
        match self.fail {
            Some((at, Fail::Error)) if at == number => return Err(Broken("sink")),
            Some((at, Fail::Panic)) if at == number => panic!("the sink fell"),
            Some((at, _)) => assert!(number < at, "written after an error"),
            _ => {}
        }
        std::thread::sleep(self.delay);
        let data: Vec<u32> = unit
            .data
            .iter()
            .map(|v| v.load(Ordering::Relaxed))
            .collect();
        assert_eq!(data, expected(number), "unit {number}");
        self.kept.lock().unwrap().numbers.push(number);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Broken> {
        self.kept.lock().unwrap().finished = true;
        if self.fail_finish {
            Err(Broken("finish"))
        } else {
            Ok(())
        }
    }

    fn abort(&mut self) {
        self.kept.lock().unwrap().aborted = true;
    }

    fn may_wait(&self) -> bool {
        !self.ready
    }

    fn inline(&self) -> bool {
        self.inline
    }
}

/// Plans one after the other, round and round, and what they cost.
#[derive(Clone)]
pub struct Script {
    pub plans: Vec<(Plan, u32)>,
    pub cutoff: Option<Duration>,
    pub fallback: Option<Plan>,
    /// Of each of the plans, where there are as many.
    pub spread: Vec<bool>,
    pub number: u64,
    pub log: Arc<Mutex<Vec<Recorded>>>,
    pub memory: Arc<Mutex<Memory>>,
}

/// What a stream told of the memory it made.
#[derive(Default)]
pub struct Memory {
    pub buffers: Vec<(Duration, u32)>,
    /// The plan of the epoch, and how long it took.
    pub prepared: Vec<(Plan, Duration)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    Units(Plan, Vec<Duration>),
    Late(Vec<Duration>),
    CutOff {
        plan: Plan,
        done: usize,
        after: Duration,
        redo: Duration,
    },
}

impl Script {
    pub fn new(plans: &[(Plan, u32)]) -> Script {
        let plans = plans.to_vec();
        Script {
            plans,
            cutoff: None,
            fallback: None,
            spread: Vec::new(),
            number: 0,
            log: Arc::default(),
            memory: Arc::default(),
        }
    }

    fn at(&self) -> (Plan, u32) {
        self.plans[self.number as usize % self.plans.len()]
    }
}

impl Recorded {
    /// Units that were computed.
    pub fn units(&self) -> usize {
        match self {
            Recorded::Units(_, costs) | Recorded::Late(costs) => costs.len(),
            Recorded::CutOff { done, .. } => done + 1,
        }
    }
}

impl Schedule for Script {
    fn next(&mut self) -> Epoch {
        let (plan, units) = self.at();
        let turn = self.number as usize % self.plans.len();
        Epoch {
            number: self.number + 1,
            plan,
            units,
            cutoff: self.cutoff,
            fallback: self.fallback.unwrap_or(plan),
            pin_workers: self.spread.get(turn).is_some_and(|&spread| spread),
            purpose: Purpose::Fixed,
        }
    }

    fn buffers(&mut self, pair: Duration, units: u32) {
        self.memory.lock().unwrap().buffers.push((pair, units));
    }

    fn prepared(&mut self, time: Duration) {
        let (plan, _) = self.at();
        self.memory.lock().unwrap().prepared.push((plan, time));
    }

    fn late(&mut self, costs: &[Duration]) {
        self.log
            .lock()
            .unwrap()
            .push(Recorded::Late(costs.to_vec()));
    }

    fn record(&mut self, measured: Measured<'_>) {
        let (plan, _) = self.at();
        self.number += 1;
        self.log.lock().unwrap().push(match measured {
            Measured::Units { costs } => Recorded::Units(plan, costs.to_vec()),
            Measured::CutOff { done, after, redo } => Recorded::CutOff {
                plan,
                done: done.len(),
                after,
                redo,
            },
        });
    }
}
