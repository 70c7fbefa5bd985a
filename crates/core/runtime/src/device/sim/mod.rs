//! A simulated device: real results, declared costs.
//!
//! It computes with the [`host`](super::Launch::host) part of a launch, on its own memory, and replies when the
//! simulated device would: copies and kernels occupy their engines one after the other, and a lane sleeps until its
//! last copy is done. If the host takes longer than that, the reply is late. On demand it fails.

mod costs;

use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

pub use costs::Costs;

use super::Device;
use super::error::DeviceError;
use super::info::{Arithmetic, DeviceInfo, DeviceKind};
use super::lane::{Buffer, Command, HostMemory, Lane, Program};
use crate::sync::lock;

/// A simulated device.
#[derive(Debug)]
pub struct SimDevice {
    info: DeviceInfo,
    costs: Costs,
    state: Arc<Mutex<State>>,
}

/// What its lanes share.
#[derive(Debug)]
struct State {
    /// When each engine is free: copies up, kernels, copies down.
    up: Instant,
    compute: Instant,
    down: Instant,
    memory_left: usize,
    /// Calls of [`Lane::run`] so far.
    runs: u64,
    lost: bool,
}

impl SimDevice {
    /// Parses a description: `sim`, or `sim:` with the differences from [`Costs::default`], such as
    /// `sim:latency=20us,up=12G,down=12G,speed=20`.
    ///
    /// # Errors
    /// [`DeviceError::Description`]
    pub fn parse(text: &str) -> Result<SimDevice, DeviceError> {
        Ok(SimDevice::new(text.parse()?))
    }

    /// Creates a device with these costs.
    pub fn new(costs: Costs) -> SimDevice {
        let now = Instant::now();
        SimDevice {
            info: DeviceInfo {
                name: "sim".into(),
                model: format!("simulated, {costs}"),
                driver: "evener".into(),
                kind: DeviceKind::Simulated,
                memory: costs.memory as u64,
                unified: false,
                copy_engines: costs.engines,
                lanes: costs.lanes,
                exact: Arithmetic::ALL,
            },
            state: Arc::new(Mutex::new(State {
                up: now,
                compute: now,
                down: now,
                memory_left: costs.memory,
                runs: 0,
                lost: false,
            })),
            costs,
        }
    }
}

impl Device for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn lane(&self, _: &Program) -> Result<Box<dyn Lane>, DeviceError> {
        Ok(Box::new(SimLane {
            name: self.info.name.clone(),
            costs: self.costs.clone(),
            state: Arc::clone(&self.state),
            memory: HostMemory::default(),
            bytes: 0,
        }))
    }
}

struct SimLane {
    name: String,
    costs: Costs,
    state: Arc<Mutex<State>>,
    memory: HostMemory,
    /// Of its buffers.
    bytes: usize,
}

impl Drop for SimLane {
    fn drop(&mut self) {
        lock(&self.state).memory_left += self.bytes;
    }
}

impl Lane for SimLane {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        let mut state = lock(&self.state);
        let Some(left) = state.memory_left.checked_sub(bytes) else {
            return Err(DeviceError::Memory {
                device: self.name.clone(),
                bytes,
            });
        };
        state.memory_left = left;
        self.bytes += bytes;
        Ok(self.memory.add(bytes))
    }

    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError> {
        let begin = Instant::now();
        let run = {
            let mut state = lock(&self.state);
            state.runs += 1;
            state.runs
        };
        let reached = |fault: Option<u64>| fault.is_some_and(|at| run >= at);
        if reached(self.costs.hang) {
            thread::sleep(limit);
            return Err(DeviceError::Hung {
                device: self.name.clone(),
                limit,
            });
        }
        let work = self.compute(commands);
        if reached(self.costs.lost) || lock(&self.state).lost {
            lock(&self.state).lost = true;
            spoil(commands, |to| to.fill(0xa5));
            return Err(DeviceError::Lost {
                device: self.name.clone(),
                why: "as its description says".into(),
            });
        }
        if reached(self.costs.flip) {
            spoil(commands, |to| to[0] ^= 1);
        }
        let slower = match self.costs.drift {
            Some((at, slower)) if run >= at => slower,
            _ => 1.0,
        };
        let kernels = match self.costs.unit_s {
            Some(unit_s) => unit_s * f64::from(work.units),
            None => work.host_s / self.costs.speed,
        };
        let done = self.take_turns(begin, &work, kernels * slower);
        thread::sleep(done.saturating_duration_since(Instant::now()));
        Ok(())
    }
}

/// What commands came to.
#[derive(Default)]
struct Work {
    up: usize,
    down: usize,
    units: u32,
    host_s: f64,
}

impl SimLane {
    /// Does what the commands say, at once.
    fn compute(&self, commands: &mut [Command<'_>]) -> Work {
        let mut work = Work::default();
        for command in commands {
            match command {
                Command::Upload { to, at, from } => {
                    self.memory.write(*to)[*at..*at + from.len()].copy_from_slice(from);
                    work.up += from.len();
                }
                Command::Launch(launch) => {
                    let begin = Instant::now();
                    (launch.host)(&self.memory);
                    work.host_s += begin.elapsed().as_secs_f64();
                    work.units += launch.units;
                }
                Command::Download { from, at, to } => {
                    to.copy_from_slice(&self.memory.read(*from)[*at..*at + to.len()]);
                    work.down += to.len();
                }
            }
        }
        work
    }

    /// When the last copy is done, of work that is given to the device at `begin`.
    fn take_turns(&self, begin: Instant, work: &Work, kernels_s: f64) -> Instant {
        let seconds = Duration::from_secs_f64;
        let costs = &self.costs;
        let mut state = lock(&self.state);
        let up = state.up.max(begin) + seconds(work.up as f64 / costs.up);
        state.up = up;
        if costs.engines < 2 {
            state.down = state.down.max(up);
        }
        let kernels = state.compute.max(up) + seconds(kernels_s);
        state.compute = kernels;
        let down = state.down.max(kernels) + seconds(work.down as f64 / costs.down);
        state.down = down;
        if costs.engines < 2 {
            state.up = state.up.max(down);
        }
        down + seconds(costs.latency_s)
    }
}

/// Changes the first bytes that came down.
fn spoil(commands: &mut [Command<'_>], change: impl Fn(&mut [u8])) {
    let first = commands.iter_mut().find_map(|command| match command {
        Command::Download { to, .. } if !to.is_empty() => Some(to),
        _ => None,
    });
    if let Some(to) = first {
        change(to);
    }
}
