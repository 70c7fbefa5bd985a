//! Calls of the operating system, past the functions that this library stands in for.

use std::ffi::{c_int, c_long};

use evener_net_client::program::sockaddr;

/// A number of an error of the operating system's.
pub type Errno = c_int;

/// What a call answers: a number that is not negative, or an error.
pub type Outcome = Result<isize, Errno>;

/// Makes a system call, past the function of C with that name.
pub fn call<const N: usize>(number: c_long, arguments: [usize; N]) -> Outcome {
    let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
    let all = std::array::from_fn(argument);
    // SAFETY: the arguments are those that the program made its call with, or of this library's own memory: the kernel
    // checks file descriptors, and pointers are as good as in the call that this stands in for.
    let result = unsafe { enter(number, all) };
    match result {
        -4095..0 => Err(-result as Errno),
        value => Ok(value),
    }
}

/// Enters the kernel.
///
/// # Safety
/// As for the call.
#[cfg(target_arch = "x86_64")]
unsafe fn enter(number: c_long, arguments: [usize; 6]) -> isize {
    let [one, two, three, four, five, six] = arguments;
    let mut result = number as isize;
    // SAFETY: the caller says so; the kernel keeps all registers but these.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") one,
            in("rsi") two,
            in("rdx") three,
            in("r10") four,
            in("r8") five,
            in("r9") six,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Enters the kernel.
///
/// # Safety
/// As for the call.
#[cfg(target_arch = "aarch64")]
unsafe fn enter(number: c_long, arguments: [usize; 6]) -> isize {
    let [one, two, three, four, five, six] = arguments;
    let mut result = one as isize;
    // SAFETY: the caller says so; the kernel keeps all registers but the first.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") result,
            in("x1") two,
            in("x2") three,
            in("x3") four,
            in("x4") five,
            in("x5") six,
            options(nostack),
        );
    }
    result
}

/// The error of the last call of this thread.
pub fn errno() -> Errno {
    // SAFETY: the function has no conditions, and what it points to is this thread's.
    unsafe { *libc::__errno_location() }
}

/// Sets the error of the last call of this thread.
pub fn set_errno(error: Errno) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error }
}

/// As C has the outcome of a call.
pub fn answer(outcome: Outcome) -> isize {
    match outcome {
        Ok(value) => value,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Closes a file descriptor.
pub fn close(fd: c_int) -> Outcome {
    call(libc::SYS_close, [fd as usize])
}

/// A number of a file descriptor, or a flag, as an argument.
pub fn word(number: c_int) -> usize {
    number as isize as usize
}

/// Sends this thread the signal of a connection that is over.
pub fn raise_pipe() {
    // SAFETY: the function has no conditions.
    unsafe { libc::raise(libc::SIGPIPE) };
}

/// While it is there, no signal calls a function in the thread that made it.
pub struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    pub fn new() -> BlockedSignals {
        // SAFETY: zero is a valid value of both structures, which the calls fill.
        unsafe {
            let (mut all, mut before) = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            BlockedSignals(before)
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set is what the kernel gave.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

/// Whether all functions that signals have here want calls to go on after them.
pub fn signals_restart() -> bool {
    (1..=64).all(|signal| {
        // SAFETY: zero is a valid value of the structure, which the call fills.
        let action = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            match libc::sigaction(signal, std::ptr::null(), &raw mut action) {
                0 => action,
                _ => return true,
            }
        };
        action.sa_sigaction == libc::SIG_DFL
            || action.sa_sigaction == libc::SIG_IGN
            || action.sa_flags & libc::SA_RESTART != 0
    })
}

/// A time as the kernel has it.
pub fn time(timeout: Option<std::time::Duration>) -> Option<libc::timespec> {
    timeout.map(|time| libc::timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    })
}

/// Waits for file descriptors, for ever if `timeout` is none.
pub fn poll(
    fds: &mut [libc::pollfd],
    timeout: Option<std::time::Duration>,
    mask: *const libc::sigset_t,
) -> Outcome {
    let time = self::time(timeout);
    let time = time.as_ref().map_or(0, |time| &raw const *time as usize);
    // The size of the kernel's set of signals.
    let arguments = [fds.as_mut_ptr() as usize, fds.len(), time, mask as usize, 8];
    call(libc::SYS_ppoll, arguments)
}

/// The value of an option of a kernel's socket that is a number.
pub fn option(fd: c_int, level: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut len = size_of::<c_int>() as libc::socklen_t;
    let arguments = [
        word(fd),
        word(level),
        word(name),
        &raw mut value as usize,
        &raw mut len as usize,
    ];
    call(libc::SYS_getsockopt, arguments).ok()?;
    Some(value)
}

/// The port that a kernel's socket is bound to; 0 if it is to none.
pub fn local_port(fd: c_int) -> Option<u16> {
    let mut address = [0_u8; sockaddr::MOST];
    let mut len = address.len() as libc::socklen_t;
    let arguments = [
        word(fd),
        address.as_mut_ptr() as usize,
        &raw mut len as usize,
    ];
    call(libc::SYS_getsockname, arguments).ok()?;
    sockaddr::decode(&address).map(|address| address.port())
}

/// The value of an option of a kernel's socket that is two numbers: a time, or whether to linger and for how long.
pub fn pair<T: Copy + Default>(fd: c_int, name: c_int) -> Option<[T; 2]> {
    let mut value = [T::default(); 2];
    let mut len = size_of::<[T; 2]>() as libc::socklen_t;
    let arguments = [
        word(fd),
        word(libc::SOL_SOCKET),
        word(name),
        &raw mut value as usize,
        &raw mut len as usize,
    ];
    call(libc::SYS_getsockopt, arguments).ok()?;
    Some(value)
}
