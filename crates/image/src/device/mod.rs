//! Filter graphs on devices.
//!
//! A filter says with [`Stage::device`](crate::stage::Stage::device) what a device does for its stages; a graph with a
//! stage that says nothing stays on cores. Kernels are fixed: `filters.c` is compiled before any graph is known. A graph
//! becomes few launches all the same:
//!
//! - A launch for each 3x3 neighbourhood, each direction of a weighted sum, each warp; one if there is none of them.
//! - Conversion from codes is done as the first launch loads, and to codes as the last one stores. So are crops, flips and
//!   pointwise filters, which kernels find in a list of numbers.
//! - Between launches are planes of floats in the memory of the device, two for all planes of a frame, made once a lane.
//! - Each launch computes the outputs that a later one reads, by region inference. Rows of the source that nothing reads
//!   are not copied, nor planes whose result is known beforehand.
//! - Units of at most 256 KiB each way are computed several a launch.
//!
//! The arithmetic is that of the definitions, in the same order. Maps and weights are those that cores use, computed on the
//! host and passed, so that nothing needs a double.
//!
//! # What limits it
//!
//! A frame of 1920x1080 in 4:2:0 of 8 bits has 3.1 MB. Through pinned memory PCIe 4 x16 carries about 25 GB/s each way: 125
//! µs up and as long down, at once where there are two copy engines, so at most 8,000 frames a second; twice that on PCIe 5.
//! For edges only luma moves: 2.1 MB, 83 µs. A plane of floats between two launches of that frame takes 12.4 MB, written
//! once and read once from memory, as neighbours are read from caches: 25 µs at 1 TB/s, 8 µs at 3 TB/s, less where the
//! outer cache holds it. So copies are the limit up to five launches on PCIe 4, and kernels beyond. A core takes 0.3 to 8
//! ms for the frame: chains of warps gain, a single pointwise filter is done sooner than copied.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `stage.rs` | what a device does for a stage |
//! | `chain.rs` | a graph as launches |
//! | `record.rs` | a launch as words that kernels read |
//! | `plan.rs` | a bound graph for all devices |
//! | `lane.rs` | a lane that computes frames |
//! | `host.rs` | the same on cores, for simulated devices |
//! | `filters.c` | the kernels; `filters.ptx` is made from it |
#![forbid(unsafe_code)]

mod chain;
mod host;
mod lane;
mod plan;
mod record;
mod stage;

pub(crate) use plan::Plan;
pub use stage::{DeviceStage, Kernel, Operation, View};

use evener_runtime::device::{Arithmetic, DeviceError, Lane, OnDevice, Program, UnitLane};

use crate::exec::service::FilterService;
use crate::frame::Frame;
use lane::FrameLane;

/// The kernels as devices compile them.
const SOURCE: &str = include_str!("filters.c");

/// The program of a graph. A device that lacks exact division or square roots runs the graphs that need none.
fn program(divide: bool, sqrt: bool) -> &'static Program {
    const fn needing(divide: bool, sqrt: bool) -> Program {
        Program {
            name: "filters",
            source: SOURCE,
            ptx: include_str!("filters.ptx"),
            needs: Arithmetic {
                divide,
                sqrt,
                ..Arithmetic::ALL
            },
        }
    }
    static PROGRAMS: [Program; 4] = [
        needing(false, false),
        needing(false, true),
        needing(true, false),
        needing(true, true),
    ];
    &PROGRAMS[2 * usize::from(divide) + usize::from(sqrt)]
}

/// The plan of a service that has one: no other is asked.
fn plan(service: &FilterService) -> &Plan {
    let plan = service.device_plan();
    plan.expect("`Service::device` has given what is asked")
}

impl OnDevice<Frame, Frame> for FilterService {
    fn program(&self) -> &'static Program {
        plan(self).program
    }

    fn most_units(&self) -> usize {
        plan(self).most_units
    }

    fn begin<'a>(
        &'a self,
        lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<Frame, Frame> + 'a>, DeviceError> {
        Ok(Box::new(FrameLane::new(self, plan(self), lane)?))
    }

    fn same(&self, one: &Frame, other: &Frame) -> bool {
        let mut planes = 0..self.output_format().planes();
        planes.all(|p| *one.plane_bytes(p) == *other.plane_bytes(p))
    }
}
