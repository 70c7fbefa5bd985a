//! Sockets of the stack that a process keeps when it becomes another program: those whose file descriptors are not closed
//! by `exec`, as in the kernel.
//!
//! The process makes its next program the heir of what it keeps, and a variable of the environment says which file
//! descriptor is what. A program without this library keeps the sockets open, and cannot use them.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evener_net_client::SocketId;
use evener_net_client::client::{Inheritance, KEY};

use crate::socket::{Kind, Socket};
use crate::sys;
use crate::table::{self, Entry};
use crate::{memory, process};

const VARIABLE: &str = "EVENER_SHIM_INHERITED";

/// What the next program is to have, for as long as it is not there.
pub struct Bequest {
    _inheritance: Inheritance,
    /// The variables, the last of which says what it has.
    variables: Vec<*const c_char>,
    _text: CString,
}

impl Bequest {
    /// The environment of the next program.
    pub fn environment(&self) -> *const *const c_char {
        self.variables.as_ptr()
    }
}

fn flags(fd: c_int) -> c_int {
    let arguments = [sys::word(fd), sys::word(libc::F_GETFD)];
    sys::call(libc::SYS_fcntl, arguments).unwrap_or(0) as c_int
}

/// Makes the next program the heir of the sockets that it is to have; none if there are none.
///
/// # Safety
/// `environment` is null, or a list of texts that ends with null.
pub unsafe fn bequeath(environment: *const *const c_char) -> Option<Bequest> {
    let all = table::sockets();
    let kept = |fds: &[c_int]| -> Vec<c_int> {
        let kept = fds.iter().filter(|&&fd| flags(fd) & libc::FD_CLOEXEC == 0);
        kept.copied().collect()
    };
    if all.iter().all(|(_, fds)| kept(fds).is_empty()) {
        return None;
    }
    let is_kept = |(socket, fds): &(Arc<Socket>, Vec<RawFd>)| {
        let kept = !kept(fds).is_empty();
        socket.id().filter(|_| kept)
    };
    let ids: Vec<SocketId> = all.iter().filter_map(is_kept).collect();
    let inheritance = process::bequeath(&ids)?;
    let (life, key) = inheritance.parts();
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut text = format!("{VARIABLE}={}:{key}", life.as_raw_fd());
    for (socket, fds) in &all {
        let (Some(id), fds) = (socket.id(), kept(fds)) else {
            continue;
        };
        if fds.is_empty() {
            continue;
        }
        let kind = socket.kind().letter();
        let (six, nonblocking) = (socket.six, socket.nonblocking.load(Ordering::Relaxed));
        let [received, sent] = socket.ended();
        let numbers = [six, nonblocking, received, sent].map(u8::from);
        let [six, nonblocking, received, sent] = numbers;
        text += &format!(
            ";{kind},{},{},{six},{nonblocking},{received},{sent}",
            id.index, id.generation
        );
        fds.iter().for_each(|fd| text += &format!(",{fd}"));
    }
    let text = CString::new(text).ok()?;
    let mut variables = Vec::new();
    let mut at = environment;
    // SAFETY: the caller says so.
    while let Some(&variable) = unsafe { at.as_ref() }.filter(|variable| !variable.is_null()) {
        variables.push(variable);
        at = at.wrapping_add(1);
    }
    variables.extend([text.as_ptr(), ptr::null()]);
    let keep = [sys::word(life.as_raw_fd()), sys::word(libc::F_SETFD), 0];
    sys::call(libc::SYS_fcntl, keep).ok()?;
    Some(Bequest {
        _inheritance: inheritance,
        variables,
        _text: text,
    })
}

/// Takes what the program before left, before this one does anything.
extern "C" fn begin() {
    memory::run(|| {
        let Ok(text) = std::env::var(VARIABLE) else {
            return Ok(0);
        };
        // SAFETY: the program has not begun: there is no other thread.
        unsafe { std::env::remove_var(VARIABLE) };
        inherit(&text);
        Ok(0)
    });
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

fn inherit(text: &str) -> Option<()> {
    let mut parts = text.split(';');
    let (life, key) = parts.next()?.split_once(':')?;
    let life: RawFd = life.parse().ok()?;
    let byte = |at: usize| u8::from_str_radix(key.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..KEY).map(byte).collect();
    let close = [life, libc::F_SETFD, libc::FD_CLOEXEC].map(sys::word);
    sys::call(libc::SYS_fcntl, close).ok()?;
    // SAFETY: the program before made it for this one.
    let life = unsafe { UnixStream::from_raw_fd(life) };
    process::set_inheritance(Inheritance::from_parts(life, bytes?.try_into().ok()?));
    for part in parts {
        let mut fields = part.split(',');
        let kind = Kind::of_letter(fields.next()?)?;
        let numbers: Vec<u32> = fields.map_while(|field| field.parse().ok()).collect();
        let [
            index,
            generation,
            six,
            nonblocking,
            received,
            sent,
            ref fds @ ..,
        ] = numbers[..]
        else {
            return None;
        };
        let id = SocketId { index, generation };
        let ended = [received != 0, sent != 0];
        let socket = Socket::elsewhere(kind, id, ended, six != 0, nonblocking != 0);
        let socket = Arc::new(socket);
        for &fd in fds {
            drop(table::replace(
                fd as c_int,
                Some(Entry::Socket(Arc::clone(&socket))),
            ));
        }
    }
    Some(())
}

/// The environment of this process.
pub fn own_environment() -> *const *const c_char {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: the C library has it.
    unsafe { environ }
}

/// A function of the C library that this library stands in for.
pub fn next(name: &CStr) -> *mut std::ffi::c_void {
    // SAFETY: the name is a text.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}
