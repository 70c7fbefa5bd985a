//! `packet:INTERFACE`: an interface of the kernel through a packet socket. The kernel's own stack sees its packets too.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::specification::{Arguments, Open, SpecificationError, interface_name};
use super::system::{Interface, bind_packet_socket, write_packet};
use super::tun::{gone, lost, receive_with_header, sent};
use super::{Capabilities, Count, Device, Entry, LARGEST, Medium, virtio};
use crate::packet::{Offload, Outgoing};

pub(super) const ENTRY: Entry = Entry {
    kind: "packet",
    syntax: "packet:INTERFACE[,offload=on|off]",
    about: "an interface of Ethernet through a packet socket",
    options: &["offload"],
    computes: false,
    parse,
};

fn parse(name: &str, arguments: &Arguments<'_>) -> Result<Open, SpecificationError> {
    let name = interface_name(name)?;
    let offload = arguments.switch("offload", true)?;
    Ok(Arc::new(move |_| {
        Ok(Box::new(Packet::open(&name, offload)?))
    }))
}

#[derive(Debug)]
struct Packet {
    socket: OwnedFd,
    interface: Interface,
    index: i32,
    capabilities: Capabilities,
    lost: u64,
    buffer: Box<[u8]>,
}

impl Packet {
    fn open(name: &str, offload: bool) -> io::Result<Packet> {
        let interface = Interface::new(name)?;
        let mtu = interface.mtu()?;
        let largest = if offload { 65_535 } else { u32::from(mtu) };
        let capabilities = Capabilities {
            medium: Medium::Ethernet(interface.hardware_address()?),
            mtu,
            tcp_segments: largest,
            udp_segments: largest,
            checksums: offload,
        };
        // A protocol of 0: nothing is received before the socket is bound to the interface.
        let socket = socket_with(
            AddressFamily::PACKET,
            SocketType::RAW,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        let index = interface.index()?;
        bind_packet_socket(socket.as_fd(), index)?;
        Ok(Packet {
            socket,
            interface,
            index,
            capabilities,
            lost: 0,
            buffer: vec![0; virtio::LEN + LARGEST].into(),
        })
    }
}

impl Device for Packet {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        let Packet {
            socket,
            interface,
            index,
            buffer,
            ..
        } = self;
        let down = || match interface.index() {
            Ok(now) if now == *index => Ok(()),
            _ => Err(gone()),
        };
        receive_with_header(socket.as_fd(), buffer, limit, each, down)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let header = virtio::encode(&packet, self.capabilities.medium);
        let result = write_packet(self.socket.as_fd(), &header, &packet);
        sent(result, &mut self.lost)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn counts(&self, to: &mut Vec<Count>) {
        to.push(lost(self.lost));
    }
}
