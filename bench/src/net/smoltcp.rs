//! smoltcp over the same devices: a peer.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::time::Instant;

use evener_net::device::Device;
use evener_net::memory::Shared;
use evener_net::packet::{Offload, Outgoing};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, Checksum, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::Instant as Moment;
use smoltcp::wire::{HardwareAddress, IpCidr};

/// Packets that are taken from the device at a time.
const BATCH: usize = 64;
/// Turns between two looks at the time.
const TURNS: u32 = 64;

struct Link {
    device: Box<dyn Device>,
    received: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    outgoing: Vec<u8>,
    mtu: usize,
    /// The device knows that checksums are right where the kernel has not completed them.
    checksums: bool,
}

struct Received<'a>(Vec<u8>, &'a mut Vec<Vec<u8>>);
struct Send<'a>(&'a mut Box<dyn Device>, &'a mut [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let result = f(&self.0);
        self.1.push(self.0);
        result
    }
}

impl phy::TxToken for Send<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let result = f(&mut self.1[..len]);
        let packet = Outgoing {
            header: &self.1[..len],
            payload: [Shared::EMPTY; 2],
            offload: Offload::default(),
        };
        // A packet that does not go out is lost, as on any path.
        let _ = self.0.send(packet);
        result
    }
}

impl phy::Device for Link {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Send<'a>;

    fn receive(&mut self, _now: Moment) -> Option<(Received<'_>, Send<'_>)> {
        if self.received.is_empty() {
            let (received, spare) = (&mut self.received, &mut self.spare);
            let _ = self.device.receive(BATCH, &mut |bytes, _| {
                let mut packet = spare.pop().unwrap_or_default();
                packet.clear();
                packet.extend_from_slice(bytes);
                received.push_back(packet);
            });
        }
        let packet = self.received.pop_front()?;
        Some((
            Received(packet, &mut self.spare),
            Send(&mut self.device, &mut self.outgoing),
        ))
    }

    fn transmit(&mut self, _now: Moment) -> Option<Send<'_>> {
        Some(Send(&mut self.device, &mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        if self.checksums {
            capabilities.checksum.tcp = Checksum::Tx;
        }
        capabilities
    }
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads all that comes.
    Sink,
    /// Writes whenever there is room.
    Source,
    /// Sends back what comes.
    Echo,
}

/// Listens at `port` while `goes_on`, which is asked now and then, and returns the bytes that came.
///
/// # Errors
/// What the device says.
pub fn serve(
    device: Box<dyn Device>,
    address: IpAddr,
    port: u16,
    ring: usize,
    work: Work,
    mut goes_on: impl FnMut() -> bool,
) -> io::Result<u64> {
    let begun = Instant::now();
    let moment = || Moment::from_micros(begun.elapsed().as_micros() as i64);
    let (mtu, checksums) = (
        usize::from(device.capabilities().mtu),
        device.capabilities().checksums,
    );
    let mut link = Link {
        device,
        received: VecDeque::new(),
        spare: Vec::new(),
        outgoing: vec![0; 1 << 16],
        mtu,
        checksums,
    };
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut link, moment());
    interface.update_ip_addrs(|addresses| {
        let added = addresses.push(IpCidr::new(address.into(), 24));
        added.expect("room for an address");
    });
    let mut sockets = SocketSet::new(Vec::new());
    let buffer = || tcp::SocketBuffer::new(vec![0; ring]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.set_nagle_enabled(false);
    socket.set_ack_delay(None);
    socket.listen(port).map_err(io::Error::other)?;
    let handle: SocketHandle = sockets.add(socket);
    let mut received = 0;
    let mut bytes = vec![0x5a; 64 << 10];
    while goes_on() {
        for _ in 0..TURNS {
            interface.poll(moment(), &mut link, &mut sockets);
            let socket = sockets.get_mut::<tcp::Socket<'_>>(handle);
            match work {
                Work::Sink => {
                    while let Ok(len @ 1..) = socket.recv_slice(&mut bytes) {
                        received += len as u64;
                    }
                }
                Work::Source => while let Ok(1..) = socket.send_slice(&bytes) {},
                Work::Echo => {
                    while let Ok(len @ 1..) = socket.recv_slice(&mut bytes) {
                        let _ = socket.send_slice(&bytes[..len]);
                    }
                }
            }
        }
    }
    Ok(received)
}
