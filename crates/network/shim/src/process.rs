//! What this process has of the stack: which addresses are its own, and where it is attached.
//!
//! A child of `fork` attaches on its own when it first uses a socket. Before that it has an inheritance, so that the engine
//! closes nothing that the child has.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use evener_net_client::SocketId;
use evener_net_client::Stack;
use evener_net_client::client::lock;
use evener_net_client::client::{Alarm, Inheritance};
use evener_net_client::program::Places;

use crate::sys::{self, Errno};
use crate::table;
use crate::{memory, own};

/// How long a process waits at most before it tries again to reach the engine.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What the command that started the program says.
struct Configuration {
    socket: PathBuf,
    places: Places,
}

/// A process that is attached. It is never freed, so that no thread needs a lock to use it.
pub struct Process {
    pub stack: Stack,
    /// What takes the numbers of sockets: a file descriptor that is never readable.
    pub placeholder: OwnedFd,
    /// Alarms that no thread uses.
    alarms: Mutex<Vec<Alarm>>,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());
/// What this process has from its parent; null without any, and when it is attached.
static INHERITANCE: AtomicPtr<Inheritance> = AtomicPtr::new(ptr::null_mut());
/// Taken by the thread that attaches.
static ATTACHING: Mutex<()> = Mutex::new(());
/// How many forks there were between the first process and this.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The process that this memory is of: a child of `vfork` uses that of another.
static OWNER: AtomicU32 = AtomicU32::new(0);

fn configuration() -> &'static Configuration {
    static ONCE: OnceLock<Configuration> = OnceLock::new();
    ONCE.get_or_init(|| {
        let prefixes = |name| {
            let text = std::env::var(name).unwrap_or_default();
            let prefixes = text.split_whitespace();
            prefixes.filter_map(|prefix| prefix.parse().ok()).collect()
        };
        Configuration {
            socket: std::env::var_os("EVENER_SHIM_SOCKET")
                .map_or_else(|| evener_net_client::DEFAULT_SOCKET.into(), PathBuf::from),
            places: Places {
                prefixes: prefixes("EVENER_SHIM_ADDRESSES"),
                to: prefixes("EVENER_SHIM_TO"),
                listen: std::env::var_os("EVENER_SHIM_LISTEN").is_some_and(|value| value == "1"),
            },
        }
    })
}

/// The address of the stack that a peer sees.
pub fn source(peer: &SocketAddr) -> Option<IpAddr> {
    places().source(peer.ip())
}

/// Whether the stack has any addresses.
pub fn has_addresses() -> bool {
    !places().prefixes.is_empty()
}

/// Which addresses are the stack's.
pub fn places() -> &'static Places {
    &configuration().places
}

/// How many forks there were: what is of another number is of another process.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Whether this is the process whose memory it uses, and no child of `vfork` that is about to be another program.
pub fn owns_memory() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner == 0 || owner == std::process::id()
}

/// Whether there is no room, which will not be there soon either.
fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Does something with a new connection to the engine. An engine that many come to at once refuses some, which try again.
fn with_engine<T>(mut run: impl FnMut(UnixStream) -> io::Result<T>) -> Result<T, Errno> {
    let number = |error: io::Error| error.raw_os_error().unwrap_or(libc::ENETDOWN);
    let mut pause = Duration::from_millis(1);
    loop {
        let socket = UnixStream::connect(&configuration().socket).map_err(number)?;
        match run(socket) {
            Err(error) if pause < LONGEST_PAUSE && !is_full(&error) => {
                thread::sleep(pause);
                pause *= 2;
            }
            result => return result.map_err(number),
        }
    }
}

/// The process, attached.
pub fn attach() -> Result<&'static Process, Errno> {
    if let Some(process) = current() {
        return Ok(process);
    }
    let _one = lock(&ATTACHING);
    if let Some(process) = current() {
        return Ok(process);
    }
    let stack = with_engine(Stack::over)?;
    // As the kernel does: what was written is sent, however the process ends.
    stack.close_at_end();
    if let Some(inheritance) = take_inheritance() {
        let _ = stack.inherit(&inheritance);
    }
    let placeholder = placeholder()?;
    own::add(placeholder.as_raw_fd());
    own::add(stack.as_fd().as_raw_fd());
    let made = Box::into_raw(Box::new(Process {
        stack,
        placeholder,
        alarms: Mutex::default(),
    }));
    hook();
    PROCESS.store(made, Ordering::Release);
    current().ok_or(libc::ENETDOWN)
}

fn placeholder() -> Result<OwnedFd, Errno> {
    let flags = libc::EFD_NONBLOCK | libc::EFD_CLOEXEC;
    let made = sys::call(libc::SYS_eventfd2, [0, sys::word(flags)])?;
    // SAFETY: the kernel made it for this call, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(made as RawFd) })
}

/// This process no longer has a socket that it inherited and did not use.
pub fn release(socket: SocketId) {
    let _one = lock(&ATTACHING);
    // SAFETY: it is null, or was made from a box that is freed under the lock alone.
    let inheritance = unsafe { INHERITANCE.load(Ordering::Acquire).as_ref() };
    match (current(), inheritance) {
        (Some(process), _) => process.stack.release(socket),
        (None, Some(inheritance)) => inheritance.release(socket),
        (None, None) => {}
    }
}

/// Takes what this process has from its parent.
fn take_inheritance() -> Option<Box<Inheritance>> {
    let taken = INHERITANCE.swap(ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: it is null, or was made from a box, and is taken once.
    let taken = (!taken.is_null()).then(|| unsafe { Box::from_raw(taken) })?;
    own::remove(taken.parts().0.as_raw_fd());
    Some(taken)
}

/// This process has what another left to it.
pub fn set_inheritance(inheritance: Inheritance) {
    drop(take_inheritance());
    own::add(inheritance.parts().0.as_raw_fd());
    INHERITANCE.store(Box::into_raw(Box::new(inheritance)), Ordering::Release);
}

/// A child or the next program of this process, which has nothing yet; none if this process has nothing.
fn heir() -> Option<Inheritance> {
    if !owns_memory() || !table::has_sockets() {
        return None;
    }
    attach().ok()?;
    with_engine(Inheritance::new).ok()
}

/// What the next program of this process is to have.
pub fn bequeath(sockets: &[SocketId]) -> Option<Inheritance> {
    let inheritance = heir()?;
    let stack = &current()?.stack;
    let given = stack.bequeath(&inheritance, sockets.iter().copied());
    given.is_ok().then_some(inheritance)
}

fn current() -> Option<&'static Process> {
    // SAFETY: it is null, or was made from a box that is never freed.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

impl Process {
    /// Lends an alarm; none if there is no file descriptor for it.
    pub fn with_alarm<T>(&self, run: impl FnOnce(Option<&Alarm>) -> T) -> T {
        let lock = || self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().pop();
        let make = || {
            let alarm = self.stack.alarm().ok()?;
            (alarm.descriptors().iter()).for_each(|fd| own::add(fd.as_raw_fd()));
            Some(alarm)
        };
        let alarm = kept.or_else(make);
        let result = run(alarm.as_ref());
        lock().extend(alarm);
        result
    }
}

/// Wakes threads that wait for connections, as something about them was changed.
pub fn ring_alarms() {
    if let Some(process) = current() {
        process.stack.ring_alarms();
    }
}

/// What a thread that forks has meanwhile.
struct Forking {
    inheritance: Option<Inheritance>,
    _locks: [MutexGuard<'static, ()>; 2],
    /// A function of the program's that a signal calls would wait for those locks.
    _signals: sys::BlockedSignals,
}

thread_local! {
    static FORKING: RefCell<Option<Forking>> = const { RefCell::new(None) };
}

fn before_fork() {
    let _signals = sys::BlockedSignals::new();
    // Many may come to the engine at once, so no lock is held yet.
    let mut inheritance = heir();
    let mut tried = inheritance.is_some();
    let _locks = loop {
        let locks = [table::lock_adopting(), lock(&ATTACHING)];
        table::lock_all();
        if tried || table::locked_sockets().is_empty() {
            break locks;
        }
        // Another thread has just opened a socket.
        table::unlock_all(false);
        drop(locks);
        inheritance = heir();
        tried = true;
    };
    // No thread opens or closes a socket any more: the child has what its file descriptors say. The engine answers without
    // any of the locks.
    if let (Some(found), Some(process)) = (&inheritance, current())
        && (process.stack)
            .bequeath(found, table::locked_sockets())
            .is_err()
    {
        inheritance = None;
    }
    FORKING.set(Some(Forking {
        inheritance,
        _locks,
        _signals,
    }));
}

/// From now on this library hears of forks.
pub fn hook() {
    extern "C" fn before() {
        memory::run(|| {
            before_fork();
            Ok(0)
        });
    }
    extern "C" fn parent() {
        memory::run(|| {
            table::unlock_all(false);
            drop(FORKING.take());
            Ok(0)
        });
    }
    extern "C" fn child() {
        memory::run(|| {
            // The attachment stays with the parent. What the child has of it is left as it is: to drop it would end
            // connections.
            PROCESS.store(ptr::null_mut(), Ordering::Release);
            OWNER.store(std::process::id(), Ordering::Relaxed);
            FORKS.fetch_add(1, Ordering::Relaxed);
            table::unlock_all(true);
            drop(take_inheritance());
            let mut forking = FORKING.take();
            let inheritance = forking.as_mut().and_then(|own| own.inheritance.take());
            inheritance.into_iter().for_each(set_inheritance);
            drop(forking);
            Ok(0)
        });
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        OWNER.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: the functions are of this library, which is never unloaded, and have no conditions.
        unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
    });
}
