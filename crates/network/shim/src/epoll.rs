//! `epoll` over sockets of the stack and file descriptors of the kernel's.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_short};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use evener_net_client::client::lock;

use crate::socket::{Seen, Socket};
use crate::sys::{self, Errno};
use crate::table::{self, Entry};
use crate::{process, wait};

/// Events of the kernel's that are taken at a time.
pub const TOGETHER: usize = 1024;

/// What an epoll asks of a socket of the kernel's.
#[derive(Clone, Copy)]
pub struct Watch {
    pub epoll: c_int,
    pub event: libc::epoll_event,
}

/// The sockets of the stack that an epoll of the kernel's has beside its own file descriptors.
pub struct Set {
    items: Mutex<Items>,
    /// How many forks there were when the sockets were last adopted.
    forks: AtomicU32,
}

#[derive(Clone, Default)]
struct Items {
    by_fd: BTreeMap<c_int, Item>,
    /// Where the next look begins: after the last socket that was told of.
    next: c_int,
    /// Whether the kernel is asked first at the next wait.
    kernel_first: bool,
}

#[derive(Clone)]
struct Item {
    socket: Weak<Socket>,
    events: u32,
    data: u64,
    /// What was told of it, if it is edge-triggered.
    seen: Option<Seen>,
    /// It tells once, and did.
    over: bool,
}

/// Adds, changes or removes a socket of the stack.
pub fn control(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    socket: &Arc<Socket>,
    event: Option<libc::epoll_event>,
) -> Result<isize, Errno> {
    if !table::has_place(epoll) {
        return Err(libc::EMFILE);
    }
    let set = table::epoll(epoll).unwrap_or_else(|| {
        let set = Arc::new(Set::new(Items::default()));
        drop(table::replace(epoll, Some(Entry::Epoll(Arc::clone(&set)))));
        set
    });
    let mut items = lock(&set.items);
    let items = &mut items.by_fd;
    let there = items
        .get(&fd)
        .is_some_and(|item| item.socket.as_ptr() == Arc::as_ptr(socket));
    let item = |event: libc::epoll_event| Item {
        socket: Arc::downgrade(socket),
        events: event.events,
        data: event.u64,
        seen: None,
        over: false,
    };
    match operation {
        libc::EPOLL_CTL_ADD if there => return Err(libc::EEXIST),
        libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL if !there => return Err(libc::ENOENT),
        _ => {}
    }
    if let Some(kernel) = socket.kernel_listener() {
        let [epoll, operation, kernel] = [epoll, operation, kernel].map(sys::word);
        let event = event.as_ref().map_or(0, |event| &raw const *event as usize);
        sys::call(libc::SYS_epoll_ctl, [epoll, operation, kernel, event])?;
    }
    match operation {
        libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD => {
            items.insert(fd, item(event.ok_or(libc::EFAULT)?));
        }
        libc::EPOLL_CTL_DEL => drop(items.remove(&fd)),
        _ => return Err(libc::EINVAL),
    }
    process::ring_alarms();
    Ok(0)
}

impl Item {
    /// What is to be told of it now.
    fn tell(&mut self, socket: &Socket) -> Option<libc::epoll_event> {
        if self.over {
            return None;
        }
        let events = socket.events();
        let always = (libc::EPOLLHUP | libc::EPOLLERR) as u32;
        let told = u32::from(events as u16) & (self.events | always);
        if told == 0 {
            self.seen = None;
            return None;
        }
        if self.events & libc::EPOLLET as u32 != 0 && !socket.is_listening() {
            let seen = socket.seen(events & told as c_short);
            if self.seen == Some(seen) {
                return None;
            }
            self.seen = Some(seen);
        }
        self.over = self.events & libc::EPOLLONESHOT as u32 != 0;
        Some(libc::epoll_event {
            events: told,
            u64: self.data,
        })
    }
}

impl Items {
    /// What is to be told of the sockets in the order of their numbers, from the next one on, `most` at most. Also the sockets
    /// that were looked at, which may have been closed meanwhile.
    fn collect(&mut self, most: usize) -> (Vec<libc::epoll_event>, Vec<Arc<Socket>>) {
        (self.by_fd).retain(|_, item| item.socket.strong_count() > 0);
        let (mut told, mut looked_at, mut last) = (Vec::new(), Vec::new(), None);
        for part in [self.next..=c_int::MAX, 0..=self.next - 1] {
            if part.is_empty() {
                continue;
            }
            for (&fd, item) in self.by_fd.range_mut(part) {
                if told.len() == most {
                    break;
                }
                let Some(socket) = item.socket.upgrade() else {
                    continue;
                };
                if socket.is_open()
                    && let Some(event) = item.tell(&socket)
                {
                    told.push(event);
                    last = Some(fd);
                }
                looked_at.push(socket);
            }
        }
        self.next = last.map_or(self.next, |last| last.saturating_add(1));
        (told, looked_at)
    }
}

impl Set {
    fn new(items: Items) -> Set {
        Set {
            items: Mutex::new(items),
            forks: AtomicU32::new(process::forks()),
        }
    }

    /// One of the same sockets.
    pub fn copy(&self) -> Set {
        Set::new(lock(&self.items).clone())
    }

    /// A socket is another now.
    pub fn replace(&self, old: &Arc<Socket>, new: &Arc<Socket>) {
        for item in lock(&self.items).by_fd.values_mut() {
            if item.socket.as_ptr() == Arc::as_ptr(old) {
                item.socket = Arc::downgrade(new);
                item.seen = None;
            }
        }
    }

    /// Takes the sockets from the process that forked this one.
    fn adopt(&self) {
        let forks = process::forks();
        if self.forks.swap(forks, Ordering::Relaxed) != forks {
            let fds: Vec<c_int> = lock(&self.items).by_fd.keys().copied().collect();
            fds.into_iter().for_each(|fd| drop(table::socket(fd)));
        }
    }

    /// What is to be told of its sockets, `most` at most.
    fn collect(&self, most: usize) -> Vec<libc::epoll_event> {
        // The last that drops a socket makes calls, so it is done without the lock, which a thread that forks waits for.
        let (told, _looked_at) = lock(&self.items).collect(most);
        told
    }

    /// Whether the kernel is asked first this time: both sides take turns, so that neither keeps the other waiting.
    fn is_kernels_turn(&self) -> bool {
        let turn = &mut lock(&self.items).kernel_first;
        std::mem::replace(turn, !*turn)
    }
}

/// Waits for an epoll that has sockets of the stack. `kernel` asks the kernel's without waiting, for so many events at most.
pub fn wait(
    epoll: c_int,
    set: &Set,
    most: usize,
    timeout: Option<Duration>,
    mask: *const libc::sigset_t,
    mut kernel: impl FnMut(usize) -> Result<Vec<libc::epoll_event>, Errno>,
) -> Result<Vec<libc::epoll_event>, Errno> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    set.adopt();
    loop {
        // The first side has half of the room, the second all that is left.
        let kernel_first = set.is_kernels_turn();
        let mut told = match kernel_first {
            true => kernel(most.div_ceil(2))?,
            false => set.collect(most.div_ceil(2)),
        };
        match most - told.len() {
            0 => {}
            left if kernel_first => told.extend(set.collect(left)),
            left => told.extend(kernel(left)?),
        }
        if !told.is_empty() || deadline.is_some_and(|end| end <= Instant::now()) {
            return Ok(told);
        }
        let mut fds = vec![libc::pollfd {
            fd: epoll,
            events: libc::POLLIN,
            revents: 0,
        }];
        let ready = || Some(set.collect(most)).filter(|told| !told.is_empty());
        if let Some(told) = wait::until(&mut fds, deadline, mask, ready)? {
            return Ok(told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn sockets_are_dropped_without_the_lock() {
        let new = || {
            let socket = Socket::in_place_of(None, Options::default(), false, true);
            socket.add_fd();
            Arc::new(socket)
        };
        let [silent, told] = [new(), new()];
        let item = |socket, events: c_int| Item {
            socket: Arc::downgrade(socket),
            events: events as u32,
            data: 0,
            seen: None,
            over: false,
        };
        let set = Set::new(Items::default());
        let mut items = lock(&set.items);
        items.by_fd.insert(3, item(&silent, 0));
        items.by_fd.insert(4, item(&told, libc::EPOLLOUT));
        let (events, looked_at) = items.collect(10);
        assert_eq!(events.len(), 2);
        // Another thread closes both now.
        let weak = [silent, told].map(|socket| Arc::downgrade(&socket));
        assert!(weak.iter().all(|socket| socket.strong_count() == 1));
        drop(items);
        drop(looked_at);
        assert!(weak.iter().all(|socket| socket.strong_count() == 0));
        assert!(set.collect(10).is_empty());
    }
}
