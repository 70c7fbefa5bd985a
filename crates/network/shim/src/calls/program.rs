//! Calls by which a process becomes another program. Those with any number of arguments cannot be told from here, and
//! leave the new program without sockets of the stack.

use std::ffi::{c_char, c_int};

use crate::memory::run;
use crate::sys::Outcome;
use crate::{exec, process, sys};

type Texts = *const *const c_char;

/// Runs a call with the environment that the next program is to have.
///
/// # Safety
/// `environment` is null, or a list of texts that ends with null.
unsafe fn with_bequest(environment: Texts, run: impl FnOnce(Texts) -> Outcome) -> Outcome {
    // A child of `vfork` has the memory of its parent.
    let bequest = match process::owns_memory() {
        // SAFETY: the caller says so.
        true => unsafe { exec::bequeath(environment) },
        false => None,
    };
    run(bequest
        .as_ref()
        .map_or(environment, exec::Bequest::environment))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    let call = |environment: Texts| {
        let all = [path as usize, arguments as usize, environment as usize];
        sys::call(libc::SYS_execve, all)
    };
    // Shells try one folder after another.
    let is_there = [
        sys::word(libc::AT_FDCWD),
        path as usize,
        libc::X_OK as usize,
    ];
    run(|| match sys::call(libc::SYS_faccessat, is_there) {
        // SAFETY: the program gives an environment.
        Ok(_) => unsafe { with_bequest(environment, call) },
        Err(_) => call(environment),
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: it is the same call.
    unsafe { execve(path, arguments, exec::own_environment()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    let call = |environment: Texts| {
        let found = exec::next(c"execvpe");
        if found.is_null() {
            return Err(libc::ENOSYS);
        }
        type Function = unsafe extern "C" fn(*const c_char, Texts, Texts) -> c_int;
        // SAFETY: the C library's function of this name is of this type, and the program gives what it takes.
        unsafe {
            let found: Function = std::mem::transmute(found);
            found(file, arguments, environment);
        }
        Err(sys::errno())
    };
    // SAFETY: the program gives an environment.
    run(|| unsafe { with_bequest(environment, call) }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: it is the same call.
    unsafe { execvpe(file, arguments, exec::own_environment()) }
}
