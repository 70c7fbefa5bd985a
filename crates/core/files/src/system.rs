//! System calls for files and pipes that `std` lacks.
//!
//! Errors of hints (pipe size, read-ahead) are ignored, because they only make the stream slower.
#![forbid(unsafe_code)]

use std::fs::{File, Metadata};
#[cfg(target_os = "linux")]
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// The device and inode of a file: equal for two names of the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The identity of a file or a block device. `None` for pipes, terminals and the like, which may be input and
    /// output at once.
    pub fn of(metadata: &Metadata) -> Option<FileId> {
        let kind = metadata.file_type();
        (kind.is_file() || kind.is_block_device()).then(|| FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// Enlarges a pipe to 1 MiB, so that a unit takes few system calls. No effect on other files.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn widen_pipe(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
}

/// The first bytes of a pipe, which stay in it. `None` for other files, and if the system does not support it.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn peek_pipe(pipe: &File, most: usize) -> Option<Vec<u8>> {
    #[cfg(target_os = "linux")]
    {
        let (copy, into) = rustix::pipe::pipe().ok()?;
        let flags = rustix::pipe::SpliceFlags::empty();
        let count = rustix::pipe::tee(pipe, &into, most, flags).ok()?;
        drop(into);
        let mut bytes = Vec::with_capacity(count);
        File::from(copy).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Tells the system that a file will be read sequentially. No effect on pipes.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn read_ahead(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_peeked_of_a_pipe_stays_in_it() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut writer = writer;
        std::io::Write::write_all(&mut writer, b"YUV4MPEG2 W3").unwrap();
        let mut pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(peek_pipe(&pipe, 4).unwrap(), b"YUV4");
        assert_eq!(peek_pipe(&pipe, 100).unwrap(), b"YUV4MPEG2 W3");
        drop(writer);
        let mut all = String::new();
        pipe.read_to_string(&mut all).unwrap();
        assert_eq!(all, "YUV4MPEG2 W3");
        assert_eq!(peek_pipe(&pipe, 4).unwrap(), b"");
        let file = File::open(Folder::new().file("a", "text")).unwrap();
        assert!(peek_pipe(&file, 4).is_none());
    }

    #[test]
    fn two_names_of_a_file_are_one_file_and_devices_are_none() {
        let folder = Folder::new();
        let (a, b) = (folder.file("a", ""), folder.path("b"));
        std::fs::hard_link(&a, &b).unwrap();
        let id = |p: &std::path::Path| FileId::of(&std::fs::metadata(p).unwrap());
        assert_eq!(id(&a), id(&b));
        assert!(id(&a).is_some());
        assert_eq!(id(std::path::Path::new("/dev/null")), None);
    }
}
