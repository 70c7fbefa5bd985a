//! What is used of the CUDA driver, of version 11.0 or later.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::library::functions;

/// An object of the driver.
pub type Handle = *mut c_void;

functions! {
    /// Functions of the driver.
    Api:
    cuInit(u32) -> i32;
    cuDriverGetVersion(*mut i32) -> i32;
    cuGetErrorString(i32, *mut *const c_char) -> i32;
    cuDeviceGetCount(*mut i32) -> i32;
    cuDeviceGet(*mut i32, i32) -> i32;
    cuDeviceGetName(*mut c_char, i32, i32) -> i32;
    cuDeviceTotalMem_v2(*mut usize, i32) -> i32;
    cuDeviceGetAttribute(*mut i32, i32, i32) -> i32;
    cuDevicePrimaryCtxSetFlags_v2(i32, u32) -> i32;
    cuDevicePrimaryCtxRetain(*mut Handle, i32) -> i32;
    cuCtxSetCurrent(Handle) -> i32;
    cuModuleLoadDataEx(*mut Handle, *const c_void, u32, *mut i32, *mut *mut c_void) -> i32;
    cuModuleGetFunction(*mut Handle, Handle, *const c_char) -> i32;
    cuStreamCreate(*mut Handle, u32) -> i32;
    cuStreamDestroy_v2(Handle) -> i32;
    cuEventCreate(*mut Handle, u32) -> i32;
    cuEventRecord(Handle, Handle) -> i32;
    cuEventQuery(Handle) -> i32;
    cuEventSynchronize(Handle) -> i32;
    cuEventDestroy_v2(Handle) -> i32;
    cuMemAlloc_v2(*mut u64, usize) -> i32;
    cuMemFree_v2(u64) -> i32;
    cuMemHostRegister_v2(*mut c_void, usize, u32) -> i32;
    cuMemHostUnregister(*mut c_void) -> i32;
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, Handle) -> i32;
    cuMemcpyDtoHAsync_v2(*mut c_void, u64, usize, Handle) -> i32;
    cuLaunchKernel(Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void) -> i32;
}

/// Where the driver is.
pub const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

/// A thread that waits for an event sleeps.
pub const CTX_SCHED_BLOCKING_SYNC: u32 = 0x4;
/// Without regard to the stream that has no name.
pub const STREAM_NON_BLOCKING: u32 = 0x1;
pub const EVENT_BLOCKING_SYNC: u32 = 0x1;
pub const EVENT_DISABLE_TIMING: u32 = 0x2;

/// Locked for all contexts.
pub const MEMHOSTREGISTER_PORTABLE: u32 = 0x1;

/// Numbers of questions about a device.
pub mod ask {
    pub const INTEGRATED: i32 = 18;
    pub const ASYNC_ENGINE_COUNT: i32 = 40;
    pub const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: i32 = 76;
}

/// Options of compiling PTX.
pub mod jit {
    pub const ERROR_LOG_BUFFER: i32 = 5;
    pub const ERROR_LOG_BUFFER_SIZE_BYTES: i32 = 6;
}

/// Numbers of errors that are told from others.
pub mod error {
    pub const INVALID_VALUE: i32 = 1;
    pub const OUT_OF_MEMORY: i32 = 2;
    pub const NO_DEVICE: i32 = 100;
    pub const INVALID_HANDLE: i32 = 400;
    pub const NOT_FOUND: i32 = 500;
    pub const NOT_READY: i32 = 600;
    pub const LAUNCH_OUT_OF_RESOURCES: i32 = 701;
}

impl Api {
    /// What the driver says about an error.
    pub fn describe(&self, code: i32) -> String {
        let mut text = ptr::null();
        // SAFETY: there is room for a pointer.
        let told = unsafe { (self.cuGetErrorString)(code, &mut text) };
        if told != 0 || text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: the driver gave a text that ends in NUL and is never freed.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} ({code})", text.to_string_lossy())
    }

    /// `Err` with what the driver says unless a function returned 0.
    pub fn check(&self, code: i32) -> Result<(), String> {
        if code == 0 {
            Ok(())
        } else {
            Err(self.describe(code))
        }
    }
}
