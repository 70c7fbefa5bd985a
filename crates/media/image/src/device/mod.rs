//! Filter graphs on devices.
//!
//! A filter says with [`Stage::device`](crate::stage::Stage::device) what a device does for its stages; a graph with a
//! stage that says nothing stays on cores. Kernels are fixed: `filters.c` is compiled before any graph is known. A
//! graph becomes few launches all the same:
//!
//! - A launch for each 3x3 neighbourhood, each direction of a weighted sum, each warp; one if there is none of them.
//! - Conversion from codes is done as the first launch loads, and to codes as the last one stores. So are crops, flips
//!   and pointwise filters, which kernels find in a list of numbers.
//! - Between launches are planes of floats in the memory of the device, two for all planes of a frame, made once a
//!   lane.
//! - Each launch computes the outputs that a later one reads, by region inference. Rows of the source that nothing
//!   reads are not copied, nor planes whose result is known beforehand.
//! - Units of at most 256 KiB each way are computed several a launch.
//!
//! The arithmetic is that of the definitions, in the same order. Maps and weights are those that cores use, computed on
//! the host and passed, so that nothing needs a double.
//!
//! # What limits it
//!
//! Worked out for frames of 1920x1080 in 4:2:0 of 8 bits, 3.1 MB and 3.1 M samples; not measured.
//!
//! - **Copies.** PCIe 4 x16 carries about 25 GB/s each way from pinned memory: 125 µs up and 125 µs down, at the same
//!   time where there are two copy engines. That is at most 8,000 frames a second, 16,000 on PCIe 5. For edges only
//!   luma moves: 2.1 MB, 83 µs.
//! - **Memory of the device.** A plane of floats between two launches is written once and read once from memory, as
//!   neighbours come from caches: 25 MB a frame, 25 µs at 1 TB/s, 8 µs at 3 TB/s, nothing where the outer cache holds
//!   it.
//! - **Instructions.** A load takes about 20, since it looks at the format, the edges and the list of operations. A 3x3
//!   neighbourhood of every sample takes 600 M, which is 30 µs on 100 multiprocessors of 128 lanes at 1.6 GHz.
//!
//! So on such a device copies are the limit for chains of up to about three launches, and kernels for longer ones. A
//! core of the machine in `docs/results.md` takes 0.2 ms (D) to 2.3 ms (B) for luma. The device does at most as much as
//! two cores for D and as twenty-eight for B, and less where copies go through memory that is not pinned.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `stage.rs` | what a device does for a stage |
//! | `chain.rs` | a graph as launches |
//! | `record.rs` | a launch as words that kernels read |
//! | `plan.rs` | a bound graph for all devices |
//! | `lane.rs` | a lane that computes frames |
//! | `host.rs` | the same on cores, for simulated devices |
//! | `filters.c` | the kernels |
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
