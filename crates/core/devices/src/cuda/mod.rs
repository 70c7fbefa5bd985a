//! CUDA: processors of NVIDIA. It needs the driver and no more: the PTX of programs is part of this crate.
//!
//! A lane is a stream, with buffers of its own. Contexts are the primary ones and stay until the process ends; the
//! driver frees what a process leaves behind.

mod api;
mod lane;
mod ptx;

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evener_runtime::buffer::PageLock;
use evener_runtime::device::{
    Arithmetic, Device, DeviceError, DeviceInfo, DeviceKind, Lane, Program,
};

use api::{Api, Handle, ask, error, jit};
use lane::CudaLane;
pub(crate) use ptx::PACKED;

/// A device that the driver has, not yet used.
#[derive(Debug)]
pub struct Found {
    device: i32,
    /// What it is; no arithmetic was tried.
    pub info: DeviceInfo,
}

/// What the driver has.
///
/// # Errors
/// There is no driver, or it does not work.
pub fn list() -> Result<Vec<Found>, DeviceError> {
    let api = api()?;
    let mut count = 0;
    // SAFETY: there is room for a number.
    match unsafe { (api.cuDeviceGetCount)(&mut count) } {
        error::NO_DEVICE => return Ok(Vec::new()),
        code => api.check(code).map_err(driver)?,
    }
    let mut version = 0;
    // What it does not say stays 0. SAFETY: there is room for a number.
    let _ = unsafe { (api.cuDriverGetVersion)(&mut version) };
    let found = (0..count).map(|index| describe(api, index, version).map_err(driver));
    found.collect()
}

fn describe(api: &Api, index: i32, version: i32) -> Result<Found, String> {
    let (mut device, mut name, mut memory) = (0, [0u8; 256], 0);
    // SAFETY: there is room for a number, 256 bytes and a number.
    unsafe {
        api.check((api.cuDeviceGet)(&mut device, index))?;
        api.check((api.cuDeviceGetName)(name.as_mut_ptr().cast(), 255, device))?;
        api.check((api.cuDeviceTotalMem_v2)(&mut memory, device))?;
    }
    let said = |what| {
        let mut value = 0;
        // SAFETY: there is room for a number.
        let code = unsafe { (api.cuDeviceGetAttribute)(&mut value, what, device) };
        api.check(code).map(|()| u32::try_from(value).unwrap_or(0))
    };
    let model = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let copy_engines = said(ask::ASYNC_ENGINE_COUNT)?;
    let (major, minor) = (
        said(ask::COMPUTE_CAPABILITY_MAJOR)?,
        said(ask::COMPUTE_CAPABILITY_MINOR)?,
    );
    Ok(Found {
        device,
        info: DeviceInfo {
            name: format!("cuda:{index}"),
            model: model.to_string_lossy().into_owned(),
            driver: format!(
                "CUDA {}.{}, capability {major}.{minor}",
                version / 1000,
                version % 1000 / 10
            ),
            kind: DeviceKind::Gpu,
            memory: memory as u64,
            unified: said(ask::INTEGRATED)? != 0,
            copy_engines,
            lanes: 1 + copy_engines.clamp(1, 2),
            exact: Arithmetic::default(),
        },
    })
}

/// A device of CUDA.
#[derive(Debug)]
pub struct Cuda {
    /// What it is. Its arithmetic is what was found elsewhere.
    pub info: DeviceInfo,
    context: Arc<Context>,
    /// Modules by the names of their programs. They stay loaded.
    modules: Mutex<HashMap<&'static str, Module>>,
}

/// What the lanes of a device share.
#[derive(Debug)]
struct Context {
    api: &'static Api,
    context: Handle,
    /// Its name, for messages.
    name: String,
}

// SAFETY: the driver's functions may be called from any thread that has made the context its current one.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

#[derive(Clone, Copy, Debug)]
struct Module(Handle);

// SAFETY: see `Context`.
unsafe impl Send for Module {}

impl Cuda {
    /// Makes a device ready for lanes.
    ///
    /// # Errors
    /// The driver does not want it.
    pub fn open(found: Found) -> Result<Cuda, DeviceError> {
        let api = api()?;
        let mut context = ptr::null_mut();
        // A context that is in use already keeps its flags. SAFETY: the driver gave the device.
        let _ = unsafe {
            (api.cuDevicePrimaryCtxSetFlags_v2)(found.device, api::CTX_SCHED_BLOCKING_SYNC)
        };
        // SAFETY: as above, and there is room for a handle.
        let code = unsafe { (api.cuDevicePrimaryCtxRetain)(&mut context, found.device) };
        let name = found.info.name.clone();
        api.check(code)
            .map_err(|why| driver(format!("{name}: {why}")))?;
        Ok(Cuda {
            info: found.info,
            context: Arc::new(Context { api, context, name }),
            modules: Mutex::default(),
        })
    }

    fn loaded(&self, program: &Program) -> Result<Module, DeviceError> {
        // Held while it compiles: whatever else wants the same program has to wait for it anyway.
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(program.name) {
            return Ok(*module);
        }
        let module = self
            .context
            .load(program.name)
            .map_err(|why| DeviceError::Program {
                device: self.info.name.clone(),
                program: program.name,
                why,
            })?;
        modules.insert(program.name, module);
        Ok(module)
    }
}

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn lane(&self, program: &Program) -> Result<Box<dyn Lane>, DeviceError> {
        self.context.enter()?;
        let module = self.loaded(program)?;
        Ok(Box::new(CudaLane::new(
            &self.context,
            module,
            program.name,
        )?))
    }

    fn page_lock(&self) -> Option<Arc<dyn PageLock>> {
        Some(Arc::<Context>::clone(&self.context))
    }
}

impl PageLock for Context {
    fn lock(&self, start: usize, bytes: usize) -> bool {
        let start = ptr::with_exposed_provenance_mut(start);
        let register = self.api.cuMemHostRegister_v2;
        // SAFETY: the memory stays mapped until it is unlocked, and locking changes nothing in it.
        self.enter().is_ok()
            && unsafe { register(start, bytes, api::MEMHOSTREGISTER_PORTABLE) } == 0
    }

    fn unlock(&self, start: usize) {
        let start = ptr::with_exposed_provenance_mut(start);
        if self.enter().is_ok() {
            // A driver that is gone has unlocked it. SAFETY: it was locked and is still mapped.
            let _ = unsafe { (self.api.cuMemHostUnregister)(start) };
        }
    }
}

impl Context {
    /// Makes it the current one of this thread, which every call below needs.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is never released.
        self.check(unsafe { (self.api.cuCtxSetCurrent)(self.context) })
    }

    fn load(&self, program: &str) -> Result<Module, String> {
        let ptx = ptx::of(program)?;
        let (mut module, mut log) = (ptr::null_mut(), [0u8; 4096]);
        let mut options = [jit::ERROR_LOG_BUFFER, jit::ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [
            log.as_mut_ptr().cast(),
            ptr::without_provenance_mut(log.len() - 1),
        ];
        // SAFETY: two options with their values: a place, and how many bytes it has. The text ends in NUL.
        let code = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            (self.api.cuModuleLoadDataEx)(&mut module, ptx.as_ptr().cast(), 2, options, values)
        };
        self.api.check(code).map_err(|why| {
            let log = CStr::from_bytes_until_nul(&log)
                .unwrap_or_default()
                .to_string_lossy();
            match log.lines().find(|line| !line.trim().is_empty()) {
                Some(line) => format!("{why}: {line}"),
                None => why,
            }
        })?;
        Ok(Module(module))
    }

    /// What an error means for a lane.
    fn check(&self, code: i32) -> Result<(), DeviceError> {
        self.api.check(code).map_err(|why| DeviceError::Lost {
            device: self.name.clone(),
            why,
        })
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CUDA")
    }
}

/// The driver's functions, looked for and initialised once.
fn api() -> Result<&'static Api, DeviceError> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    let api = API.get_or_init(|| {
        let missing = || format!("no {} is installed", api::NAMES[0]);
        let api = Api::load(api::NAMES)?.ok_or_else(missing)?;
        // SAFETY: the flags have to be 0.
        match unsafe { (api.cuInit)(0) } {
            // The list is empty then.
            0 | error::NO_DEVICE => Ok(api),
            code => Err(api.describe(code)),
        }
    });
    api.as_ref().map_err(|why| driver(why.clone()))
}

fn driver(why: String) -> DeviceError {
    DeviceError::Driver {
        interface: "CUDA",
        why,
    }
}
