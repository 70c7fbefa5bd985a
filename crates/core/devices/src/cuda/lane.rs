//! A stream with its buffers.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use evener_runtime::device::{Arg, Buffer, Command, DeviceError, Lane, Launch};

use super::api::{self, Handle, error};
use super::{Context, Module};
use crate::queue::{Order, Queue};

pub struct CudaLane {
    queue: ManuallyDrop<CudaQueue>,
    order: Order,
}

/// Host memory is whatever the caller has; the driver copies it through memory of its own.
struct CudaQueue {
    stream: Object,
    /// The end of the copies that were begun, while there are any.
    copied: Object,
    copying: bool,
    /// The end of the kernels that were begun.
    done: Object,
    functions: HashMap<&'static str, Handle>,
    /// Each with its size.
    buffers: Vec<(Memory, usize)>,
    module: Module,
    context: Arc<Context>,
    program: &'static str,
}

// SAFETY: see `Context`; each entry below makes it the thread's current one.
unsafe impl Send for CudaQueue {}

impl CudaLane {
    pub fn new(
        context: &Arc<Context>,
        module: Module,
        program: &'static str,
    ) -> Result<CudaLane, DeviceError> {
        let api = context.api;
        let made = |make: &dyn Fn(*mut Handle) -> i32, destroy| {
            let mut handle = ptr::null_mut();
            context.check(make(&mut handle))?;
            Ok::<_, DeviceError>(Object { handle, destroy })
        };
        let event = |to| {
            // SAFETY: there is room for a handle.
            unsafe { (api.cuEventCreate)(to, api::EVENT_BLOCKING_SYNC | api::EVENT_DISABLE_TIMING) }
        };
        // SAFETY: as above.
        let stream = |to| unsafe { (api.cuStreamCreate)(to, api::STREAM_NON_BLOCKING) };
        Ok(CudaLane {
            queue: ManuallyDrop::new(CudaQueue {
                stream: made(&stream, api.cuStreamDestroy_v2)?,
                copied: made(&event, api.cuEventDestroy_v2)?,
                copying: false,
                done: made(&event, api.cuEventDestroy_v2)?,
                functions: HashMap::new(),
                buffers: Vec::new(),
                module,
                context: Arc::clone(context),
                program,
            }),
            order: Order::default(),
        })
    }
}

impl Queue for CudaQueue {
    fn device(&self) -> &str {
        &self.context.name
    }

    fn copy(&mut self, command: &mut Command<'_>) -> Result<(), DeviceError> {
        let (api, stream) = (self.context.api, self.stream.handle);
        let code = match command {
            Command::Upload { to, at, from } => {
                let to = self.address(*to, *at, from.len());
                // SAFETY: the device's bytes are in a buffer of this lane; ours are borrowed until `copied` was waited
                // for.
                unsafe { (api.cuMemcpyHtoDAsync_v2)(to, from.as_ptr().cast(), from.len(), stream) }
            }
            Command::Download { from, at, to } => {
                let from = self.address(*from, *at, to.len());
                // SAFETY: as above, and nothing else reads or writes our bytes.
                unsafe {
                    (api.cuMemcpyDtoHAsync_v2)(to.as_mut_ptr().cast(), from, to.len(), stream)
                }
            }
            Command::Launch(_) => unreachable!("a kernel is not a copy"),
        };
        self.context.check(code)?;
        self.copying = true;
        Ok(())
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if self.copying {
            // Recorded before the kernel, so that waiting for the copies does not wait for it.
            self.record_copies()?;
        }
        let function = self.function(launch.kernel)?;
        let addresses = launch.args.iter().map(|arg| match arg {
            Arg::Buffer(buffer) => self.address(*buffer, 0, 0),
            _ => 0,
        });
        let addresses: Vec<u64> = addresses.collect();
        let values = launch
            .args
            .iter()
            .zip(&addresses)
            .map(|(arg, address)| match arg {
                Arg::Buffer(_) => ptr::from_ref(address).cast_mut().cast(),
                Arg::I32(value) => ptr::from_ref(value).cast_mut().cast(),
                Arg::U32(value) => ptr::from_ref(value).cast_mut().cast(),
                Arg::F32(value) => ptr::from_ref(value).cast_mut().cast(),
            });
        let mut values: Vec<*mut c_void> = values.collect();
        let ([gx, gy], [tx, ty]) = (launch.groups, launch.threads);
        let (api, stream) = (self.context.api, self.stream.handle);
        let (values, none) = (values.as_mut_ptr(), ptr::null_mut());
        // SAFETY: a pointer to each argument; the driver reads them before it returns. That their types are those of
        // the kernel, and that it keeps to the bounds of its buffers, is for its author to see to.
        let code = unsafe {
            (api.cuLaunchKernel)(function, gx, gy, 1, tx, ty, 1, 0, stream, values, none)
        };
        match code {
            error::INVALID_VALUE | error::INVALID_HANDLE | error::LAUNCH_OUT_OF_RESOURCES => {
                let why = format!("{}: {}", launch.kernel, api.describe(code));
                return Err(self.refused(why));
            }
            code => self.context.check(code)?,
        }
        // SAFETY: the event and the stream are of this context.
        self.context
            .check(unsafe { (api.cuEventRecord)(self.done.handle, stream) })
    }

    /// The driver does so by itself.
    fn submit(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn kernels_done(&mut self) -> Result<bool, DeviceError> {
        // SAFETY: the event is there.
        match unsafe { (self.context.api.cuEventQuery)(self.done.handle) } {
            error::NOT_READY => Ok(false),
            code => self.context.check(code).map(|()| true),
        }
    }

    fn wait_for_copies(&mut self) -> Result<(), DeviceError> {
        if self.copying {
            self.record_copies()?;
        }
        // It is done at once if no copy was begun. SAFETY: the event is there.
        self.context
            .check(unsafe { (self.context.api.cuEventSynchronize)(self.copied.handle) })
    }
}

impl CudaQueue {
    fn record_copies(&mut self) -> Result<(), DeviceError> {
        self.copying = false;
        // SAFETY: the event and the stream are of this context.
        self.context.check(unsafe {
            (self.context.api.cuEventRecord)(self.copied.handle, self.stream.handle)
        })
    }

    fn function(&mut self, name: &'static str) -> Result<Handle, DeviceError> {
        if let Some(function) = self.functions.get(name) {
            return Ok(*function);
        }
        let c_name = CString::new(name).map_err(|error| self.refused(error.to_string()))?;
        let (api, mut function) = (self.context.api, ptr::null_mut());
        // SAFETY: the module is loaded, and the name ends in NUL.
        let code =
            unsafe { (api.cuModuleGetFunction)(&mut function, self.module.0, c_name.as_ptr()) };
        if code == error::NOT_FOUND {
            return Err(self.refused(format!("{name}: no kernel of this name")));
        }
        self.context.check(code)?;
        self.functions.insert(name, function);
        Ok(function)
    }

    /// Where a byte of a buffer is on the device.
    ///
    /// # Panics
    /// These bytes are not in it.
    fn address(&self, buffer: Buffer, at: usize, bytes: usize) -> u64 {
        let (memory, has) = &self.buffers[buffer.index as usize];
        let fits = at.checked_add(bytes).is_some_and(|end| end <= *has);
        assert!(fits, "{bytes} bytes at {at} of a buffer of {has}");
        memory.address + at as u64
    }

    fn refused(&self, why: String) -> DeviceError {
        DeviceError::Program {
            device: self.context.name.clone(),
            program: self.program,
            why,
        }
    }
}

impl Lane for CudaLane {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        let context = &self.queue.context;
        context.enter()?;
        let mut address = 0;
        // SAFETY: there is room for an address.
        match unsafe { (context.api.cuMemAlloc_v2)(&mut address, bytes.max(1)) } {
            error::OUT_OF_MEMORY => {
                return Err(DeviceError::Memory {
                    device: context.name.clone(),
                    bytes,
                });
            }
            code => context.check(code)?,
        }
        let free = context.api.cuMemFree_v2;
        self.queue.buffers.push((Memory { address, free }, bytes));
        Ok(Buffer {
            index: self.queue.buffers.len() as u32 - 1,
            bytes,
        })
    }

    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError> {
        self.queue.context.enter()?;
        self.order.run(&mut *self.queue, commands, limit)
    }
}

impl Drop for CudaLane {
    fn drop(&mut self) {
        // Freeing memory waits for kernels, and one that hangs never ends.
        if !self.order.failed() && self.queue.context.enter().is_ok() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.queue) };
        }
    }
}

/// A stream or an event.
struct Object {
    handle: Handle,
    destroy: unsafe extern "system" fn(Handle) -> i32,
}

impl Drop for Object {
    fn drop(&mut self) {
        // An error changes nothing. SAFETY: the driver made it, and it is destroyed once.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

/// Memory of the device.
struct Memory {
    address: u64,
    free: unsafe extern "system" fn(u64) -> i32,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // As above. SAFETY: the driver gave it, and it is freed once.
        let _ = unsafe { (self.free)(self.address) };
    }
}
