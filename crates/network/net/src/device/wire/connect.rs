//! Two processes meet at a Unix socket and share memory: the first listens, makes the memory and sends it.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create,
};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::super::Context;
use super::ring::RING_LEN;
use crate::memory::Region;

/// What the first process sends with the memory: it changes with the layout of that.
const HELLO: &[u8; 8] = b"evwire02";

/// How long the first process waits before it says so.
const SILENT: Duration = Duration::from_secs(1);

/// Bytes that two processes share: a ring for each direction.
pub(super) const MEMORY: usize = 2 * RING_LEN;

/// What one end has of a wire.
pub(super) struct End {
    pub(super) memory: Arc<Region>,
    /// Whether it reads the first ring and writes the second, or the other way round.
    pub(super) is_first: bool,
    /// The doorbell of both ends. Closed when the other end is gone.
    pub(super) peer: UnixStream,
}

/// Meets another process at `path`. The first waits for the second.
pub(super) fn meet(path: &Path, context: &Context) -> io::Result<End> {
    loop {
        match UnixStream::connect(path) {
            Ok(peer) => {
                context.wait_for(&peer, || true)?;
                return join(peer);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // What a process left that is gone, or a file that is no socket.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                check_socket(path)?;
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Err(error) => return Err(error),
        }
        if let Some(peer) = listen(path, context)? {
            return offer(peer);
        }
    }
}

/// Refuses what is there and is no socket.
fn check_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let what = "there is a file of that name, which is not a socket; choose another";
            Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
        }
        _ => Ok(()),
    }
}

/// Waits for the other process at `path`. None if another process was quicker, or took this one's place: it may have found
/// what a dead process left there, and removed it only when this one had put its own socket there.
fn listen(path: &Path, context: &Context) -> io::Result<Option<UnixStream>> {
    static NUMBERS: AtomicU32 = AtomicU32::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let mut own = path.as_os_str().to_owned();
    own.push(format!(".{}.{number}", std::process::id()));
    let own = Path::new(&own);
    let inode = |path: &Path| fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()));
    // It listens before it can be found: a socket that refuses is a dead process's.
    let listener = UnixListener::bind(own)?;
    let identity = inode(own)?;
    let linked = fs::hard_link(own, path);
    fs::remove_file(own)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        linked => linked?,
    }
    let is_ours = || inode(path).is_ok_and(|found| found == identity);
    let (began, told) = (Instant::now(), Cell::new(false));
    let goes_on = || {
        if began.elapsed() >= SILENT
            && !told.replace(true)
            && let Some(waits) = context.waits
        {
            waits(&format!("waits for the other end at {}", path.display()));
        }
        is_ours()
    };
    let peer = match context.wait_for(&listener, goes_on) {
        Ok(false) => return Ok(None),
        Ok(true) => listener.accept().map(|(peer, _)| Some(peer)),
        Err(error) => Err(error),
    };
    // A wire has two ends: no third process finds it. Nor does one find it when this one has given up.
    if is_ours() {
        fs::remove_file(path)?;
    }
    peer
}

/// Two ends in one process.
pub(super) fn pair() -> io::Result<[End; 2]> {
    let (one, other) = UnixStream::pair()?;
    let offered = std::thread::spawn(|| offer(one));
    let joined = join(other)?;
    let offered = offered.join().map_err(|_| io::ErrorKind::Other)??;
    Ok([offered, joined])
}

pub(super) fn offer(peer: UnixStream) -> io::Result<End> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("evener-wire", flags)?);
    ftruncate(&file, MEMORY as u64)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(
        &peer,
        &[IoSlice::new(HELLO)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(End {
        memory: Region::of_file(&file, MEMORY)?,
        is_first: true,
        peer,
    })
}

fn join(peer: UnixStream) -> io::Result<End> {
    let mut hello = [0; HELLO.len()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut hello)];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    retry_on_intr(|| recvmsg(&peer, &mut parts, &mut control, flags))?;
    let mut files: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            files.extend(sent);
        }
    }
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if hello != *HELLO {
        return refuse("what listens there is not a wire of this version");
    }
    let Ok([memory]) = <[OwnedFd; 1]>::try_from(files) else {
        return refuse("the peer of the wire sent no memory");
    };
    let memory = File::from(memory);
    // Memory that becomes shorter while it is used would end this process.
    let sealed = fcntl_get_seals(&memory).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    if !sealed || memory.metadata()?.len() < MEMORY as u64 {
        return refuse("the peer of the wire sent memory that may become shorter");
    }
    Ok(End {
        memory: Region::of_file(&memory, MEMORY)?,
        is_first: false,
        peer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::send;

    #[test]
    fn a_file_that_is_no_socket_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "data").expect("a file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        for path in [&file, &link] {
            let error = meet(path, &Context::default()).err().expect("an error");
            assert!(error.to_string().contains("not a socket"), "{error}");
        }
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("the file"), "data");
    }

    fn refused(send_to: impl FnOnce(&UnixStream)) -> String {
        let (one, other) = UnixStream::pair().expect("a pair");
        send_to(&one);
        drop(one);
        let error = join(other).err().expect("an error");
        error.to_string()
    }

    fn send_files(peer: &UnixStream, seals: SealFlags, len: usize) {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("test", flags).expect("memory");
        ftruncate(&file, len as u64).expect("memory");
        fcntl_add_seals(&file, seals).expect("seals");
        let files = [file.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(
            peer,
            &[IoSlice::new(HELLO)],
            &mut control,
            SendFlags::empty(),
        )
        .expect("sent");
    }

    #[test]
    fn a_peer_that_is_not_a_wire_is_refused() {
        assert!(refused(|_| ()).contains("not a wire"));
        let other = |peer: &UnixStream| {
            send(peer, b"evwire99", SendFlags::empty()).expect("sent");
        };
        assert!(refused(other).contains("not a wire"));
        let bare = |peer: &UnixStream| {
            send(peer, HELLO, SendFlags::empty()).expect("sent");
        };
        assert!(refused(bare).contains("no memory"));
        let loose = |peer: &UnixStream| send_files(peer, SealFlags::GROW, MEMORY);
        assert!(refused(loose).contains("shorter"));
        let short = |peer: &UnixStream| send_files(peer, SealFlags::SHRINK, MEMORY - 1);
        assert!(refused(short).contains("shorter"));
    }
}
