//! The least that a gateway can do with the kernel's sockets: datagrams of each address, in batches, without their headers
//! to the clients that asked for it. Nothing is put in order, kept or looked at.

use std::collections::HashMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use serde::{Deserialize, Serialize};

use super::content::HEADER;
use super::part::Told;

const LISTENER: u64 = u64::MAX;
const EVENTS: usize = 256;
/// Bytes of the largest datagram.
const LARGEST: usize = 2048;
/// Bytes that the kernel keeps for a socket.
const QUEUE: usize = 4 << 20;
const HEAD: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n";

/// How it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Where clients come to.
    pub listen: SocketAddr,
    /// Microseconds that it waits before it looks for datagrams again, in which more may come.
    pub pause: u64,
}

struct Source {
    socket: UdpSocket,
    state: UdpSocketState,
    clients: Vec<TcpStream>,
}

/// Serves until it is told to end.
pub fn run(task: &Task) -> io::Result<()> {
    let told = Told::default();
    told.answer(|| (), || serve(task, &told))
}

fn serve(task: &Task, told: &Told) -> io::Result<()> {
    let listener = TcpListener::bind(task.listen)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(
        &epoll,
        &listener,
        EventData::new_u64(LISTENER),
        EventFlags::IN,
    )?;
    let (mut sources, mut names) = (Vec::new(), HashMap::new());
    let mut buffers = vec![vec![0u8; LARGEST]; BATCH_SIZE];
    let mut metas = vec![RecvMeta::default(); BATCH_SIZE];
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
    let timeout = Timespec::try_from(Duration::from_millis(20)).unwrap_or_default();
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    while !told.ends() {
        if task.pause > 0 {
            std::thread::sleep(Duration::from_micros(task.pause));
        }
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
            if event.data.u64() == LISTENER {
                // One that only looked whether it can connect.
                let Ok((client, address)) = accept(&listener) else {
                    continue;
                };
                let number = match names.get(&address) {
                    Some(&number) => number,
                    None => {
                        let source = Source::open(address)?;
                        let number = sources.len();
                        epoll::add(
                            &epoll,
                            &source.socket,
                            EventData::new_u64(number as u64),
                            EventFlags::IN,
                        )?;
                        sources.push(source);
                        names.insert(address, number);
                        number
                    }
                };
                sources[number].clients.push(client);
            } else {
                sources[event.data.u64() as usize].forward(&mut buffers, &mut metas)?;
            }
        }
    }
    Ok(())
}

fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (mut client, _) = listener.accept()?;
    let mut request = [0; 256];
    let len = client.read(&mut request)?;
    let text = String::from_utf8_lossy(&request[..len]);
    let address = text
        .split("/rtp/")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let address = address.and_then(|address| address.parse().ok());
    let address = address.ok_or_else(|| io::Error::other("no address is asked for"))?;
    client.write_all(HEAD)?;
    client.set_nodelay(true)?;
    client.set_nonblocking(true)?;
    Ok((client, address))
}

impl Source {
    fn open(address: SocketAddr) -> io::Result<Source> {
        let socket = UdpSocket::bind(address)?;
        if let SocketAddr::V4(address) = address
            && address.ip().is_multicast()
        {
            socket.join_multicast_v4(address.ip(), &Ipv4Addr::UNSPECIFIED)?;
        }
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), QUEUE);
        Ok(Source {
            socket,
            state,
            clients: Vec::new(),
        })
    }

    fn forward(&mut self, buffers: &mut [Vec<u8>], metas: &mut [RecvMeta]) -> io::Result<()> {
        let mut iter = buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = std::array::from_fn(|_| {
            IoSliceMut::new(iter.next().map_or(&mut [], |buffer| &mut buffer[..]))
        });
        let count = match self
            .state
            .recv(UdpSockRef::from(&self.socket), &mut slices, metas)
        {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut out = [IoSlice::new(&[]); BATCH_SIZE];
        for ((slice, buffer), meta) in out
            .iter_mut()
            .zip(buffers.iter())
            .zip(metas.iter())
            .take(count)
        {
            *slice = IoSlice::new(&buffer[HEADER.min(meta.len)..meta.len]);
        }
        for client in &mut self.clients {
            // A client that takes less loses the rest.
            let _ = client.write_vectored(&out[..count]);
        }
        Ok(())
    }
}
