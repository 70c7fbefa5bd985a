//! A lane that computes frames.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use bytemuck::cast_slice;
use evener_runtime::device::{
    Arg, Buffer, Command, DeviceError, HostMemory, Lane, Launch, UnitLane,
};

use super::host::PlaneHost;
use super::plan::{Plan, PlanePlan};
use super::record::{THREADS, group_rows};
use crate::exec::service::FilterService;
use crate::frame::{Frame, PlaneBytes, PlaneBytesMut};

/// How long the parameters may take to the device.
const SET_UP: Duration = Duration::from_secs(10);

/// A lane with the memory that frames of a service need.
pub(super) struct FrameLane<'a> {
    lane: Box<dyn Lane>,
    planes: Vec<PlaneLane<'a>>,
}

/// What a plane has on a device.
struct PlaneLane<'a> {
    index: usize,
    /// Of as many units as a run has at most.
    input: Buffer,
    output: Buffer,
    /// Bytes of one unit.
    input_bytes: usize,
    output_bytes: usize,
    /// The bytes of the source that are read.
    read: Range<usize>,
    launches: Vec<PlaneLaunch>,
    host: RefCell<PlaneHost<'a>>,
}

/// What does not change about a launch from run to run.
struct PlaneLaunch {
    kernel: &'static str,
    args: [Arg; 4],
    /// Groups for the outputs of one unit.
    groups: [u32; 2],
}

impl<'a> FrameLane<'a> {
    /// Makes the memory and brings the parameters there.
    pub fn new(
        service: &'a FilterService,
        plan: &Plan,
        mut lane: Box<dyn Lane>,
    ) -> Result<Self, DeviceError> {
        let words: &[u8] = cast_slice(&plan.words);
        let parameters = lane.buffer(words.len())?;
        let upload = Command::Upload {
            to: parameters,
            at: 0,
            from: words,
        };
        lane.run(&mut [upload], SET_UP)?;
        let mut between = Vec::new();
        for bytes in plan.between() {
            between.push(lane.buffer(bytes * plan.most_units)?);
        }
        let mut planes = Vec::new();
        for plane in &plan.planes {
            let input = lane.buffer(plane.input_bytes * plan.most_units)?;
            let output = lane.buffer(plane.output_bytes * plan.most_units)?;
            planes.push(PlaneLane {
                index: plane.index,
                input,
                output,
                input_bytes: plane.input_bytes,
                output_bytes: plane.output_bytes,
                read: plane.read.clone(),
                launches: launches(plane, parameters, input, &between, output),
                host: RefCell::new(PlaneHost::new(service, plane.index)),
            });
        }
        Ok(FrameLane { lane, planes })
    }
}

/// The launches of a plane. Each reads what the one before it wrote: the input, then the planes between by turns.
fn launches(
    plane: &PlanePlan,
    parameters: Buffer,
    input: Buffer,
    between: &[Buffer],
    output: Buffer,
) -> Vec<PlaneLaunch> {
    let last = plane.chain.passes.len() - 1;
    let passes = plane.chain.passes.iter().zip(&plane.records).enumerate();
    let launches = passes.map(|(i, (pass, &record))| PlaneLaunch {
        kernel: pass.kernel.name,
        args: [
            Arg::Buffer(parameters),
            Arg::U32(record),
            Arg::Buffer(if i == 0 { input } else { between[(i - 1) % 2] }),
            Arg::Buffer(if i == last { output } else { between[i % 2] }),
        ],
        groups: [
            (pass.computed.width() as u32).div_ceil(THREADS[0]),
            group_rows(pass),
        ],
    });
    launches.filter(|launch| launch.groups[1] > 0).collect()
}

impl PlaneLane<'_> {
    fn uploads<'f>(&self, frames: &'f [PlaneBytes<'_>]) -> impl Iterator<Item = Command<'f>> {
        let (to, read, bytes) = (self.input, self.read.clone(), self.input_bytes);
        let frames = frames.iter().enumerate().filter(|_| !self.read.is_empty());
        frames.map(move |(unit, plane)| Command::Upload {
            to,
            at: unit * bytes + read.start,
            from: &plane[read.clone()],
        })
    }

    fn downloads<'f>(
        &self,
        frames: &'f mut [PlaneBytesMut<'_>],
    ) -> impl Iterator<Item = Command<'f>> {
        let (from, bytes) = (self.output, self.output_bytes);
        let frames = frames.iter_mut().enumerate();
        frames.map(move |(unit, plane)| Command::Download {
            from,
            at: unit * bytes,
            to: plane.bytes(),
        })
    }

    /// What the launches compute, by the kernels of a core.
    fn on_host(&self, units: usize, memory: &HostMemory) {
        let (input, mut output) = (memory.read(self.input), memory.write(self.output));
        let from = input.chunks_exact(self.input_bytes);
        let to = output.chunks_exact_mut(self.output_bytes);
        for (from, to) in from.zip(to).take(units) {
            self.host.borrow_mut().compute(from, to);
        }
    }
}

impl UnitLane<Frame, Frame> for FrameLane<'_> {
    fn run(
        &mut self,
        inputs: &[&Frame],
        outputs: &[&Frame],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let planes = &self.planes;
        let read: Vec<Vec<PlaneBytes<'_>>> = planes
            .iter()
            .map(|plane| inputs.iter().map(|f| f.plane_bytes(plane.index)).collect())
            .collect();
        let mut written: Vec<Vec<PlaneBytesMut<'_>>> = planes
            .iter()
            .map(|plane| {
                outputs
                    .iter()
                    .map(|f| f.write_plane_bytes(plane.index))
                    .collect()
            })
            .collect();
        let hosts: Vec<_> = planes
            .iter()
            .map(|plane| |memory: &HostMemory| plane.on_host(inputs.len(), memory))
            .collect();

        let mut commands = Vec::new();
        for (plane, frames) in planes.iter().zip(&read) {
            commands.extend(plane.uploads(frames));
        }
        for (p, (plane, host)) in planes.iter().zip(&hosts).enumerate() {
            for (i, launch) in plane.launches.iter().enumerate() {
                let last = i + 1 == plane.launches.len();
                let all = last && p + 1 == planes.len();
                commands.push(Command::Launch(Launch {
                    kernel: launch.kernel,
                    args: &launch.args,
                    groups: [launch.groups[0], launch.groups[1] * inputs.len() as u32],
                    threads: THREADS,
                    units: if all { inputs.len() as u32 } else { 0 },
                    host: if last { host } else { &|_| {} },
                }));
            }
        }
        for (plane, frames) in planes.iter().zip(&mut written) {
            commands.extend(plane.downloads(frames));
        }
        self.lane.run(&mut commands, limit)
    }
}
