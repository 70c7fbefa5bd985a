//! Sends the same stream to many addresses, evenly: datagrams of each are as far apart as the rate says, and those of
//! different addresses lie between.

use std::io::{self, IoSlice, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::addr::SocketAddrArg;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::content::{Content, HEADER, PAYLOAD};
use super::part::Told;

/// The shortest sleep: several datagrams go out after each where there are many addresses.
const SLEEP: Duration = Duration::from_micros(40);
/// Datagrams of a call.
const CALL: usize = 64;

/// What to send.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Where to.
    pub to: Vec<SocketAddr>,
    /// Bits of the stream a second, for each.
    pub bits: f64,
    /// One stream goes in a request to this address and path instead, without RTP.
    pub post: Option<(SocketAddr, String)>,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Datagrams to each address.
    pub datagrams: u64,
    /// How far it was behind at most, in microseconds.
    pub behind: u64,
}

/// Nanoseconds on the clock that all processes share.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sends from when it is told to begin until it is told to end.
pub fn run(task: Task) -> io::Result<()> {
    let told = Told::default();
    let (datagrams, behind) = (AtomicU64::new(0), AtomicU64::new(0));
    let state = || Sent {
        datagrams: datagrams.load(Ordering::Relaxed),
        behind: behind.swap(0, Ordering::Relaxed),
    };
    told.answer(state, || {
        // Otherwise each sleep is 50 µs longer.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        while !told.begins() {
            if told.ends() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        match &task.post {
            Some((to, path)) => post(&task, *to, path, &told, &datagrams),
            None => send(&task, &told, &datagrams, &behind),
        }
    })
}

fn send(task: &Task, told: &Told, datagrams: &AtomicU64, behind: &AtomicU64) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let to: Vec<_> = task.to.iter().map(SocketAddrArg::as_any).collect();
    let step = PAYLOAD as f64 * 8.0 / task.bits / to.len() as f64;
    let mut content = Content::new(task.bits);
    let begun = Instant::now();
    let mut done = 0;
    loop {
        let (datagram, place) = content.next();
        // One datagram to each address, as far as they are due.
        let mut next = 0;
        while next < to.len() {
            let due = (begun.elapsed().as_secs_f64() / step) as u64 + 1;
            let count = due.saturating_sub(done).min(CALL as u64) as usize;
            let count = count.min(to.len() - next);
            if count == 0 {
                if told.ends() {
                    return Ok(());
                }
                let wait =
                    Duration::from_secs_f64(step * (done as f64)).saturating_sub(begun.elapsed());
                thread::sleep(wait.max(SLEEP));
                continue;
            }
            let late = begun.elapsed().as_secs_f64() - done as f64 * step;
            behind.fetch_max((late * 1e6) as u64, Ordering::Relaxed);
            if let Some(place) = place {
                datagram[place..place + 8].copy_from_slice(&now().to_be_bytes());
            }
            let slices = [IoSlice::new(datagram)];
            let mut controls: [_; CALL] = std::array::from_fn(|_| SendAncillaryBuffer::default());
            let mut messages: Vec<MMsgHdr<'_>> = (to[next..next + count].iter().zip(&mut controls))
                .map(|(to, control)| MMsgHdr::new_with_addr(to, &slices, control))
                .collect();
            let sent = sendmmsg(&socket, &mut messages, SendFlags::empty())?;
            done += sent as u64;
            next += sent;
        }
        datagrams.fetch_add(1, Ordering::Relaxed);
    }
}

fn post(
    task: &Task,
    to: SocketAddr,
    path: &str,
    told: &Told,
    datagrams: &AtomicU64,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let len = 1u64 << 40;
    let head = format!("POST {path} HTTP/1.1\r\nHost: {to}\r\nContent-Length: {len}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let step = PAYLOAD as f64 * 8.0 / task.bits;
    let mut content = Content::new(task.bits);
    let begun = Instant::now();
    for number in 0.. {
        let due = Duration::from_secs_f64(step * f64::from(number));
        thread::sleep(due.saturating_sub(begun.elapsed()));
        if told.ends() {
            break;
        }
        stream.write_all(&content.next().0[HEADER..])?;
        datagrams.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
