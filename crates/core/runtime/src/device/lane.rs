use std::cell::{Ref, RefCell, RefMut};
use std::time::Duration;

use super::error::DeviceError;
use super::info::Arithmetic;
use crate::buffer::Aligned;

/// Kernels of a service, in the forms that devices take.
#[derive(Debug)]
pub struct Program {
    /// What messages call it.
    pub name: &'static str,
    /// The kernels in the C dialect of `crates/core/devices/kernels/README.md`, without its prelude.
    pub source: &'static str,
    /// The same compiled for CUDA.
    pub ptx: &'static str,
    /// The arithmetic that they use.
    pub needs: Arithmetic,
}

/// Memory on a device, made by a lane and freed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Which of the lane's buffers: the first is 0.
    pub index: u32,
    /// Bytes.
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
    /// Its name in the program.
    pub kernel: &'static str,
    /// Its arguments, in order.
    pub args: &'a [Arg],
    /// Groups of threads, in two directions.
    pub groups: [u32; 2],
    /// Threads of a group, in two directions.
    pub threads: [u32; 2],
    /// How many units it is about, for a simulated device that has a cost a unit.
    pub units: u32,
    /// Computes the same on the lane's memory; what a simulated device calls.
    pub host: &'a dyn Fn(&HostMemory),
}

/// What a lane does.
pub enum Command<'a> {
    /// Copies bytes to the device.
    Upload {
        /// Where to.
        to: Buffer,
        /// At which byte of it.
        at: usize,
        /// The bytes.
        from: &'a [u8],
    },
    /// Runs a kernel.
    Launch(Launch<'a>),
    /// Copies bytes from the device.
    Download {
        /// Where from.
        from: Buffer,
        /// From which byte of it.
        at: usize,
        /// Where to.
        to: &'a mut [u8],
    },
}

/// An ordered queue of a device, with memory of its own on it.
pub trait Lane: Send {
    /// Makes memory on the device. Its content is undefined.
    ///
    /// # Errors
    /// [`DeviceError::Memory`], or the device is lost.
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError>;

    /// Runs commands in order and returns when all are done. The downloads come last.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], and [`DeviceError::Hung`] if a kernel has not ended after `limit`. No copy is in progress
    /// when it returns. The lane cannot be used afterwards.
    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError>;
}

/// The memory of a lane of a simulated device.
#[derive(Default)]
pub struct HostMemory(Vec<RefCell<Aligned<u8>>>);

impl HostMemory {
    /// Makes a zeroed buffer.
    pub fn add(&mut self, bytes: usize) -> Buffer {
        self.0.push(RefCell::new(Aligned::zeroed(bytes)));
        Buffer {
            index: self.0.len() as u32 - 1,
            bytes,
        }
    }

    /// A buffer's bytes, the first at a multiple of 64.
    pub fn read(&self, buffer: Buffer) -> Ref<'_, [u8]> {
        Ref::map(self.0[buffer.index as usize].borrow(), |bytes| &**bytes)
    }

    /// A buffer's bytes, for writing.
    pub fn write(&self, buffer: Buffer) -> RefMut<'_, [u8]> {
        RefMut::map(self.0[buffer.index as usize].borrow_mut(), |bytes| {
            &mut **bytes
        })
    }
}
