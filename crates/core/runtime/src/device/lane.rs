use std::cell::{Ref, RefCell, RefMut};
use std::time::Duration;

use super::error::DeviceError;
use super::info::Arithmetic;
use crate::buffer::Aligned;

/// The kernels of a service, in the forms that devices accept.
#[derive(Debug)]
pub struct Program {
    /// The name in messages, and of the forms that were compiled in advance.
    pub name: &'static str,
    /// The kernels in the C dialect of `crates/core/devices/kernels/README.md`, without its prelude.
    pub source: &'static str,
    /// The arithmetic that the kernels use.
    pub needs: Arithmetic,
}

/// Memory on a device, allocated by a lane and freed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The index among the lane's buffers; the first is 0.
    pub index: u32,
    /// The size in bytes.
    pub bytes: usize,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// `GLOBAL(T) *`
    Buffer(Buffer),
    /// `int`
    I32(i32),
    /// `unsigned int`
    U32(u32),
    /// `float`
    F32(f32),
}

/// A kernel to run.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The name of the kernel in the program.
    pub kernel: &'static str,
    /// The arguments, in order.
    pub args: &'a [Arg],
    /// The number of thread groups, in two dimensions.
    pub groups: [u32; 2],
    /// The number of threads in a group, in two dimensions.
    pub threads: [u32; 2],
    /// The number of units it processes, for a simulated device with a cost per unit.
    pub units: u32,
    /// Computes the same on the lane's memory. A simulated device calls it.
    pub host: &'a dyn Fn(&HostMemory),
}

/// A command for a lane.
pub enum Command<'a> {
    /// Copies bytes to the device.
    Upload {
        /// The destination.
        to: Buffer,
        /// The offset in the destination.
        at: usize,
        /// The bytes.
        from: &'a [u8],
    },
    /// Runs a kernel.
    Launch(Launch<'a>),
    /// Copies bytes from the device.
    Download {
        /// The source.
        from: Buffer,
        /// The offset in the source.
        at: usize,
        /// The destination.
        to: &'a mut [u8],
    },
}

/// An ordered queue of a device, with its own memory on the device.
pub trait Lane: Send {
    /// Allocates memory on the device. Its contents are undefined.
    ///
    /// # Errors
    /// [`DeviceError::Memory`], or the device is lost.
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError>;

    /// Runs commands in order, and returns when all are done. Downloads must come last.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], or [`DeviceError::Hung`] if a kernel has not ended after `limit`. No copy is in
    /// progress when it returns. The lane cannot be used afterwards.
    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError>;
}

/// The memory of a lane of a simulated device.
#[derive(Default)]
pub struct HostMemory(Vec<RefCell<Aligned<u8>>>);

impl HostMemory {
    /// Allocates a zeroed buffer.
    pub fn add(&mut self, bytes: usize) -> Buffer {
        self.0.push(RefCell::new(Aligned::zeroed(bytes)));
        Buffer {
            index: self.0.len() as u32 - 1,
            bytes,
        }
    }

    /// The bytes of a buffer, aligned to 64.
    pub fn read(&self, buffer: Buffer) -> Ref<'_, [u8]> {
        Ref::map(self.0[buffer.index as usize].borrow(), |bytes| &**bytes)
    }

    /// The bytes of a buffer, for writing.
    pub fn write(&self, buffer: Buffer) -> RefMut<'_, [u8]> {
        RefMut::map(self.0[buffer.index as usize].borrow_mut(), |bytes| {
            &mut **bytes
        })
    }
}
