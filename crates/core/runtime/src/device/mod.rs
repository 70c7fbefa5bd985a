//! Devices: processors with memory of their own, behind a driver.
//!
//! A [`Device`] provides *lanes*. A [`Lane`] runs commands in order: upload, kernels, download. A call returns when
//! all of them are done, so no borrow outlives it. Several lanes, each on its own thread, overlap copies and kernels.
//! A service describes with [`OnDevice`] how units become commands. The runtime decides which units go to a device.
//!
//! Back ends are in the crate `evener-devices`; [`sim`] is a simulated device.
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

/// The maximum number of lanes that a stream uses, over all devices.
pub const MOST_LANES: usize = 16;

/// A processor with memory of its own.
pub trait Device: Send + Sync + Debug {
    /// The properties of the device.
    fn info(&self) -> &DeviceInfo;

    /// Creates a lane that can run the kernels of `program`. This may take seconds if kernels have to be compiled.
    ///
    /// # Errors
    /// The device is lost, has no free memory, or rejects the program.
    fn lane(&self, program: &Program) -> Result<Box<dyn Lane>, DeviceError>;

    /// The page lock, if the device copies from and to locked memory faster.
    fn page_lock(&self) -> Option<Arc<dyn PageLock>> {
        None
    }
}

/// A service's description of its units for devices. Devices compute whole units, as the workers of a farm do, or
/// [one pass](crate::Shape::device_pass) of units that flow as a [wavefront](crate::structure::Flow::Wavefront).
pub trait OnDevice<I, O>: Sync {
    /// The kernels.
    fn program(&self) -> &'static Program;

    /// The maximum number of units for one [`UnitLane::run`]. It is 1 unless units are small, and for a pass.
    fn most_units(&self) -> usize {
        1
    }

    /// Prepares a lane for units: memory on the device, and tables in it.
    ///
    /// # Errors
    /// Those of the lane.
    fn begin<'a>(
        &'a self,
        lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<I, O> + 'a>, DeviceError>;

    /// Whether two results of one unit are the same, bit for bit. Called if devices compute whole units. By default
    /// they differ, so that no device is used.
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

/// A lane that computes units of a service, or one pass of them. A pass leaves its results where the parts of that
/// pass do.
pub trait UnitLane<I, O>: Send {
    /// Computes units: equally many inputs and outputs, at least one and at most [`OnDevice::most_units`]. `limit` is
    /// passed to [`Lane::run`].
    ///
    /// # Errors
    /// Those of the lane. Outputs then have undefined contents.
    fn run(&mut self, inputs: &[&I], outputs: &[&O], limit: Duration) -> Result<(), DeviceError>;
}
