//! Calls of the operating system for AF_XDP and BPF, whose structures are those of linux/if_xdp.h and linux/bpf.h.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::program::Instruction;

/// Where a ring has its words and descriptors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RingOffsets {
    pub producer: u64,
    pub consumer: u64,
    pub descriptors: u64,
    pub flags: u64,
}

/// The same for all rings of a socket.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offsets {
    pub receive: RingOffsets,
    pub transmit: RingOffsets,
    pub fill: RingOffsets,
    pub completion: RingOffsets,
}

/// `struct xdp_umem_reg` as the first kernels have it.
#[repr(C)]
struct Frames {
    address: u64,
    len: u64,
    frame: u32,
    headroom: u32,
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// # Safety
/// The option reads a `T`.
unsafe fn set<T>(fd: BorrowedFd<'_>, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer is to what the option reads, and has the length that is told.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Gives a socket the memory that its frames of `frame` bytes are in, at `address`, which is aligned to pages.
///
/// The system reads and writes it from now on, as long as the socket is open. So no reference to its bytes may be made.
pub(super) fn set_frames(
    fd: BorrowedFd<'_>,
    address: *const u8,
    len: usize,
    frame: u32,
) -> io::Result<()> {
    let frames = Frames {
        address: address as u64,
        len: len as u64,
        frame,
        headroom: 0,
    };
    // SAFETY: the option reads a `struct xdp_umem_reg`. The system pins the pages, so they outlive their mapping.
    unsafe { set(fd, libc::XDP_UMEM_REG, &frames) }
}

/// Sets how many descriptors one of the four rings has: a power of two.
pub(super) fn set_ring(fd: BorrowedFd<'_>, option: libc::c_int, count: u32) -> io::Result<()> {
    // SAFETY: the options of rings read an int.
    unsafe { set(fd, option, &count) }
}

pub(super) fn offsets(fd: BorrowedFd<'_>) -> io::Result<Offsets> {
    let mut offsets = Offsets::default();
    let mut len = size_of::<Offsets>() as libc::socklen_t;
    // SAFETY: the option writes a `struct xdp_mmap_offsets`, or less of it if less is told to have room.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            libc::XDP_MMAP_OFFSETS,
            (&raw mut offsets).cast(),
            &raw mut len,
        )
    })?;
    if len as usize != size_of::<Offsets>() {
        let message = "the rings of AF_XDP have no flags: the kernel is older than 5.4";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    Ok(offsets)
}

/// Binds a socket to a queue of an interface, in copy mode, which all drivers have.
pub(super) fn bind(fd: BorrowedFd<'_>, interface: u32, queue: u32) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    // SAFETY: the address is that of an XDP socket, and has the length that is told.
    check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    })
}

/// Has the system look at the ring to transmit.
pub(super) fn kick(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no bytes are sent and there is no address, so the pointers are not used.
    let sent = unsafe {
        libc::sendto(
            fd.as_raw_fd(),
            std::ptr::null(),
            0,
            libc::MSG_DONTWAIT,
            std::ptr::null(),
            0,
        )
    };
    check(sent as libc::c_int)
}

/// # Safety
/// `attributes` is a prefix of `union bpf_attr` that `command` takes, and what it points to lives through the call.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    // SAFETY: the system reads as many bytes as it is told. Those that it knows of beyond count as 0.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>() as libc::c_uint,
        )
    };
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// # Safety
/// As [`bpf`]; and the command returns a file descriptor.
unsafe fn bpf_file<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's.
    let fd = unsafe { bpf(command, attributes) }?;
    // SAFETY: it is new, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// Makes a map with places for the sockets of so many queues.
pub(super) fn make_map(queues: u32) -> io::Result<OwnedFd> {
    const MAP_CREATE: libc::c_int = 0;
    const MAP_OF_SOCKETS: u32 = 17;

    #[repr(C)]
    struct Attributes {
        kind: u32,
        key: u32,
        value: u32,
        entries: u32,
    }
    let attributes = Attributes {
        kind: MAP_OF_SOCKETS,
        key: 4,
        value: 4,
        entries: queues,
    };
    // SAFETY: the command takes these, and returns a file.
    unsafe { bpf_file(MAP_CREATE, &attributes) }
}

/// Puts the socket of a queue into a map.
pub(super) fn set_socket(
    map: BorrowedFd<'_>,
    queue: u32,
    socket: BorrowedFd<'_>,
) -> io::Result<()> {
    const MAP_UPDATE: libc::c_int = 2;

    #[repr(C)]
    struct Attributes {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let (key, value) = (queue, socket.as_raw_fd() as u32);
    let attributes = Attributes {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const key) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: the command takes these; key and value have the four bytes that the map was made with.
    unsafe { bpf(MAP_UPDATE, &attributes) }?;
    Ok(())
}

/// Loads a program of XDP.
pub(super) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    const PROGRAM_LOAD: libc::c_int = 5;
    const XDP: u32 = 6;

    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
    }
    let attributes = Attributes {
        kind: XDP,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
    };
    // SAFETY: the command takes these; an instruction has the layout of `struct bpf_insn`, and there are as many as is told.
    unsafe { bpf_file(PROGRAM_LOAD, &attributes) }
}

/// Attaches a program to an interface until what is returned is closed.
pub(super) fn attach(program: &OwnedFd, interface: u32) -> io::Result<OwnedFd> {
    const LINK_CREATE: libc::c_int = 28;
    const XDP: u32 = 37;

    #[repr(C)]
    struct Attributes {
        program: u32,
        interface: u32,
        kind: u32,
        flags: u32,
    }
    let attributes = Attributes {
        program: program.as_fd().as_raw_fd() as u32,
        interface,
        kind: XDP,
        flags: 0,
    };
    // SAFETY: the command takes these, and returns a file.
    unsafe { bpf_file(LINK_CREATE, &attributes) }
}
