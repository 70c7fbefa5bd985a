//! Devices: processors with memory of their own, behind a driver.
//!
//! A [`Device`] gives *lanes*. A [`Lane`] runs commands in order: bytes up, kernels, bytes down. A call returns when all
//! of them are done, so no borrow outlives it; several lanes, each on a thread of its own, overlap copies and kernels. A
//! service says with [`OnDevice`] how units become commands. The runtime decides which units go to a device.
//!
//! Back ends are in the crate `evener-devices`; [`sim`] is a device that is only simulated.
#![forbid(unsafe_code)]

mod error;
mod info;
mod lane;
pub mod sim;

pub use error::DeviceError;
pub use info::{Arithmetic, DeviceInfo, DeviceKind};
pub use lane::{Arg, Buffer, Command, HostMemory, Lane, Launch, Program};

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crate::buffer::PageLock;

/// The most lanes that a stream uses, of all devices together.
pub const MOST_LANES: usize = 16;

/// A processor with memory of its own.
pub trait Device: Send + Sync + Debug {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// A new lane that can run the kernels of `program`. It may take seconds: kernels may have to be compiled.
    ///
    /// # Errors
    /// The device is lost, has no memory left, or does not take the program.
    fn lane(&self, program: &Program) -> Result<Box<dyn Lane>, DeviceError>;

    /// What locks pages, where the device copies from and to locked memory faster.
    fn page_lock(&self) -> Option<Arc<dyn PageLock>> {
        None
    }
}

/// What a service gives so that devices can compute its units: whole ones, as a farm's workers do, or [one
/// pass](crate::Shape::device_pass) of those that flow as a [wavefront](crate::structure::Flow::Wavefront).
pub trait OnDevice<I, O>: Sync {
    /// The kernels.
    fn program(&self) -> &'static Program;

    /// The most units that one [`UnitLane::run`] takes; 1 unless units are small, and of a pass.
    fn most_units(&self) -> usize {
        1
    }

    /// Makes what a lane needs for units, such as memory on the device, and tables in it.
    ///
    /// # Errors
    /// Those of the lane.
    fn begin<'a>(
        &'a self,
        lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<I, O> + 'a>, DeviceError>;

    /// Whether two results of one unit are the same, bit for bit. Asked where devices compute whole units. By default they
    /// are not, which keeps a device from being used.
    fn same(&self, one: &O, other: &O) -> bool {
        let _ = (one, other);
        false
    }

    /// Whether a core computes the same of a unit, bit for bit, as the pass that a device has just computed of it. Asked
    /// where devices compute a [pass](crate::Shape::device_pass), before other passes read it. By default it does not, which keeps a
    /// device from being used.
    fn is_right(&self, input: &I, output: &O) -> bool {
        let _ = (input, output);
        false
    }
}

/// A lane that computes units of a service, or a pass of them. A pass leaves its results where parts of the pass do.
pub trait UnitLane<I, O>: Send {
    /// Computes units: as many inputs and outputs, at least one and at most [`OnDevice::most_units`]. `limit` is for
    /// [`Lane::run`].
    ///
    /// # Errors
    /// Those of the lane. Outputs then have any content.
    fn run(&mut self, inputs: &[&I], outputs: &[&O], limit: Duration) -> Result<(), DeviceError>;
}
