//! `tun:NAME` and `tap:NAME`: an interface of the kernel whose other end is here. It carries packets of IP, or frames.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::specification::{Arguments, Open, SpecificationError, interface_name};
use super::system::{
    Interface, set_tun_header_len, set_tun_interface, set_tun_offload, write_packet,
};
use super::{Capabilities, Count, Device, Entry, LARGEST, Medium, Prefix, virtio};
use crate::packet::{Offload, Outgoing};

const OPTIONS: &[&str] = &["addr", "mtu", "queue", "offload"];

pub(super) const TUN: Entry = Entry {
    kind: "tun",
    syntax: "tun:NAME[,addr=ADDRESS/PREFIX][,mtu=BYTES][,queue=PACKETS][,offload=on|off]",
    about: "an interface of the kernel that carries packets of IP; addr is the kernel's address",
    options: OPTIONS,
    computes: false,
    parse: |name, arguments| parse(name, arguments, libc::IFF_TUN),
};

pub(super) const TAP: Entry = Entry {
    kind: "tap",
    syntax: "tap:NAME[,addr=ADDRESS/PREFIX][,mtu=BYTES][,queue=PACKETS][,offload=on|off]",
    about: "an interface of the kernel that carries frames of Ethernet; addr is the kernel's address",
    options: OPTIONS,
    computes: false,
    parse: |name, arguments| parse(name, arguments, libc::IFF_TAP),
};

/// Packets that wait in the interface before it drops, if not said otherwise: there is no back-pressure, so all segments
/// of a large window must find room.
const QUEUE: u16 = 4096;

/// What the kernel may hand over without taking it apart, the most wanted first.
const FEATURES: [libc::c_uint; 3] = [
    libc::TUN_F_CSUM
        | libc::TUN_F_TSO4
        | libc::TUN_F_TSO6
        | libc::TUN_F_TSO_ECN
        | libc::TUN_F_USO4
        | libc::TUN_F_USO6,
    // Linux before 6.2.
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN,
    libc::TUN_F_CSUM,
];

#[derive(Clone, Debug)]
struct Options {
    name: String,
    mode: libc::c_int,
    address: Option<Prefix>,
    mtu: Option<u16>,
    queue: Option<u16>,
    offload: bool,
}

fn parse(
    name: &str,
    arguments: &Arguments<'_>,
    mode: libc::c_int,
) -> Result<Open, SpecificationError> {
    let queue = "a number of packets from 1 to 65535";
    if arguments.value("queue", queue)? == Some(0_u16) {
        return Err(SpecificationError::Value {
            option: "queue",
            value: "0".into(),
            expected: queue,
        });
    }
    let options = Options {
        name: interface_name(name)?,
        mode,
        address: arguments.address()?,
        mtu: arguments.mtu()?,
        queue: arguments.value("queue", queue)?,
        offload: arguments.switch("offload", true)?,
    };
    Ok(Arc::new(move |_| Ok(Box::new(Tun::open(&options)?))))
}

#[derive(Debug)]
struct Tun {
    file: File,
    capabilities: Capabilities,
    lost: u64,
    buffer: Box<[u8]>,
}

impl Tun {
    fn open(options: &Options) -> io::Result<Tun> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open("/dev/net/tun", flags, Mode::empty())?);
        let flags = options.mode | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        set_tun_interface(file.as_fd(), &options.name, flags as u16)
            .map_err(|error| explain(error, options))?;
        set_tun_header_len(file.as_fd(), virtio::LEN)?;
        let features = if options.offload {
            take_features(file.as_fd())?
        } else {
            set_tun_offload(file.as_fd(), 0)?;
            0
        };

        let interface = Interface::new(&options.name)?;
        set_up(&interface, options)?;
        let mtu = interface.mtu()?;
        let super_segments = |feature| match features & feature {
            0 => u32::from(mtu),
            _ => 65_535,
        };
        let medium = match options.mode {
            libc::IFF_TUN => Medium::Ip,
            _ => Medium::Ethernet(neighbour(interface.hardware_address()?)),
        };
        Ok(Tun {
            capabilities: Capabilities {
                medium,
                mtu,
                tcp_segments: super_segments(libc::TUN_F_TSO4),
                udp_segments: super_segments(libc::TUN_F_USO4),
                checksums: features & libc::TUN_F_CSUM != 0,
            },
            file,
            lost: 0,
            buffer: vec![0; virtio::LEN + LARGEST].into(),
        })
    }
}

/// What to do about an interface that cannot be had.
fn explain(error: io::Error, options: &Options) -> io::Error {
    let (mode, name) = match options.mode {
        libc::IFF_TUN => ("tun", &options.name),
        _ => ("tap", &options.name),
    };
    let what = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!(
            "this user may not make or take it: run as root, or make it beforehand with 'ip tuntap add dev {name} mode {mode} user NAME'"
        ),
        Some(libc::EBUSY) => "another program uses it; choose another name".into(),
        Some(libc::EINVAL) => format!(
            "there is an interface of that name, which is not {mode}; choose another name, or take it with packet:{name}"
        ),
        _ => return error,
    };
    io::Error::new(error.kind(), what)
}

/// Takes the first set of features that the kernel has, and returns it.
fn take_features(fd: BorrowedFd<'_>) -> io::Result<libc::c_uint> {
    let mut last = Ok(());
    for features in FEATURES {
        last = set_tun_offload(fd, features);
        if last.is_ok() {
            return Ok(features);
        }
    }
    last.map(|()| 0)
}

/// Sets what was asked for. An interface that was made for this user beforehand is taken as it is, because only its maker
/// may change it.
fn set_up(interface: &Interface, options: &Options) -> io::Result<()> {
    if let Some(mtu) = options.mtu
        && interface.mtu()? != mtu
    {
        interface.set_mtu(mtu)?;
    }
    let unasked = [
        interface.set_queue_len(options.queue.unwrap_or(QUEUE)),
        interface.set_up(),
    ];
    for result in unasked {
        match result {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                tracing::debug!("{}: {error}", options.name);
            }
            result => result?,
        }
    }
    // An address of IPv6 serves sooner if the interface is up before.
    if let Some(address) = options.address
        && !interface.has_address(address)
    {
        interface.set_address(address)?;
    }
    Ok(())
}

/// An address for this end of the interface: that of the kernel with its last bit changed, marked as made locally.
fn neighbour(mut address: [u8; 6]) -> [u8; 6] {
    address[0] = address[0] & !1 | 2;
    address[5] ^= 1;
    address
}

impl Device for Tun {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        // An interface that is down may be up again later.
        let down = || Ok(());
        receive_with_header(self.file.as_fd(), &mut self.buffer, limit, each, down)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let header = virtio::encode(&packet, self.capabilities.medium);
        let result = write_packet(self.file.as_fd(), &header, &packet);
        sent(result, &mut self.lost)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }

    fn counts(&self, to: &mut Vec<Count>) {
        to.push(lost(self.lost));
    }
}

/// The interface was deleted.
pub(super) fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the interface is gone")
}

/// Reads packets with a virtio header before each until there is none. Asks `down` whether to go on when the interface is
/// down.
pub(super) fn receive_with_header(
    fd: BorrowedFd<'_>,
    buffer: &mut [u8],
    limit: usize,
    each: &mut dyn FnMut(&[u8], Offload),
    down: impl Fn() -> io::Result<()>,
) -> io::Result<usize> {
    let mut count = 0;
    while count < limit {
        let len = match rustix::io::read(fd, &mut *buffer) {
            Ok(len) => len,
            Err(Errno::AGAIN) => break,
            Err(Errno::NETDOWN) => {
                down()?;
                break;
            }
            Err(Errno::INTR) => continue,
            Err(Errno::BADFD) => return Err(gone()),
            Err(error) => return Err(error.into()),
        };
        let Some((header, packet)) = buffer[..len].split_first_chunk() else {
            continue;
        };
        each(packet, virtio::decode(header));
        count += 1;
    }
    Ok(count)
}

/// How many packets an interface did not take.
pub(super) fn lost(value: u64) -> Count {
    Count {
        name: "device_lost_total",
        about: "Packets that the interface did not take: it was down, or had no room.",
        of: None,
        value,
    }
}

/// Whether a packet was sent, by the result of writing it. One that is refused, or that an interface without room or
/// switched off does not take, is lost like a packet on a wire, and counted.
pub(super) fn sent(result: io::Result<()>, lost: &mut u64) -> io::Result<bool> {
    let Err(error) = result else {
        return Ok(true);
    };
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Ok(false),
        Some(
            libc::EINVAL
            | libc::EMSGSIZE
            | libc::ENOBUFS
            | libc::ENOMEM
            | libc::EIO
            | libc::ENETDOWN,
        ) => {
            *lost += 1;
            tracing::debug!("a packet is lost: {error}");
            Ok(true)
        }
        Some(libc::ENXIO | libc::ENODEV | libc::EBADFD) => Err(gone()),
        _ => Err(error),
    }
}
