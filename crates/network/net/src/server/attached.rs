//! Applications that have their memory.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::process;
use crate::handshake::{create, send_file};
use crate::layout::Layout;
use crate::memory::Region;

/// An application that has its memory, and that no engine serves yet.
#[derive(Debug)]
pub struct Attached {
    pub(super) socket: UnixStream,
    pub(super) process: Option<OwnedFd>,
    pub(super) file: File,
    pub(super) region: Arc<Region>,
    pub(super) layout: Layout,
}

impl Attached {
    /// Gives the client of a socket its memory.
    ///
    /// # Errors
    /// The client is gone, or what the operating system says.
    pub fn new(socket: UnixStream, layout: Layout) -> io::Result<Attached> {
        // Without one the end of the socket tells, unless a child has it too.
        let process = process::peer(&socket);
        let (file, region) = create(&layout)?;
        send_file(&socket, &file)?;
        Ok(Attached {
            socket,
            process,
            file,
            region,
            layout,
        })
    }
}

#[cfg(test)]
impl Attached {
    /// One whose process is told of by what cannot be waited for.
    pub fn that_cannot_be_watched(socket: UnixStream, layout: Layout) -> Attached {
        let file = tempfile::tempfile().expect("a file");
        let mut attached = Attached::new(socket, layout).expect("memory");
        attached.process = Some(file.into());
        attached
    }
}
