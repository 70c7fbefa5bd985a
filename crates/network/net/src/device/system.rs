//! Calls of the operating system that take pointers: settings of network interfaces and sockets, gathered writes.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::{Prefix, netlink};
use crate::packet::Outgoing;

/// `struct ifreq`: a name, and a value whose layout the request decides.
#[repr(C, align(8))]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; 24],
}

/// `struct in6_ifreq`.
#[repr(C)]
struct AddressRequest {
    address: [u8; 16],
    prefix_len: u32,
    index: i32,
}

impl InterfaceRequest {
    fn new(name: &str, value: &[u8]) -> InterfaceRequest {
        let mut request = InterfaceRequest {
            name: [0; libc::IFNAMSIZ],
            value: [0; 24],
        };
        // The last byte stays 0.
        for (to, byte) in request.name.iter_mut().take(15).zip(name.bytes()) {
            *to = byte;
        }
        request.value[..value.len()].copy_from_slice(value);
        request
    }

    /// # Safety
    /// The request is one that takes a `struct ifreq`.
    unsafe fn call(mut self, fd: BorrowedFd<'_>, request: libc::Ioctl) -> io::Result<[u8; 24]> {
        // SAFETY: the pointer is to what the request takes, which lives through the call.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut self) })?;
        Ok(self.value)
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn int(value: [u8; 24]) -> i32 {
    i32::from_ne_bytes([value[0], value[1], value[2], value[3]])
}

/// A network interface, and the socket through which it is set.
#[derive(Debug)]
pub(super) struct Interface {
    name: String,
    socket: OwnedFd,
}

impl Interface {
    pub(super) fn new(name: &str) -> io::Result<Interface> {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok(Interface {
            name: name.into(),
            socket,
        })
    }

    fn call(&self, request: libc::Ioctl, value: &[u8]) -> io::Result<[u8; 24]> {
        // SAFETY: the callers below name requests of interfaces, and all of them take a `struct ifreq`.
        unsafe { InterfaceRequest::new(&self.name, value).call(self.socket.as_fd(), request) }
    }

    pub(super) fn index(&self) -> io::Result<i32> {
        self.call(libc::SIOCGIFINDEX as libc::Ioctl, &[]).map(int)
    }

    pub(super) fn mtu(&self) -> io::Result<u16> {
        let mtu = self.call(libc::SIOCGIFMTU as libc::Ioctl, &[]).map(int)?;
        Ok(u16::try_from(mtu).unwrap_or(u16::MAX))
    }

    pub(super) fn set_mtu(&self, mtu: u16) -> io::Result<()> {
        self.call(
            libc::SIOCSIFMTU as libc::Ioctl,
            &i32::from(mtu).to_ne_bytes(),
        )?;
        Ok(())
    }

    pub(super) fn set_queue_len(&self, packets: u16) -> io::Result<()> {
        netlink::set_queue_len(self.index()?, packets)
    }

    /// The address of Ethernet.
    pub(super) fn hardware_address(&self) -> io::Result<[u8; 6]> {
        let value = self.call(libc::SIOCGIFHWADDR as libc::Ioctl, &[])?;
        let (family, address) = (u16::from_ne_bytes([value[0], value[1]]), &value[2..8]);
        if family != libc::ARPHRD_ETHER {
            let message = format!("{} is not an interface of Ethernet", self.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(std::array::from_fn(|at| address[at]))
    }

    pub(super) fn set_up(&self) -> io::Result<()> {
        let value = self.call(libc::SIOCGIFFLAGS as libc::Ioctl, &[])?;
        let flags = u16::from_ne_bytes([value[0], value[1]]) | libc::IFF_UP as u16;
        self.call(libc::SIOCSIFFLAGS as libc::Ioctl, &flags.to_ne_bytes())?;
        Ok(())
    }

    /// Whether it has an address of IPv4, with this network. One of IPv6 is not looked for.
    pub(super) fn has_address(&self, prefix: Prefix) -> bool {
        let IpAddr::V4(address) = prefix.address else {
            return false;
        };
        let asked = |request| {
            let value = self.call(request, &[]).ok()?;
            Some([value[4], value[5], value[6], value[7]])
        };
        let mask = u32::MAX
            .checked_shl(32 - u32::from(prefix.len))
            .unwrap_or(0);
        asked(libc::SIOCGIFADDR as libc::Ioctl) == Some(address.octets())
            && asked(libc::SIOCGIFNETMASK as libc::Ioctl) == Some(mask.to_be_bytes())
    }

    pub(super) fn set_address(&self, prefix: Prefix) -> io::Result<()> {
        match prefix.address {
            IpAddr::V4(address) => {
                self.call(
                    libc::SIOCSIFADDR as libc::Ioctl,
                    &socket_address(address.octets()),
                )?;
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(prefix.len))
                    .unwrap_or(0);
                self.call(
                    libc::SIOCSIFNETMASK as libc::Ioctl,
                    &socket_address(mask.to_be_bytes()),
                )?;
                Ok(())
            }
            IpAddr::V6(address) => {
                let family = AddressFamily::INET6;
                let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
                let request = AddressRequest {
                    address: address.octets(),
                    prefix_len: u32::from(prefix.len),
                    index: self.index()?,
                };
                // SAFETY: of a socket of IPv6 this request takes a `struct in6_ifreq`, which is only read.
                check(unsafe {
                    libc::ioctl(
                        socket.as_raw_fd(),
                        libc::SIOCSIFADDR as libc::Ioctl,
                        &raw const request,
                    )
                })
            }
        }
    }
}

/// `struct sockaddr_in`, up to the address.
fn socket_address(address: [u8; 4]) -> [u8; 8] {
    let [a, b] = (libc::AF_INET as u16).to_ne_bytes();
    let [c, d, e, f] = address;
    [a, b, 0, 0, c, d, e, f]
}

/// Makes a file of `/dev/net/tun` the interface `name`, with flags `IFF_…`.
pub(super) fn set_tun_interface(fd: BorrowedFd<'_>, name: &str, flags: u16) -> io::Result<()> {
    let request = InterfaceRequest::new(name, &flags.to_ne_bytes());
    // SAFETY: this request takes a `struct ifreq`.
    unsafe { request.call(fd, libc::TUNSETIFF as libc::Ioctl) }?;
    Ok(())
}

/// Says what the reader of a TUN takes: `TUN_F_…`.
pub(super) fn set_tun_offload(fd: BorrowedFd<'_>, features: libc::c_uint) -> io::Result<()> {
    // SAFETY: this request takes a number.
    check(unsafe {
        libc::ioctl(
            fd.as_raw_fd(),
            libc::TUNSETOFFLOAD as libc::Ioctl,
            libc::c_ulong::from(features),
        )
    })
}

/// Bytes of the header before each packet of a TUN.
pub(super) fn set_tun_header_len(fd: BorrowedFd<'_>, len: usize) -> io::Result<()> {
    let len = len as libc::c_int;
    // SAFETY: this request reads an int.
    check(unsafe {
        libc::ioctl(
            fd.as_raw_fd(),
            libc::TUNSETVNETHDRSZ as libc::Ioctl,
            &raw const len,
        )
    })
}

/// Sets an option of packet sockets to a value, which has the layout that the option takes.
///
/// # Safety
/// The option reads a `T`.
unsafe fn set_packet_option<T>(
    fd: BorrowedFd<'_>,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the pointer is to what the option reads, and has the length that is told.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Binds a packet socket to an interface, of which it then gets all packets for this machine, those of all groups
/// included, but not those that the machine sends.
pub(super) fn bind_packet_socket(fd: BorrowedFd<'_>, index: i32) -> io::Result<()> {
    // Numbers of linux/if_packet.h.
    const PACKET_VNET_HDR: libc::c_int = 15;
    const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

    for option in [PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING] {
        let on: libc::c_int = 1;
        // SAFETY: these options read an int.
        unsafe { set_packet_option(fd, option, &on) }?;
    }
    add_all_groups(fd, index)?;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: the address is that of a packet socket, and has the length that is told.
    check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    })
}

/// Has an interface take packets of all groups until the packet socket is closed.
fn add_all_groups(fd: BorrowedFd<'_>, index: i32) -> io::Result<()> {
    // Numbers and a structure of linux/if_packet.h.
    const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
    const PACKET_MR_ALLMULTI: u16 = 2;

    #[repr(C)]
    struct PacketMembership {
        index: i32,
        kind: u16,
        address_len: u16,
        address: [u8; 8],
    }
    let all_groups = PacketMembership {
        index,
        kind: PACKET_MR_ALLMULTI,
        address_len: 0,
        address: [0; 8],
    };
    // SAFETY: this option reads a `struct packet_mreq`.
    unsafe { set_packet_option(fd, PACKET_ADD_MEMBERSHIP, &all_groups) }
}

/// The same, until what is returned is closed. It receives nothing.
pub(super) fn join_all_groups(index: i32) -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::PACKET, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::RAW, flags, None)?;
    add_all_groups(socket.as_fd(), index)?;
    Ok(socket)
}

/// Has a socket of UDP hand over several datagrams that came at once.
pub(super) fn join_udp_segments(fd: BorrowedFd<'_>) -> io::Result<()> {
    // Of linux/udp.h.
    const UDP_GRO: libc::c_int = 104;
    let on: libc::c_int = 1;
    // SAFETY: the option reads an int, and has the length that is told.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_UDP,
            UDP_GRO,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
}

/// Sends datagrams of `size` bytes, of which the last may have less, over a connected socket of UDP. It does not wait.
pub(super) fn send_udp_segments(fd: BorrowedFd<'_>, bytes: &[u8], size: u16) -> io::Result<()> {
    // Of linux/udp.h.
    const UDP_SEGMENT: libc::c_int = 103;

    /// `struct cmsghdr` with a number of two bytes, and what aligns the next.
    #[repr(C, align(8))]
    struct Control {
        len: usize,
        level: libc::c_int,
        kind: libc::c_int,
        size: u16,
    }
    let mut control = Control {
        len: std::mem::offset_of!(Control, size) + size_of::<u16>(),
        level: libc::IPPROTO_UDP,
        kind: UDP_SEGMENT,
        size,
    };
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: zeros are a message without an address and without anything else.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if bytes.len() > usize::from(size) {
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>() as _;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the message points to the bytes and the control message above, which live through the call and are only read.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, flags) };
    check(if sent < 0 { -1 } else { 0 })
}

/// Writes `front` and then a packet in one call, from where its bytes are.
pub(super) fn write_packet(
    fd: BorrowedFd<'_>,
    front: &[u8],
    packet: &Outgoing<'_>,
) -> io::Result<()> {
    let part = |pointer: *const u8, len| libc::iovec {
        iov_base: pointer.cast_mut().cast(),
        iov_len: len,
    };
    let [first, second] = packet.payload;
    let parts = [
        part(front.as_ptr(), front.len()),
        part(packet.header.as_ptr(), packet.header.len()),
        part(first.as_ptr(), first.len()),
        part(second.as_ptr(), second.len()),
    ];
    let count = if !second.is_empty() {
        4
    } else if !first.is_empty() {
        3
    } else {
        2
    };
    loop {
        // SAFETY: the first `count` parts are memory that lives through the call, and the system only reads it.
        let written = unsafe { libc::writev(fd.as_raw_fd(), parts.as_ptr(), count) };
        if written >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
