//! What the file descriptors of this process are.
//!
//! A child of `fork` has the locks as they were, and no other thread to unlock them. So the thread that forks takes all of
//! them first, and both processes unlock them afterwards.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_int;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use evener_net_client::SocketId;
use evener_net_client::client::lock;

use crate::epoll::{Set, Watch};
use crate::process;
use crate::socket::Socket;
use crate::sys::{self, Errno};

/// File descriptors beyond are the kernel's.
const FDS: usize = 1 << 16;

/// What a file descriptor is. No kind has the number 0, so a table without entries is zeros and takes no room in the
/// library.
#[derive(Clone)]
#[repr(u8)]
pub enum Entry {
    Socket(Arc<Socket>) = 1,
    /// An epoll of the kernel's, with sockets of the stack beside.
    Epoll(Arc<Set>),
    /// A socket of the kernel's that epolls have. It becomes one of the stack if it connects there.
    Watched(Arc<Vec<Watch>>),
}

static TABLE: [RwLock<Option<Entry>>; FDS] = [const { RwLock::new(None) }; FDS];

/// All places from here on are empty.
static END: AtomicUsize = AtomicUsize::new(0);

/// Taken before the lock of a place by what changes it.
static CHANGES: Mutex<()> = Mutex::new(());

/// Taken by a thread that adopts what the process inherited.
static ADOPTING: Mutex<()> = Mutex::new(());

type Place = RwLockWriteGuard<'static, Option<Entry>>;

/// What a thread that forks has meanwhile.
struct Locked {
    places: Vec<Place>,
    /// The epolls, and a copy of each for the child: other threads may have their locks.
    epolls: Vec<(Arc<Set>, Arc<Set>)>,
    _changes: MutexGuard<'static, ()>,
}

thread_local! {
    static LOCKED: RefCell<Option<Locked>> = const { RefCell::new(None) };
}

/// Takes the locks of all places, before this thread forks.
pub fn lock_all() {
    let _changes = lock(&CHANGES);
    let places = &TABLE[..END.load(Ordering::Relaxed)];
    let places: Vec<Place> = places.iter().map(write).collect();
    let mut epolls: Vec<(Arc<Set>, Arc<Set>)> = Vec::new();
    for place in &places {
        if let Some(Entry::Epoll(set)) = &**place
            && !epolls.iter().any(|(known, _)| Arc::ptr_eq(known, set))
        {
            epolls.push((Arc::clone(set), Arc::new(set.copy())));
        }
    }
    LOCKED.set(Some(Locked {
        places,
        epolls,
        _changes,
    }));
}

/// The sockets that the engine knows, of a thread that has all locks.
pub fn locked_sockets() -> HashSet<SocketId> {
    let id = |place: &Place| match &**place {
        Some(Entry::Socket(socket)) => socket.id(),
        _ => None,
    };
    LOCKED.with_borrow(|locked| {
        let places = locked.iter().flat_map(|locked| &locked.places);
        places.filter_map(id).collect()
    })
}

/// Gives them back, in the parent or in the child.
pub fn unlock_all(is_child: bool) {
    let Some(mut locked) = LOCKED.take() else {
        return;
    };
    if is_child {
        for place in &mut locked.places {
            if let Some(Entry::Epoll(set)) = &mut **place
                && let Some((_, copy)) =
                    (locked.epolls.iter()).find(|(known, _)| Arc::ptr_eq(known, set))
            {
                *set = Arc::clone(copy);
            }
        }
        // Those of the parent may be in the middle of a change.
        locked
            .epolls
            .drain(..)
            .for_each(|(set, _)| std::mem::forget(set));
    }
}

/// Keeps other threads from adopting.
pub fn lock_adopting() -> MutexGuard<'static, ()> {
    lock(&ADOPTING)
}

fn write(place: &'static RwLock<Option<Entry>>) -> Place {
    place.write().unwrap_or_else(PoisonError::into_inner)
}

fn find(fd: c_int) -> Option<Entry> {
    let fd = usize::try_from(fd).ok()?;
    if fd >= END.load(Ordering::Relaxed) {
        return None;
    }
    let place = TABLE.get(fd)?;
    place.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The socket of the stack that a file descriptor is, which may be in another process.
pub fn peek(fd: c_int) -> Option<Arc<Socket>> {
    match find(fd)? {
        Entry::Socket(socket) => Some(socket),
        _ => None,
    }
}

/// The socket of the stack that a file descriptor is, in this process if it can be.
pub fn socket(fd: c_int) -> Option<Arc<Socket>> {
    let socket = peek(fd)?;
    match socket.is_here() {
        true => Some(socket),
        false => adopt(fd),
    }
}

/// As [`socket`], but a listener of the parent stays where it is: to ask something of it does not mean to accept.
pub fn known(fd: c_int) -> Option<Arc<Socket>> {
    let socket = peek(fd)?;
    match socket.is_here() || socket.has_listener() {
        true => Some(socket),
        false => adopt(fd),
    }
}

/// Takes a socket from the process that has it, if this process may. All file descriptors and epolls that have it have the
/// new one.
fn adopt(fd: c_int) -> Option<Arc<Socket>> {
    let _one = lock(&ADOPTING);
    let old = peek(fd)?;
    if old.is_here() {
        return Some(old);
    }
    let Ok(new) = old.adopt() else {
        return Some(old);
    };
    let new = Arc::new(new);
    for fd in 0..END.load(Ordering::Relaxed) as c_int {
        match find(fd) {
            Some(Entry::Socket(found)) if Arc::ptr_eq(&found, &old) => {
                drop(replace(fd, Some(Entry::Socket(Arc::clone(&new)))));
            }
            Some(Entry::Epoll(set)) => set.replace(&old, &new),
            _ => {}
        }
    }
    Some(new)
}

/// All sockets that the engine knows, each with its file descriptors.
pub fn sockets() -> Vec<(Arc<Socket>, Vec<RawFd>)> {
    let mut all: Vec<(Arc<Socket>, Vec<RawFd>)> = Vec::new();
    for fd in 0..END.load(Ordering::Relaxed) as c_int {
        let Some(socket) = peek(fd).filter(|socket| socket.has_id()) else {
            continue;
        };
        match all
            .iter_mut()
            .find(|(known, _)| Arc::ptr_eq(known, &socket))
        {
            Some((_, fds)) => fds.push(fd),
            None => all.push((socket, vec![fd])),
        }
    }
    all
}

/// Whether any file descriptor is a socket that a child would have.
pub fn has_sockets() -> bool {
    let all = 0..END.load(Ordering::Relaxed) as c_int;
    all.filter_map(peek).any(|socket| socket.has_id())
}

/// The epoll with sockets of the stack that a file descriptor is.
pub fn epoll(fd: c_int) -> Option<Arc<Set>> {
    match find(fd)? {
        Entry::Epoll(set) => Some(set),
        _ => None,
    }
}

/// The epolls that have a socket of the kernel's.
pub fn watched(fd: c_int) -> Option<Arc<Vec<Watch>>> {
    match find(fd)? {
        Entry::Watched(watches) => Some(watches),
        _ => None,
    }
}

/// Whether a file descriptor can be of the stack.
pub fn has_place(fd: c_int) -> bool {
    usize::try_from(fd).is_ok_and(|fd| fd < FDS)
}

/// Sets what a file descriptor is, and returns what it was. To drop that makes calls, so it is done without a lock of the
/// table.
pub fn replace(fd: c_int, entry: Option<Entry>) -> Option<Entry> {
    let fd = usize::try_from(fd).ok()?;
    let place = TABLE.get(fd)?;
    if entry.is_none() {
        if fd >= END.load(Ordering::Relaxed) {
            return None;
        }
        if let Ok(found) = place.try_read()
            && found.is_none()
        {
            return None;
        }
    } else {
        process::hook();
    }
    let changes = lock(&CHANGES);
    END.fetch_max(fd + 1, Ordering::Relaxed);
    if let Some(Entry::Socket(socket)) = &entry {
        socket.add_fd();
    }
    let before = std::mem::replace(&mut *write(place), entry);
    drop(changes);
    if let Some(Entry::Socket(socket)) = &before {
        socket.remove_fd();
    }
    before
}

/// Removes what a range of file descriptors is, and returns it.
pub fn remove_range(first: u32, last: u32) -> Vec<Entry> {
    let end = (END.load(Ordering::Relaxed) as u32).min(last.saturating_add(1));
    (first..end)
        .filter_map(|fd| replace(fd as c_int, None))
        .collect()
}

/// The file descriptor `to` becomes what `from` is.
pub fn duplicate(from: c_int, to: c_int) {
    if from != to && process::owns_memory() {
        drop(replace(to, find(from).filter(|_| has_place(to))));
    }
}

/// A new file descriptor for a socket, which `make` makes after there is one.
pub fn add(
    close_on_exec: bool,
    make: impl FnOnce() -> Result<Arc<Socket>, Errno>,
) -> Result<RawFd, Errno> {
    let placeholder = process::attach()?.placeholder.as_raw_fd();
    let command = match close_on_exec {
        true => libc::F_DUPFD_CLOEXEC,
        false => libc::F_DUPFD,
    };
    let arguments = [sys::word(placeholder), sys::word(command), 0];
    let fd = sys::call(libc::SYS_fcntl, arguments)? as RawFd;
    let made = match has_place(fd) {
        true => make(),
        false => Err(libc::EMFILE),
    };
    match made {
        Ok(socket) => drop(replace(fd, Some(Entry::Socket(socket)))),
        Err(error) => {
            let _ = sys::close(fd);
            return Err(error);
        }
    }
    Ok(fd)
}
