//! OpenCL: graphics processors of every maker, and cores behind PoCL.
//!
//! The kernels' text is compiled when a program's first lane is made. A lane is a queue that keeps the order, with
//! kernels and buffers of its own.

mod api;
mod lane;

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evener_runtime::device::{
    Arithmetic, Device, DeviceError, DeviceInfo, DeviceKind, Lane, Program,
};

use api::{Api, Handle, ask, error};
use lane::OpenClLane;

use crate::handlers;

pub(crate) const PRELUDE: &str = include_str!("../../kernels/prelude.cl");

/// A device that a driver has, not yet used.
#[derive(Debug)]
pub struct Found {
    device: Handle,
    /// What it is; no arithmetic was tried.
    pub info: DeviceInfo,
}

/// What drivers have.
///
/// # Errors
/// There is no driver, or it does not work.
pub fn list() -> Result<Vec<Found>, DeviceError> {
    // Loaders and drivers begin with the first question, and not all of them expect two threads to ask it.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    handlers::kept(look)
}

fn look() -> Result<Vec<Found>, DeviceError> {
    let api = api()?;
    let platforms = listed(|n, to, count| {
        // SAFETY: there is room for `n` handles, or `n` is 0.
        unsafe { (api.clGetPlatformIDs)(n, to, count) }
    });
    let mut found = Vec::new();
    for platform in platforms.map_err(|code| driver(api::name(code)))? {
        let devices = listed(|n, to, count| {
            // SAFETY: as above, and the driver gave the platform.
            unsafe { (api.clGetDeviceIDs)(platform, api::DEVICE_TYPE_ALL, n, to, count) }
        });
        let devices = match devices {
            // A driver without its device is no fault.
            Err(error::DEVICE_NOT_FOUND) => continue,
            devices => devices.map_err(|code| driver(api::name(code)))?,
        };
        let maker = text(|bytes, to, count| {
            // SAFETY: there is room for as many bytes.
            unsafe { (api.clGetPlatformInfo)(platform, ask::PLATFORM_NAME, bytes, to, count) }
        });
        for device in devices {
            found.extend(describe(api, device, &maker, found.len()));
        }
    }
    Ok(found)
}

/// What a device is; `None` for one that cannot be used.
fn describe(api: &Api, device: Handle, maker: &str, index: usize) -> Option<Found> {
    let flag = |what| number(api, device, what) == Some(1);
    let usable = flag(ask::DEVICE_AVAILABLE)
        && flag(ask::DEVICE_COMPILER_AVAILABLE)
        && flag(ask::DEVICE_ENDIAN_LITTLE) == cfg!(target_endian = "little");
    if !usable {
        return None;
    }
    let said = |what| {
        // SAFETY: there is room for as many bytes.
        text(|bytes, to, count| unsafe { (api.clGetDeviceInfo)(device, what, bytes, to, count) })
    };
    let kind = number(api, device, ask::DEVICE_TYPE).unwrap_or(0);
    let kind = match kind {
        _ if kind & api::DEVICE_TYPE_GPU != 0 => DeviceKind::Gpu,
        _ if kind & api::DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
        _ => DeviceKind::Accelerator,
    };
    let unified = kind == DeviceKind::Cpu || flag(ask::DEVICE_HOST_UNIFIED_MEMORY);
    let engines = number(api, device, ask::DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    // Only one maker says it; a card has at least one.
    let copy_engines = engines.map_or(u32::from(!unified), |engines| engines.min(8) as u32);
    Some(Found {
        device,
        info: DeviceInfo {
            name: format!("opencl:{index}"),
            model: said(ask::DEVICE_NAME),
            driver: format!("OpenCL, {maker} {}", said(ask::DRIVER_VERSION)),
            kind,
            memory: number(api, device, ask::DEVICE_GLOBAL_MEM_SIZE).unwrap_or(0),
            unified,
            copy_engines,
            lanes: if kind == DeviceKind::Cpu {
                1
            } else {
                1 + copy_engines.clamp(1, 2)
            },
            exact: Arithmetic::default(),
        },
    })
}

/// A device of OpenCL.
#[derive(Debug)]
pub struct OpenCl {
    /// What it is. Its arithmetic is what was found elsewhere.
    pub info: DeviceInfo,
    context: Arc<Context>,
    programs: Mutex<HashMap<&'static str, Arc<Owned>>>,
}

/// What the lanes of a device share.
#[derive(Debug)]
struct Context {
    api: &'static Api,
    context: Owned,
    device: Handle,
    /// Its name and model, for messages.
    name: String,
}

// SAFETY: OpenCL's functions may be called from any thread, but for setting a kernel's arguments, and each lane has
// kernels of its own.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl OpenCl {
    /// Makes a device ready for lanes.
    ///
    /// # Errors
    /// The driver does not want it.
    pub fn open(found: Found) -> Result<OpenCl, DeviceError> {
        let api = api()?;
        let name = found.info.name.clone();
        let mut code = 0;
        // SAFETY: one device, which the driver gave, without properties and callback.
        let context = unsafe {
            (api.clCreateContext)(
                ptr::null(),
                1,
                &found.device,
                None,
                ptr::null_mut(),
                &mut code,
            )
        };
        let context = Owned::new(context, code, api.clReleaseContext)
            .map_err(|code| driver(format!("{name}: {}", api::name(code))))?;
        Ok(OpenCl {
            info: found.info,
            context: Arc::new(Context {
                api,
                context,
                device: found.device,
                name,
            }),
            programs: Mutex::default(),
        })
    }

    fn compiled(&self, program: &Program) -> Result<Arc<Owned>, DeviceError> {
        // Held while it compiles: whatever else wants the same program has to wait for it anyway.
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = programs.get(program.source) {
            return Ok(Arc::clone(compiled));
        }
        let compiled = handlers::kept(|| self.context.compile(program.source)).map_err(|why| {
            DeviceError::Program {
                device: self.info.name.clone(),
                program: program.name,
                why,
            }
        })?;
        let compiled = Arc::new(compiled);
        programs.insert(program.source, Arc::clone(&compiled));
        Ok(compiled)
    }
}

impl Device for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn lane(&self, program: &Program) -> Result<Box<dyn Lane>, DeviceError> {
        let compiled = self.compiled(program)?;
        Ok(Box::new(OpenClLane::new(
            &self.context,
            compiled,
            program.name,
        )?))
    }
}

impl Context {
    fn compile(&self, source: &str) -> Result<Owned, String> {
        let api = self.api;
        let texts = [PRELUDE, "\n#line 1\n", source];
        let (starts, lengths) = (texts.map(|t| t.as_ptr().cast()), texts.map(str::len));
        let mut code = 0;
        // SAFETY: as many texts as lengths.
        let program = unsafe {
            let (starts, lengths) = (starts.as_ptr(), lengths.as_ptr());
            (api.clCreateProgramWithSource)(self.context.handle, 3, starts, lengths, &mut code)
        };
        let program = Owned::new(program, code, api.clReleaseProgram).map_err(api::name)?;
        let config = number(api, self.device, ask::DEVICE_SINGLE_FP_CONFIG).unwrap_or(0);
        let options = if config & api::FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0 {
            c"-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
        } else {
            c"-cl-std=CL1.2"
        };
        let (handle, device, none) = (program.handle, self.device, ptr::null_mut());
        // SAFETY: the program is of this device's context.
        match unsafe { (api.clBuildProgram)(handle, 1, &device, options.as_ptr(), None, none) } {
            0 => Ok(program),
            error::BUILD_PROGRAM_FAILURE => {
                let log = text(|bytes, to, count| {
                    let what = ask::PROGRAM_BUILD_LOG;
                    // SAFETY: there is room for as many bytes.
                    unsafe { (api.clGetProgramBuildInfo)(handle, device, what, bytes, to, count) }
                });
                let mut lines = log.lines().filter(|line| !line.trim().is_empty());
                let first = lines.clone().next().map(str::to_owned);
                let wrong = lines.find(|line| line.contains("error")).map(str::to_owned);
                Err(wrong
                    .or(first)
                    .unwrap_or_else(|| api::name(error::BUILD_PROGRAM_FAILURE)))
            }
            code => Err(api::name(code)),
        }
    }
}

/// An object that is released when it is dropped.
struct Owned {
    handle: Handle,
    release: unsafe extern "system" fn(Handle) -> i32,
}

// SAFETY: see `Context`.
unsafe impl Send for Owned {}
// SAFETY: see `Context`.
unsafe impl Sync for Owned {}

impl Owned {
    /// What a function made, unless it gave an error.
    fn new(
        handle: Handle,
        code: i32,
        release: unsafe extern "system" fn(Handle) -> i32,
    ) -> Result<Owned, i32> {
        if code == 0 && !handle.is_null() {
            Ok(Owned { handle, release })
        } else {
            Err(if code == 0 {
                error::OUT_OF_RESOURCES
            } else {
                code
            })
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // An error changes nothing. SAFETY: the driver made it, and it is released once.
        let _ = unsafe { (self.release)(self.handle) };
    }
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenCL")
    }
}

/// The driver's functions, looked for once.
fn api() -> Result<&'static Api, DeviceError> {
    static API: OnceLock<Result<Option<Api>, String>> = OnceLock::new();
    match API.get_or_init(|| Api::load(api::NAMES)) {
        Ok(Some(api)) => Ok(api),
        Ok(None) => Err(driver(format!("no {} is installed", api::NAMES[0]))),
        Err(why) => Err(driver(why.clone())),
    }
}

fn driver(why: String) -> DeviceError {
    DeviceError::Driver {
        interface: "OpenCL",
        why,
    }
}

/// A list of handles: how many there are, and then they themselves.
fn listed(get: impl Fn(u32, *mut Handle, *mut u32) -> i32) -> Result<Vec<Handle>, i32> {
    let mut count = 0;
    match get(0, ptr::null_mut(), &mut count) {
        0 => {}
        code => return Err(code),
    }
    let mut handles = vec![ptr::null_mut(); count as usize];
    let mut filled = 0;
    match get(count, handles.as_mut_ptr(), &mut filled) {
        0 => {
            handles.truncate(filled as usize);
            Ok(handles)
        }
        code => Err(code),
    }
}

/// A text that the driver gives, empty if it gives none.
fn text(get: impl Fn(usize, *mut c_void, *mut usize) -> i32) -> String {
    let mut bytes = 0;
    if get(0, ptr::null_mut(), &mut bytes) != 0 {
        return String::new();
    }
    let mut text = vec![0; bytes];
    if get(bytes, text.as_mut_ptr().cast(), &mut bytes) != 0 {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    text.trim_matches(['\0', ' ', '\n']).to_owned()
}

/// A number of 32 or 64 bits that the driver gives about a device.
fn number(api: &Api, device: Handle, what: u32) -> Option<u64> {
    let (mut value, mut bytes) = ([0; 8], 0);
    // SAFETY: there is room for 8 bytes.
    let code =
        unsafe { (api.clGetDeviceInfo)(device, what, 8, value.as_mut_ptr().cast(), &mut bytes) };
    let [a, b, c, d, ..] = value;
    match (code, bytes) {
        (0, 4) => Some(u32::from_ne_bytes([a, b, c, d]).into()),
        (0, 8) => Some(u64::from_ne_bytes(value)),
        _ => None,
    }
}
