//! A queue with its kernels and buffers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CString;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evener_runtime::device::{Arg, Buffer, Command, DeviceError, Lane, Launch};

use super::api::{self, Handle, ask, error};
use super::{Context, Owned};
use crate::pace::Pace;

pub struct OpenClLane {
    // Released in this order.
    queue: ManuallyDrop<Owned>,
    kernels: HashMap<&'static str, Owned>,
    buffers: Vec<(Owned, usize)>,
    compiled: Arc<Owned>,
    context: Arc<Context>,
    program: &'static str,
    pace: Pace,
    /// Set by an error: what the queue still does is not known.
    failed: bool,
}

/// What a run has under way. Copies are never behind kernels that are not done.
#[derive(Default)]
struct Pending {
    /// The last copy.
    copy: Option<Owned>,
    /// The last kernel after it.
    kernel: Option<Owned>,
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
            queue: ManuallyDrop::new(queue),
            kernels: HashMap::new(),
            buffers: Vec::new(),
            compiled,
            context: Arc::clone(context),
            program,
            pace: Pace::default(),
            failed: false,
        })
    }

    fn run(
        &mut self,
        commands: &mut [Command<'_>],
        limit: Duration,
        pending: &mut Pending,
    ) -> Result<(), DeviceError> {
        let until = Instant::now() + limit;
        for command in commands {
            match command {
                Command::Launch(launch) => {
                    pending.kernel = Some(self.launch(launch)?);
                    continue;
                }
                _ => self.wait_for_kernel(pending, limit, until)?,
            }
            pending.copy = Some(self.copy(command)?);
        }
        self.wait_for_kernel(pending, limit, until)
    }

    /// Begins a copy.
    fn copy(&self, command: &mut Command<'_>) -> Result<Owned, DeviceError> {
        let (api, queue) = (self.context.api, self.queue.handle);
        let mut event = ptr::null_mut();
        let code = match command {
            Command::Upload { to, at, from } => {
                let memory = self.memory(*to, *at, from.len());
                // SAFETY: the bytes are borrowed until `run` returns, which waits for the event.
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
        Owned::new(event, code, api.clReleaseEvent).map_err(|code| self.error(code))
    }

    /// Begins a kernel.
    fn launch(&mut self, launch: &Launch<'_>) -> Result<Owned, DeviceError> {
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
        Owned::new(event, code, api.clReleaseEvent).map_err(|code| match code {
            -54..=-46 => self.refused(format!("{}: {}", launch.kernel, api::name(code))),
            code => self.error(code),
        })
    }

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

    /// Waits for the kernels that were begun.
    fn wait_for_kernel(
        &mut self,
        pending: &mut Pending,
        limit: Duration,
        until: Instant,
    ) -> Result<(), DeviceError> {
        let Some(kernel) = &pending.kernel else {
            return Ok(());
        };
        self.flush()?;
        let (api, handle) = (self.context.api, kernel.handle);
        let left = until.saturating_duration_since(Instant::now());
        let done = self.pace.wait(left, || {
            let mut state = 0i32;
            // SAFETY: there is room for the 4 bytes.
            let code = unsafe {
                let (what, to) = (
                    ask::EVENT_COMMAND_EXECUTION_STATUS,
                    ptr::from_mut(&mut state),
                );
                (api.clGetEventInfo)(handle, what, 4, to.cast(), ptr::null_mut())
            };
            match (code, state) {
                (0, api::COMPLETE) => Ok(true),
                (0, 1..) => Ok(false),
                (0, code) | (code, _) => Err(code),
            }
        });
        match done {
            Ok(true) => {
                pending.kernel = None;
                Ok(())
            }
            Ok(false) => Err(DeviceError::Hung {
                device: self.context.name.clone(),
                limit,
            }),
            Err(code) => Err(self.error(code)),
        }
    }

    /// Waits for the copies that were begun.
    fn wait_for_copies(&self, pending: &Pending) -> Result<(), DeviceError> {
        let Some(copy) = &pending.copy else {
            return Ok(());
        };
        let flushed = self.flush();
        // SAFETY: one event.
        let code = unsafe { (self.context.api.clWaitForEvents)(1, &copy.handle) };
        flushed?;
        if code == 0 {
            Ok(())
        } else {
            Err(self.error(code))
        }
    }

    fn flush(&self) -> Result<(), DeviceError> {
        // SAFETY: the queue is there.
        match unsafe { (self.context.api.clFlush)(self.queue.handle) } {
            0 => Ok(()),
            code => Err(self.error(code)),
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
        let (context, mut code) = (&self.context, 0);
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
        self.buffers.push((memory, bytes));
        Ok(Buffer {
            index: self.buffers.len() as u32 - 1,
            bytes,
        })
    }

    fn run(&mut self, commands: &mut [Command<'_>], limit: Duration) -> Result<(), DeviceError> {
        if self.failed {
            return Err(DeviceError::Lost {
                device: self.context.name.clone(),
                why: "this lane failed before".to_owned(),
            });
        }
        let mut pending = Pending::default();
        let kernels = OpenClLane::run(self, commands, limit, &mut pending);
        // Whatever happened, no copy may be in progress when the borrows of its bytes end.
        let copies = self.wait_for_copies(&pending);
        let result = kernels.and(copies);
        self.failed = result.is_err();
        result
    }
}

impl Drop for OpenClLane {
    fn drop(&mut self) {
        // Releasing a queue may wait for what is in it, and a kernel that hangs never ends.
        if !self.failed {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.queue) };
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
