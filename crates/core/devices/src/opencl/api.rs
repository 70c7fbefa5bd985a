//! What is used of OpenCL 1.2, which every driver has.

use std::ffi::{c_char, c_void};

use crate::library::functions;

/// An object of the driver.
pub type Handle = *mut c_void;

type Notify = Option<unsafe extern "system" fn()>;

functions! {
    /// Functions of OpenCL.
    Api:
    clGetPlatformIDs(u32, *mut Handle, *mut u32) -> i32;
    clGetPlatformInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetDeviceIDs(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    clGetDeviceInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateContext(*const isize, u32, *const Handle, Notify, *mut c_void, *mut i32) -> Handle;
    clReleaseContext(Handle) -> i32;
    clCreateCommandQueue(Handle, Handle, u64, *mut i32) -> Handle;
    clReleaseCommandQueue(Handle) -> i32;
    clCreateProgramWithSource(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    clBuildProgram(Handle, u32, *const Handle, *const c_char, Notify, *mut c_void) -> i32;
    clGetProgramBuildInfo(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clReleaseProgram(Handle) -> i32;
    clCreateKernel(Handle, *const c_char, *mut i32) -> Handle;
    clReleaseKernel(Handle) -> i32;
    clSetKernelArg(Handle, u32, usize, *const c_void) -> i32;
    clCreateBuffer(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    clReleaseMemObject(Handle) -> i32;
    clEnqueueWriteBuffer(Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueReadBuffer(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueNDRangeKernel(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32;
    clFlush(Handle) -> i32;
    clGetEventInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clWaitForEvents(u32, *const Handle) -> i32;
    clReleaseEvent(Handle) -> i32;
}

/// Where the loader is.
pub const NAMES: &[&str] = if cfg!(windows) {
    &["OpenCL.dll"]
} else if cfg!(target_os = "macos") {
    &["/System/Library/Frameworks/OpenCL.framework/OpenCL"]
} else {
    &["libOpenCL.so.1", "libOpenCL.so"]
};

pub const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
pub const DEVICE_TYPE_CPU: u64 = 1 << 1;
pub const DEVICE_TYPE_GPU: u64 = 1 << 2;
pub const FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;
pub const COMPLETE: i32 = 0;

/// Numbers of questions.
pub mod ask {
    pub const PLATFORM_NAME: u32 = 0x0902;
    pub const DEVICE_TYPE: u32 = 0x1000;
    pub const DEVICE_SINGLE_FP_CONFIG: u32 = 0x101B;
    pub const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
    pub const DEVICE_ENDIAN_LITTLE: u32 = 0x1026;
    pub const DEVICE_AVAILABLE: u32 = 0x1027;
    pub const DEVICE_COMPILER_AVAILABLE: u32 = 0x1028;
    pub const DEVICE_NAME: u32 = 0x102B;
    pub const DRIVER_VERSION: u32 = 0x102D;
    pub const DEVICE_HOST_UNIFIED_MEMORY: u32 = 0x1035;
    /// Of an extension of NVIDIA.
    pub const DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: u32 = 0x4007;
    pub const PROGRAM_BUILD_LOG: u32 = 0x1183;
    pub const EVENT_COMMAND_EXECUTION_STATUS: u32 = 0x11D3;
}

/// Numbers of errors that are told from others.
pub mod error {
    pub const DEVICE_NOT_FOUND: i32 = -1;
    pub const MEM_OBJECT_ALLOCATION_FAILURE: i32 = -4;
    pub const OUT_OF_RESOURCES: i32 = -5;
    pub const OUT_OF_HOST_MEMORY: i32 = -6;
    pub const BUILD_PROGRAM_FAILURE: i32 = -11;
    pub const INVALID_BUFFER_SIZE: i32 = -61;
}

/// An error's name, without which its number says little.
pub fn name(code: i32) -> String {
    let name = match code {
        -1 => "device not found",
        -2 => "device not available",
        -3 => "compiler not available",
        -4 => "no memory for a buffer",
        -5 => "out of resources",
        -6 => "out of host memory",
        -11 => "the kernels do not build",
        -14 => "a command before it failed",
        -36 => "invalid command queue",
        -46 => "no kernel of this name",
        -48 => "invalid kernel",
        -51..=-49 => "invalid argument of a kernel",
        -52 => "a kernel lacks an argument",
        -54 => "too many threads in a group",
        -61 => "invalid size of a buffer",
        -1001 => "no driver is installed",
        _ => return format!("error {code}"),
    };
    format!("{name} ({code})")
}
