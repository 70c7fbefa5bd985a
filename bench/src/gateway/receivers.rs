//! Clients of a gateway, which receive and throw away. One of them may look at the times in what it gets.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, recv};
use serde::{Deserialize, Serialize};

use super::content::MARK;
use super::part::Told;
use super::sender::now;

/// How long a client may take to connect.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that are thrown away in a call.
const CALL: usize = 1 << 20;
const EVENTS: usize = 256;

/// Who asks for what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The gateway.
    pub gateway: SocketAddr,
    /// What each client asks for.
    pub paths: Vec<String>,
    /// So many of the last read nothing but the head.
    pub stuck: usize,
    /// Of the first, when what it gets was sent is looked at.
    pub timed: bool,
    /// Times are those of datagrams that come to this address, without a gateway.
    pub direct: Option<SocketAddr>,
}

/// What they got.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Got {
    /// Clients that have connected.
    pub connected: u64,
    /// Clients whose response has begun.
    pub begun: u64,
    /// Clients whose response has ended.
    pub ended: u64,
    /// Bytes of bodies, of all that are not stuck.
    pub bytes: u64,
    /// Bytes of the one that got least.
    pub least: u64,
    /// Microseconds from sending to receiving that the half and 99 % are below, since the last question.
    pub delay: [f64; 2],
}

struct Client {
    stream: TcpStream,
    head: Option<Vec<u8>>,
}

#[derive(Default)]
struct Shared {
    connected: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    bytes: Vec<AtomicU64>,
    delays: Mutex<Vec<u64>>,
}

impl Shared {
    fn got(&self) -> Got {
        let each = || self.bytes.iter().map(|bytes| bytes.load(Ordering::Relaxed));
        let mut delays =
            std::mem::take(&mut *self.delays.lock().unwrap_or_else(|e| e.into_inner()));
        delays.sort_unstable();
        let below = |part: f64| {
            let at = (delays.len() as f64 * part) as usize;
            delays.get(at).map_or(0.0, |&delay| delay as f64 / 1e3)
        };
        Got {
            connected: self.connected.load(Ordering::Relaxed),
            begun: self.begun.load(Ordering::Relaxed),
            ended: self.ended.load(Ordering::Relaxed),
            bytes: each().sum(),
            least: each().min().unwrap_or_default(),
            delay: [below(0.5), below(0.99)],
        }
    }

    fn timed(&self, bytes: &[u8]) {
        let now = now();
        let mut delays = self.delays.lock().unwrap_or_else(|e| e.into_inner());
        let mut rest = bytes;
        while let Some(at) = find(rest, &MARK) {
            rest = &rest[at + MARK.len()..];
            if let Some(time) = rest.first_chunk() {
                delays.push(now.saturating_sub(u64::from_be_bytes(*time)));
            }
        }
    }
}

/// Where `what` begins in `bytes`. It lies at the end of a packet, so only its first byte has to be looked for.
fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        from += bytes[from..].iter().position(|&byte| byte == what[0])?;
        if bytes[from..].starts_with(what) {
            return Some(from);
        }
        from += 1;
    }
}

/// Receives until it is told to end.
pub fn run(task: Task) -> io::Result<()> {
    let told = Told::default();
    let reading = task.paths.len() - task.stuck;
    let shared = Shared {
        bytes: (0..reading).map(|_| AtomicU64::new(0)).collect(),
        ..Shared::default()
    };
    evener_sockets::raise_file_limit();
    told.answer(
        || shared.got(),
        || match task.direct {
            Some(address) => direct(address, &told, &shared),
            None => clients(&task, &told, &shared),
        },
    )
}

fn direct(address: SocketAddr, told: &Told, shared: &Shared) -> io::Result<()> {
    let socket = UdpSocket::bind(address)?;
    if let IpAddr::V4(group) = address.ip()
        && group.is_multicast()
    {
        socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
    }
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut bytes = vec![0; 1 << 16];
    while !told.ends() {
        if let Ok(len) = socket.recv(&mut bytes) {
            shared.timed(&bytes[..len]);
        }
    }
    Ok(())
}

fn clients(task: &Task, told: &Told, shared: &Shared) -> io::Result<()> {
    let mut clients = Vec::new();
    for path in &task.paths {
        let mut stream = TcpStream::connect_timeout(&task.gateway, PATIENCE)?;
        // Its port is free as soon as it ends: thousands of clients in several rounds would wait for all there are.
        set_socket_linger(&stream, Some(Duration::ZERO))?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
        stream.set_nonblocking(true)?;
        let head = Some(Vec::new());
        clients.push(Client { stream, head });
        shared.connected.fetch_add(1, Ordering::Relaxed);
    }
    let (timed, rest) = clients.split_at_mut(usize::from(task.timed));
    thread::scope(|scope| {
        let timed = timed.first_mut().map(|client| {
            scope.spawn(move || receive(std::slice::from_mut(client), 0, told, shared, true))
        });
        receive(rest, usize::from(task.timed), told, shared, false)?;
        timed.map_or(Ok(()), |timed| {
            timed.join().expect("the thread does not panic")
        })
    })
}

/// Receives for clients whose numbers begin with `first`.
fn receive(
    clients: &mut [Client],
    first: usize,
    told: &Told,
    shared: &Shared,
    timed: bool,
) -> io::Result<()> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (number, client) in clients.iter().enumerate() {
        let data = EventData::new_u64(number as u64);
        epoll::add(&epoll, &client.stream, data, EventFlags::IN)?;
    }
    let mut bytes = vec![0; CALL];
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
    let timeout = Timespec::try_from(Duration::from_millis(20)).unwrap_or_default();
    while !told.ends() {
        events.clear();
        match epoll::wait(
            &epoll,
            rustix::buffer::spare_capacity(&mut events),
            Some(&timeout),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = event.data.u64() as usize;
            let client = &mut clients[number];
            let stuck = first + number >= shared.bytes.len();
            let count = match &mut client.head {
                Some(head) => {
                    let len = match client.stream.read(&mut bytes) {
                        Ok(0) | Err(_) => None,
                        Ok(len) => Some(len),
                    };
                    head.extend_from_slice(&bytes[..len.unwrap_or(0)]);
                    match find(head, b"\r\n\r\n") {
                        Some(at) => {
                            let body = head.len() - at - 4;
                            shared.begun.fetch_add(1, Ordering::Relaxed);
                            client.head = None;
                            if stuck {
                                epoll::delete(&epoll, &client.stream)?;
                            }
                            Some(body)
                        }
                        None => len.map(|_| 0),
                    }
                }
                None if timed => match client.stream.read(&mut bytes) {
                    Ok(0) | Err(_) => None,
                    Ok(len) => {
                        shared.timed(&bytes[..len]);
                        Some(len)
                    }
                },
                None => match recv(&client.stream, &mut bytes[..], RecvFlags::TRUNC) {
                    Ok((_, 0)) | Err(_) => None,
                    Ok((_, len)) => Some(len),
                },
            };
            match count {
                Some(count) if !stuck => {
                    shared.bytes[first + number].fetch_add(count as u64, Ordering::Relaxed);
                }
                Some(_) => {}
                None => {
                    shared.ended.fetch_add(1, Ordering::Relaxed);
                    epoll::delete(&epoll, &client.stream)?;
                }
            }
        }
    }
    Ok(())
}
