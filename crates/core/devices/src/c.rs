//! Kernels compiled by the C compiler and run on the thread that calls, for tests.
//!
//! Threads of a group run one after the other, so a kernel with a `BARRIER` does not compile. A kernel that reads or
//! writes out of bounds does so in this process.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::{self, Write as _};
use std::fs;
use std::process::Command as Process;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evener_runtime::device::{
    Arg, Arithmetic, Buffer, Command, Device, DeviceError, DeviceInfo, DeviceKind, Lane, Launch,
    Program,
};
use libloading::Library;

const PRELUDE: &str = include_str!("../kernels/prelude.c");

/// What a compiled kernel is called with: its arguments, groups, threads.
type Entry = unsafe extern "C" fn(*const *const c_void, *const u32, *const u32);

/// A kernel with the types of its arguments, in the text of a program.
type Key = (&'static str, &'static str, Vec<&'static str>);

/// A device that is the C compiler.
#[derive(Debug)]
pub struct CDevice {
    info: DeviceInfo,
    kernels: Arc<Kernels>,
}

impl CDevice {
    /// A device with the name `c`.
    #[allow(clippy::new_without_default)]
    pub fn new() -> CDevice {
        CDevice {
            info: DeviceInfo {
                name: "c".to_owned(),
                model: "C compiler".to_owned(),
                driver: "cc".to_owned(),
                kind: DeviceKind::Cpu,
                memory: 1 << 30,
                unified: true,
                copy_engines: 0,
                lanes: 1,
                exact: Arithmetic::ALL,
            },
            kernels: Arc::default(),
        }
    }
}

impl Device for CDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn lane(&self, program: &Program) -> Result<Box<dyn Lane>, DeviceError> {
        Ok(Box::new(CLane {
            program: program.name,
            source: program.source,
            kernels: Arc::clone(&self.kernels),
            used: HashMap::new(),
            buffers: Vec::new(),
        }))
    }
}

/// Kernels that were compiled.
#[derive(Default)]
struct Kernels(Mutex<HashMap<Key, Arc<Kernel>>>);

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernels")
    }
}

struct Kernel {
    entry: Entry,
    /// Holds the code of `entry`.
    _library: Library,
}

impl Kernels {
    fn get(&self, program: &'static str, key: &Key) -> Result<Arc<Kernel>, DeviceError> {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(key) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = compile(key).map_err(|why| DeviceError::Program {
            device: "c".to_owned(),
            program,
            why,
        })?;
        let kernel = Arc::new(kernel);
        kernels.insert(key.clone(), Arc::clone(&kernel));
        Ok(kernel)
    }
}

fn compile((source, kernel, types): &Key) -> Result<Kernel, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (text, library) = (
        folder.path().join("kernel.c"),
        folder.path().join("kernel.so"),
    );
    let mut arguments = String::new();
    for (i, kind) in types.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(arguments, "{comma}*({kind} const *)arguments[{i}]");
    }
    let wrapped = format!(
        "{PRELUDE}\n#line 1 \"kernels\"\n{source}\n#line 1 \"launch\"\n\
         #pragma GCC diagnostic error \"-Wconversion\"\n\
         void evener_launch(void const *const *arguments, uint const *groups, uint const *threads) {{\n\
         evener_threads[0] = threads[0];\n\
         evener_threads[1] = threads[1];\n\
         for (evener_group[1] = 0; evener_group[1] < groups[1]; evener_group[1]++)\n\
         for (evener_group[0] = 0; evener_group[0] < groups[0]; evener_group[0]++)\n\
         for (evener_thread[1] = 0; evener_thread[1] < threads[1]; evener_thread[1]++)\n\
         for (evener_thread[0] = 0; evener_thread[0] < threads[0]; evener_thread[0]++)\n\
         {kernel}({arguments});\n}}\n"
    );
    fs::write(&text, wrapped).map_err(|error| error.to_string())?;
    let output = Process::new("cc")
        .args(["-std=gnu11", "-O2", "-shared", "-fPIC", "-ffp-contract=off"])
        .args(["-fno-strict-aliasing", "-fno-math-errno"])
        // What another language would refuse or compute otherwise.
        .args([
            "-Werror=double-promotion",
            "-Werror=implicit-function-declaration",
        ])
        .arg("-o")
        .args([&library, &text])
        .arg("-lm")
        .output()
        .map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    // SAFETY: it has no code that runs when it is loaded.
    let library = unsafe { Library::new(&library) }.map_err(|error| error.to_string())?;
    // SAFETY: the text above defines it with this type.
    let entry = unsafe { library.get::<Entry>(b"evener_launch\0") };
    let entry = *entry.map_err(|error| error.to_string())?;
    Ok(Kernel {
        entry,
        _library: library,
    })
}

struct CLane {
    program: &'static str,
    source: &'static str,
    kernels: Arc<Kernels>,
    /// The device's kernels that this lane ran.
    used: HashMap<Key, Arc<Kernel>>,
    buffers: Vec<Block>,
}

impl CLane {
    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let types = launch.args.iter().map(|arg| match arg {
            Arg::Buffer(_) => "void *",
            Arg::I32(_) => "int",
            Arg::U32(_) => "uint",
            Arg::F32(_) => "float",
        });
        let key = (self.source, launch.kernel, types.collect());
        let kernel = match self.used.get(&key) {
            Some(kernel) => Arc::clone(kernel),
            None => {
                let kernel = self.kernels.get(self.program, &key)?;
                self.used.insert(key, Arc::clone(&kernel));
                kernel
            }
        };
        let pointers = launch.args.iter().map(|arg| match arg {
            Arg::Buffer(buffer) => self.buffers[buffer.index as usize].start.as_ptr(),
            _ => std::ptr::null_mut(),
        });
        let pointers: Vec<*mut u8> = pointers.collect();
        let arguments = launch
            .args
            .iter()
            .zip(&pointers)
            .map(|(arg, pointer)| match arg {
                Arg::Buffer(_) => std::ptr::from_ref(pointer).cast(),
                Arg::I32(value) => std::ptr::from_ref(value).cast(),
                Arg::U32(value) => std::ptr::from_ref(value).cast(),
                Arg::F32(value) => std::ptr::from_ref(value).cast(),
            });
        let arguments: Vec<*const c_void> = arguments.collect();
        // SAFETY: the wrapper was made for arguments of these types, and each pointer is to one of them. Buffers belong
        // to this lane, which no other thread uses now. That the kernel keeps to their bounds is for its author to see
        // to, as on any device.
        unsafe {
            (kernel.entry)(
                arguments.as_ptr(),
                launch.groups.as_ptr(),
                launch.threads.as_ptr(),
            );
        }
        Ok(())
    }
}

impl Lane for CLane {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        let block = Block::new(bytes).ok_or_else(|| DeviceError::Memory {
            device: "c".to_owned(),
            bytes,
        })?;
        self.buffers.push(block);
        Ok(Buffer {
            index: self.buffers.len() as u32 - 1,
            bytes,
        })
    }

    /// Nothing ends a kernel that runs too long.
    fn run(&mut self, commands: &mut [Command<'_>], _: Duration) -> Result<(), DeviceError> {
        for command in commands {
            match command {
                Command::Upload { to, at, from } => {
                    self.buffers[to.index as usize].bytes()[*at..][..from.len()]
                        .copy_from_slice(from);
                }
                Command::Launch(launch) => self.launch(launch)?,
                Command::Download { from, at, to } => {
                    let bytes = self.buffers[from.index as usize].bytes();
                    to.copy_from_slice(&bytes[*at..][..to.len()]);
                }
            }
        }
        Ok(())
    }
}

/// Memory that kernels get as a pointer.
struct Block {
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Block {}

impl Block {
    fn new(bytes: usize) -> Option<Block> {
        let layout = Layout::from_size_align(bytes.max(1), 64).ok()?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc::alloc(layout) })?;
        // What is not defined should not look like zeros. SAFETY: as many bytes were just allocated.
        unsafe { start.write_bytes(0xA5, layout.size()) };
        Some(Block {
            start,
            layout,
            bytes,
        })
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: these bytes were allocated and written, and live as long as this borrow of their owner.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}
