//! What interfaces are told by netlink (RFC 3549): the owner of a network namespace may do so, where an `ioctl` asks for
//! the rights of the whole machine.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, sendto, socket_with};

const RTM_NEWLINK: u16 = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
/// Bytes of `nlmsghdr`, `ifinfomsg` and an attribute of four bytes.
const HEADER: usize = 16;
const LINK: usize = 16;
const ATTRIBUTE: usize = 8;

/// Sets how many packets wait at most in the interface of that number.
///
/// # Errors
/// What the kernel answers.
pub(super) fn set_queue_len(interface: i32, packets: u16) -> io::Result<()> {
    let mut message = Vec::with_capacity(HEADER + LINK + ATTRIBUTE);
    message.extend(((HEADER + LINK + ATTRIBUTE) as u32).to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message.extend([0; 8]);
    // Family, padding and type; the number; flags, and none of them to be changed.
    message.extend([0; 4]);
    message.extend(interface.to_ne_bytes());
    message.extend([0; 8]);
    message.extend((ATTRIBUTE as u16).to_ne_bytes());
    message.extend(IFLA_TXQLEN.to_ne_bytes());
    message.extend(u32::from(packets).to_ne_bytes());

    // No protocol is that of routes and links.
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    sendto(
        &socket,
        &message,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = [0; 256];
    let (len, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    acknowledged(&answer[..len])
}

fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is none");
    let kind = answer.get(4..6).ok_or_else(wrong)?;
    let error = answer.get(HEADER..HEADER + 4).ok_or_else(wrong)?;
    if kind != NLMSG_ERROR.to_ne_bytes() {
        return Err(wrong());
    }
    match i32::from_ne_bytes([error[0], error[1], error[2], error[3]]) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(set_queue_len(i32::MAX, 100).is_err());
        assert!(acknowledged(&[]).is_err());
    }
}
