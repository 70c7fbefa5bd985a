//! A queue with its kernels and buffers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CString;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use evener_runtime::device::{Arg, Buffer, Command, DeviceError, Lane, Launch};

use super::api::{self, Handle, ask, error};
use super::{Context, Owned};
use crate::queue::{Order, Queue};

pub struct OpenClLane {
    queue: OpenClQueue,
    order: Order,
}

struct OpenClQueue {
    queue: ManuallyDrop<Owned>,
    kernels: HashMap<&'static str, Owned>,
    /// Each with its size.
    buffers: Vec<(Owned, usize)>,
    /// The last copy that was begun and not waited for.
    copy: Option<Owned>,
    /// The last kernel that was begun and not seen to be done.
    kernel: Option<Owned>,
    compiled: Arc<Owned>,
    context: Arc<Context>,
    program: &'static str,
}

impl OpenClLane {
    pub fn new(
        context: &Arc<Context>,
        compiled: Arc<Owned>,
        program: &'static str,
    ) -> Result<OpenClLane, DeviceError> {
        let api = context.api;
        let mut code = 0;
        // SAFETY: the device is of this context. No property is set, so the queue keeps the order.
        let queue = unsafe {
            (api.clCreateCommandQueue)(context.context.handle, context.device, 0, &mut code)
        };
        let queue = Owned::new(queue, code, api.clReleaseCommandQueue);
        let queue = queue.map_err(|code| context.lost(code))?;
        Ok(OpenClLane {
            queue: OpenClQueue {
                queue: ManuallyDrop::new(queue),
                kernels: HashMap::new(),
                buffers: Vec::new(),
                copy: None,
                kernel: None,
                compiled,
                context: Arc::clone(context),
                program,
            },
            order: Order::default(),
        })
    }
}

impl Queue for OpenClQueue {
    fn device(&self) -> &str {
        &self.context.name
    }

    fn copy(&mut self, command: &mut Command<'_>) -> Result<(), DeviceError> {
        let (api, queue) = (self.context.api, self.queue.handle);
        let mut event = ptr::null_mut();
        let code = match command {
            Command::Upload { to, at, from } => {
                let memory = self.memory(*to, *at, from.len());
                // SAFETY: the bytes are borrowed until this event was waited for.
                unsafe {
                    let (start, none) = (from.as_ptr().cast(), ptr::null());
                    let write = api.clEnqueueWriteBuffer;
                    write(
                        queue,
                        memory,
                        0,
                        *at,
                        from.len(),
                        start,
                        0,
                        none,
                        &mut event,
                    )
                }
            }
            Command::Download { from, at, to } => {
                let memory = self.memory(*from, *at, to.len());
                // SAFETY: as above, and nothing else reads or writes them.
                unsafe {
                    let (start, none) = (to.as_mut_ptr().cast(), ptr::null());
                    let read = api.clEnqueueReadBuffer;
                    read(queue, memory, 0, *at, to.len(), start, 0, none, &mut event)
                }
            }
            Command::Launch(_) => unreachable!("a kernel is not a copy"),
        };
        let event = Owned::new(event, code, api.clReleaseEvent);
        self.copy = Some(event.map_err(|code| self.error(code))?);
        Ok(())
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let api = self.context.api;
        let kernel = self.kernel(launch.kernel)?;
        for (i, arg) in (0..).zip(launch.args) {
            let memory;
            let (bytes, value) = match arg {
                Arg::Buffer(buffer) => {
                    memory = self.memory(*buffer, 0, 0);
                    (mem::size_of::<Handle>(), ptr::from_ref(&memory).cast())
                }
                Arg::I32(value) => (4, ptr::from_ref(value).cast()),
                Arg::U32(value) => (4, ptr::from_ref(value).cast()),
                Arg::F32(value) => (4, ptr::from_ref(value).cast()),
            };
            // SAFETY: the kernel is used by this lane alone, and the value has as many bytes.
            let code = unsafe { (api.clSetKernelArg)(kernel, i, bytes, value) };
            if code != 0 {
                let what = format!("argument {i} of {}: {}", launch.kernel, api::name(code));
                return Err(self.refused(what));
            }
        }
        let threads = launch.threads.map(|n| n as usize);
        let grid = [0, 1].map(|i| threads[i] * launch.groups[i] as usize);
        let (grid, threads, mut event) = (grid.as_ptr(), threads.as_ptr(), ptr::null_mut());
        // SAFETY: two numbers for each of the two directions; all arguments are set. That the kernel keeps to the
        // bounds of its buffers is for its author to see to.
        let code = unsafe {
            let (queue, run) = (self.queue.handle, api.clEnqueueNDRangeKernel);
            run(
                queue,
                kernel,
                2,
                ptr::null(),
                grid,
                threads,
                0,
                ptr::null(),
                &mut event,
            )
        };
        let event = Owned::new(event, code, api.clReleaseEvent);
        self.kernel = Some(event.map_err(|code| match code {
            -54..=-46 => self.refused(format!("{}: {}", launch.kernel, api::name(code))),
            code => self.error(code),
        })?);
        Ok(())
    }

    fn submit(&mut self) -> Result<(), DeviceError> {
        // SAFETY: the queue is there.
        match unsafe { (self.context.api.clFlush)(self.queue.handle) } {
            0 => Ok(()),
            code => Err(self.error(code)),
        }
    }

    fn kernels_done(&mut self) -> Result<bool, DeviceError> {
        let Some(kernel) = &self.kernel else {
            return Ok(true);
        };
        let mut state = 0i32;
        // SAFETY: there is room for the 4 bytes.
        let code = unsafe {
            let (what, to) = (
                ask::EVENT_COMMAND_EXECUTION_STATUS,
                ptr::from_mut(&mut state),
            );
            (self.context.api.clGetEventInfo)(kernel.handle, what, 4, to.cast(), ptr::null_mut())
        };
        match (code, state) {
            (0, api::COMPLETE) => {
                self.kernel = None;
                Ok(true)
            }
            (0, 1..) => Ok(false),
            (0, code) | (code, _) => Err(self.error(code)),
        }
    }

    fn wait_for_copies(&mut self) -> Result<(), DeviceError> {
        let Some(copy) = self.copy.take() else {
            return Ok(());
        };
        let submitted = self.submit();
        // SAFETY: one event.
        let code = unsafe { (self.context.api.clWaitForEvents)(1, &copy.handle) };
        submitted?;
        if code == 0 {
            Ok(())
        } else {
            Err(self.error(code))
        }
    }
}

impl OpenClQueue {
    fn kernel(&mut self, name: &'static str) -> Result<Handle, DeviceError> {
        let wrong = |why| DeviceError::Program {
            device: self.context.name.clone(),
            program: self.program,
            why: format!("{name}: {why}"),
        };
        match self.kernels.entry(name) {
            Entry::Occupied(entry) => Ok(entry.get().handle),
            Entry::Vacant(entry) => {
                let c_name = CString::new(name).map_err(|error| wrong(error.to_string()))?;
                let (api, mut code) = (self.context.api, 0);
                // SAFETY: the program is built.
                let kernel = unsafe {
                    (api.clCreateKernel)(self.compiled.handle, c_name.as_ptr(), &mut code)
                };
                let kernel = Owned::new(kernel, code, api.clReleaseKernel);
                let kernel = kernel.map_err(|code| wrong(api::name(code)))?;
                Ok(entry.insert(kernel).handle)
            }
        }
    }

    /// The driver's object for a buffer.
    ///
    /// # Panics
    /// These bytes are not in it.
    fn memory(&self, buffer: Buffer, at: usize, bytes: usize) -> Handle {
        let (memory, has) = &self.buffers[buffer.index as usize];
        let fits = at.checked_add(bytes).is_some_and(|end| end <= *has);
        assert!(fits, "{bytes} bytes at {at} of a buffer of {has}");
        memory.handle
    }

    fn error(&self, code: i32) -> DeviceError {
        match code {
            // Drivers find memory for a buffer when it is used.
            error::MEM_OBJECT_ALLOCATION_FAILURE | error::OUT_OF_HOST_MEMORY => {
                DeviceError::Memory {
                    device: self.context.name.clone(),
                    bytes: self.buffers.iter().map(|(_, bytes)| bytes).sum(),
                }
            }
            code => self.context.lost(code),
        }
    }

    fn refused(&self, why: String) -> DeviceError {
        DeviceError::Program {
            device: self.context.name.clone(),
            program: self.program,
            why,
        }
    }
}

impl Lane for OpenClLane {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        let (context, mut code) = (&self.queue.context, 0);
        let (handle, none) = (context.context.handle, ptr::null_mut());
        // No flag: kernels read and write it. SAFETY: no memory of ours is named.
        let memory =
            unsafe { (context.api.clCreateBuffer)(handle, 0, bytes.max(1), none, &mut code) };
        let memory = Owned::new(memory, code, context.api.clReleaseMemObject);
        let memory = memory.map_err(|code| match code {
            error::MEM_OBJECT_ALLOCATION_FAILURE
            | error::OUT_OF_RESOURCES
            | error::OUT_OF_HOST_MEMORY
            | error::INVALID_BUFFER_SIZE => DeviceError::Memory {
                device: context.name.clone(),
                bytes,
            },
            code => context.lost(code),
        })?;
        self.queue.buffers.push((memory, bytes));
        Ok(Buffer {
            index: self.queue.buffers.len() as u32 - 1,
            bytes,
        })
    }

    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError> {
        self.order.run(&mut self.queue, commands, limit)
    }
}

impl Drop for OpenClLane {
    fn drop(&mut self) {
        // Releasing a queue may wait for what is in it, and a kernel that hangs never ends.
        if !self.order.failed() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.queue.queue) };
        }
    }
}

impl Context {
    fn lost(&self, code: i32) -> DeviceError {
        DeviceError::Lost {
            device: self.name.clone(),
            why: api::name(code),
        }
    }
}
