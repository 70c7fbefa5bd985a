//! How an application gets its memory: it connects to the engine's Unix socket and asks, and the engine sends a memfd.
//!
//! The socket stays: it is the doorbell both ways, and when one side is gone, the other finds that out there.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use super::layout::{Layout, VERSION};
use crate::memory::Region;

pub use crate::doorbell::{answer, ring};

/// What a client of the engine's socket wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To be an application.
    Attach,
    /// To read how the engine is doing.
    Status,
    /// To read which addresses it has.
    Addresses,
    /// To be the heir of an application: the engine answers with a key.
    Heir,
}

/// Bytes of a message of an heir: the number of a socket that it no longer has.
pub const RELEASE: usize = 8;

/// Bytes of a wish: a name, the version, and what is wished for.
pub const WISH: usize = 8;
const NAME: &[u8; 6] = b"evener";

impl Wish {
    /// As it is sent.
    pub fn encode(self) -> [u8; WISH] {
        let mut bytes = [0; WISH];
        bytes[..6].copy_from_slice(NAME);
        bytes[6] = VERSION as u8;
        bytes[7] = match self {
            Wish::Attach => b'a',
            Wish::Status => b's',
            Wish::Addresses => b'n',
            Wish::Heir => b'h',
        };
        bytes
    }

    /// From what was received; `None` for another version or protocol.
    pub fn decode(bytes: &[u8; WISH]) -> Option<Wish> {
        if &bytes[..6] != NAME || bytes[6] != VERSION as u8 {
            return None;
        }
        match bytes[7] {
            b'a' => Some(Wish::Attach),
            b's' => Some(Wish::Status),
            b'n' => Some(Wish::Addresses),
            b'h' => Some(Wish::Heir),
            _ => None,
        }
    }
}

/// Makes the memory of an application. Its pages appear when they are first touched.
///
/// # Errors
/// What the operating system says.
pub fn create(layout: &Layout) -> io::Result<(File, Arc<Region>)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::NOEXEC_SEAL;
    let file = match rustix::fs::memfd_create("evener-net", flags) {
        // Kernels before 6.3 do not know of files that cannot be executed.
        Err(rustix::io::Errno::INVAL) => {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            rustix::fs::memfd_create("evener-net", flags)?
        }
        made => made?,
    };
    let file = File::from(file);
    file.set_len(layout.bytes() as u64)?;
    // A file that shrinks would end the engine by a signal. With SEAL no application can forbid holes or writing.
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    let region = Region::of_file(&file, layout.bytes())?;
    layout.write(&region);
    Ok((file, region))
}

/// Sends a file to an application.
///
/// # Errors
/// The application is gone, or its socket is full.
pub fn send_file(socket: &UnixStream, file: &File) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [file.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(b"m")], &mut control, flags)?;
    Ok(())
}

/// Asks an engine for memory.
///
/// # Errors
/// There is no engine, it refuses, or it is none.
pub fn request_file(socket: &mut UnixStream) -> io::Result<File> {
    socket.write_all(&Wish::Attach.encode())?;
    match receive_file(socket, RecvFlags::empty())? {
        Some(file) => Ok(File::from(file)),
        None => {
            let what = "the engine refused: it has too many applications, or is of another version";
            Err(io::Error::new(io::ErrorKind::ConnectionRefused, what))
        }
    }
}

/// What [`send_file`] sent; none if the other end closed, or there is no room for another file descriptor.
///
/// # Errors
/// What the operating system says.
pub fn receive_file(socket: &UnixStream, flags: RecvFlags) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut room = [IoSliceMut::new(&mut byte)];
    // A signal interrupts a socket that has a timeout.
    let got = retry_on_intr(|| {
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(socket, &mut room, &mut control, flags)
    })?;
    let file = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok(file.filter(|_| !got.flags.contains(ReturnFlags::CTRUNC)))
}

/// Asks an engine for something that it answers with text.
///
/// # Errors
/// There is no engine, or it is none.
pub fn request_text(socket: &mut UnixStream, wish: Wish) -> io::Result<String> {
    socket.write_all(&wish.encode())?;
    let mut text = String::new();
    socket.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::layout::Sizes;
    use super::*;
    use crate::memory::Mapping;

    fn layout() -> Layout {
        Layout::new(Sizes {
            connections: 64,
            send: 4096,
            receive: 8192,
        })
        .unwrap()
    }

    #[test]
    fn memory_passes_a_socket_and_cannot_shrink() {
        let (engine, mut application) = UnixStream::pair().unwrap();
        let (file, region) = create(&layout()).unwrap();
        send_file(&engine, &file).unwrap();
        let got = request_file(&mut application).unwrap();
        let read = Layout::of_file(&got).unwrap();
        assert_eq!(read, layout());
        let mapping = Mapping::new(&got, *read.slots()).unwrap();
        layout().slots().head(&region, 63).write(5, &[42]);
        let mut byte = [0];
        mapping.head(63).read(5, &mut byte);
        assert_eq!(byte, [42]);
        assert!(got.set_len(4096).is_err());
        assert!(got.set_len(1 << 40).is_err());
        assert!(rustix::fs::fcntl_add_seals(&got, SealFlags::FUTURE_WRITE).is_err());
    }

    #[test]
    fn what_is_no_memory_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(Layout::of_file(&file).is_err());
        file.set_len(1 << 20).unwrap();
        assert!(Layout::of_file(&file).is_err());
    }

    #[test]
    fn an_engine_that_closes_has_refused() {
        let (engine, mut application) = UnixStream::pair().unwrap();
        drop(engine);
        assert!(request_file(&mut application).is_err());
        let (engine, mut application) = UnixStream::pair().unwrap();
        engine.shutdown(std::net::Shutdown::Write).unwrap();
        let error = request_file(&mut application).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
