//! Options of sockets.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_net_client::client::Link;
use evener_net_client::client::lock;
use evener_net_client::program::options::{Linger, choice};
use evener_net_client::program::{self, tcp_info};

use crate::socket::Socket;
use crate::sys::{self, Errno};

/// How long an operation waits, in nanoseconds; 0 for ever.
#[derive(Default)]
pub struct Timeout(AtomicU64);

impl Timeout {
    pub fn set(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.store(nanos, Ordering::Relaxed);
    }

    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    pub fn deadline(&self) -> Option<Instant> {
        let time = self.get();
        (!time.is_zero())
            .then(|| Instant::now().checked_add(time))
            .flatten()
    }
}

/// The options that mean something to the stack. A connection begins with those of its listener.
#[derive(Default)]
pub struct Options {
    pub receive_timeout: Timeout,
    pub send_timeout: Timeout,
    no_delay: AtomicBool,
    keep_alive: AtomicBool,
    linger: Mutex<Linger>,
}

impl Options {
    /// Those of a socket of the kernel's.
    pub fn of_kernel(fd: c_int) -> Options {
        let options = Options::default();
        let time = |name, to: &Timeout| {
            if let Some([seconds, micros]) = sys::pair::<libc::c_long>(fd, name) {
                to.set(Duration::from_secs(seconds as u64) + Duration::from_micros(micros as u64));
            }
        };
        time(libc::SO_RCVTIMEO, &options.receive_timeout);
        time(libc::SO_SNDTIMEO, &options.send_timeout);
        let is_on = |level, name| sys::option(fd, level, name).unwrap_or(0) != 0;
        let no_delay = is_on(libc::IPPROTO_TCP, libc::TCP_NODELAY);
        options.no_delay.store(no_delay, Ordering::Relaxed);
        let keep_alive = is_on(libc::SOL_SOCKET, libc::SO_KEEPALIVE);
        options.keep_alive.store(keep_alive, Ordering::Relaxed);
        if let Some([on, seconds]) = sys::pair::<c_int>(fd, libc::SO_LINGER) {
            let on = on != 0;
            *lock(&options.linger) = Linger { on, seconds };
        }
        options
    }

    /// The same ones, for another socket.
    pub fn copy(&self) -> Options {
        let copy = Options::default();
        copy.receive_timeout.set(self.receive_timeout.get());
        copy.send_timeout.set(self.send_timeout.get());
        let flags = [
            (&self.no_delay, &copy.no_delay),
            (&self.keep_alive, &copy.keep_alive),
        ];
        for (from, to) in flags {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        *lock(&copy.linger) = *lock(&self.linger);
        copy
    }

    /// Tells them to the engine for a connection that begins.
    pub fn apply(&self, link: &Link) {
        // A connection that is over already says so when it is used.
        if self.no_delay.load(Ordering::Relaxed) {
            let _ = link.set_nodelay(true);
        }
        if self.keep_alive.load(Ordering::Relaxed) {
            let _ = link.set_keepalive(true);
        }
    }

    /// Whether closing resets.
    pub fn resets(&self) -> bool {
        lock(&self.linger).resets()
    }
}

/// The value of an option that the stack knows better than the kernel.
pub fn get(socket: &Socket, level: c_int, name: c_int) -> Option<Vec<u8>> {
    let options = &socket.options;
    let number = |number: c_int| Some(number.to_ne_bytes().to_vec());
    let flag = |flag: &AtomicBool| number(flag.load(Ordering::Relaxed).into());
    let time = |time: Duration| {
        let parts = [time.as_secs() as libc::c_long, time.subsec_micros().into()];
        Some(parts.iter().flat_map(|part| part.to_ne_bytes()).collect())
    };
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => number(socket.take_error().unwrap_or(0)),
        (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => number(socket.is_listening().into()),
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => time(options.receive_timeout.get()),
        (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => time(options.send_timeout.get()),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => flag(&options.keep_alive),
        (libc::SOL_SOCKET, libc::SO_LINGER) => Some(lock(&options.linger).encode().into()),
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => flag(&options.no_delay),
        (libc::IPPROTO_TCP, libc::TCP_INFO) => Some(tcp_info::encode(socket.link().ok()).into()),
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => {
            let described = socket.link().ok()?.describe().ok()?;
            number(described.segment.try_into().unwrap_or(c_int::MAX))
        }
        _ => None,
    }
}

/// Sets an option that means something to the stack. False if it means nothing: the kernel's socket keeps it.
pub fn set(socket: &Socket, level: c_int, name: c_int, value: &[u8]) -> Result<bool, Errno> {
    let options = &socket.options;
    let is_on = || {
        let number = program::options::number(value);
        number.map(|number| number != 0).ok_or(libc::EINVAL)
    };
    let long = |at: usize| {
        let bytes = value.get(8 * at..8 * at + 8)?;
        Some(i64::from_ne_bytes(bytes.try_into().ok()?).max(0) as u64)
    };
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO) => {
            let (seconds, micros) = (long(0).ok_or(libc::EINVAL)?, long(1).ok_or(libc::EINVAL)?);
            let time = Duration::from_secs(seconds) + Duration::from_micros(micros);
            match name {
                libc::SO_RCVTIMEO => options.receive_timeout.set(time),
                _ => options.send_timeout.set(time),
            }
        }
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => {
            options.no_delay.store(is_on()?, Ordering::Relaxed);
        }
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => {
            options.keep_alive.store(is_on()?, Ordering::Relaxed);
        }
        (libc::SOL_SOCKET, libc::SO_LINGER) => {
            *lock(&options.linger) = Linger::decode(value).ok_or(libc::EINVAL)?;
        }
        // Datagrams in one call are not taken apart, as there is no memory of how long each would be.
        (libc::SOL_UDP, _) => return Err(libc::ENOPROTOOPT),
        _ => return Ok(false),
    }
    if let Ok(link) = socket.link()
        && let Some(choice) = choice(level, name, is_on()?)
    {
        link.choose_without_reply(choice);
    }
    Ok(true)
}
