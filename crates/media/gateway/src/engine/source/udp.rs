//! Sockets that datagrams come to, in batches.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::{Bytes, BytesMut};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

/// Bytes of the largest datagram, or of those that the kernel has put together.
const LARGEST: usize = 1 << 16;
/// Bytes that the kernel keeps for a socket: a key picture of 4 MB/s video and more.
const QUEUE: usize = 4 << 20;

/// Buffers that all sockets of an engine receive into.
pub struct Batch {
    buffers: Vec<Box<[u8]>>,
    metas: Vec<RecvMeta>,
}

impl Batch {
    /// Without anything.
    pub fn new() -> Batch {
        Batch {
            buffers: (0..BATCH_SIZE).map(|_| vec![0; LARGEST].into()).collect(),
            metas: vec![RecvMeta::default(); BATCH_SIZE],
        }
    }
}

/// A socket of UDP.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Udp {
    /// Bound to an address. A multicast group is joined; other programs may be bound to it too.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn bind(local: SocketAddr) -> io::Result<Udp> {
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if local.ip().is_multicast() {
            socket.set_reuse_address(true)?;
        }
        socket.bind(&local.into())?;
        match local.ip() {
            IpAddr::V4(group) if group.is_multicast() => {
                socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
            }
            IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, 0)?,
            _ => {}
        }
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // The kernel gives what it allows.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), QUEUE);
        Ok(Udp { socket, state })
    }

    /// Its address.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends a datagram, or loses it.
    pub fn send(&self, to: SocketAddr, bytes: &[u8]) {
        let _ = self.socket.send_to(bytes, to);
    }

    /// Hands what has come to `each`, a datagram at a time, with the sender; at most a batch. Returns whether there may be
    /// more.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn receive(
        &self,
        batch: &mut Batch,
        mut each: impl FnMut(SocketAddr, Bytes),
    ) -> io::Result<bool> {
        let count = {
            let mut buffers = batch.buffers.iter_mut();
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = std::array::from_fn(|_| {
                IoSliceMut::new(buffers.next().map_or(&mut [], |buffer| &mut buffer[..]))
            });
            self.state.recv(
                UdpSockRef::from(&self.socket),
                &mut slices,
                &mut batch.metas,
            )
        };
        let count = match count {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // An answer of an earlier datagram, which says nothing of what comes.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        };
        // All in one piece of memory: the less there are of these, the less has to be found in memory to give them back.
        let metas = &batch.metas[..count];
        let mut all = BytesMut::with_capacity(metas.iter().map(|meta| meta.len).sum());
        for (meta, buffer) in metas.iter().zip(&batch.buffers) {
            all.extend_from_slice(&buffer[..meta.len]);
        }
        let mut all = all.freeze();
        for meta in metas {
            let mut bytes = all.split_to(meta.len);
            while !bytes.is_empty() {
                let len = bytes.len().min(meta.stride.max(1));
                each(meta.addr, bytes.split_to(len));
            }
        }
        Ok(count == BATCH_SIZE)
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn datagrams_come_in_order_and_whole() {
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let to = Udp::bind(loopback(0)).unwrap();
        let from = UdpSocket::bind(loopback(0)).unwrap();
        let address = to.local().unwrap();
        let sent: Vec<Vec<u8>> = (0..200usize).map(|n| vec![n as u8; 1 + n * 7]).collect();
        for bytes in &sent {
            from.send_to(bytes, address).unwrap();
        }
        let (mut batch, mut got) = (Batch::new(), Vec::new());
        let begun = Instant::now();
        while got.len() < sent.len() && begun.elapsed() < Duration::from_secs(5) {
            let sender = from.local_addr().unwrap();
            to.receive(&mut batch, |from, bytes| {
                assert_eq!(from, sender);
                got.push(bytes.to_vec());
            })
            .unwrap();
        }
        assert_eq!(got, sent);
        assert!(
            !to.receive(&mut batch, |_, _| panic!("nothing was sent"))
                .unwrap()
        );
    }
}
