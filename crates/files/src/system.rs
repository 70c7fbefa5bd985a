//! System calls for files and pipes that `std` does not have.
//!
//! Errors of hints (pipe size, read-ahead) are ignored: the stream is only slower.
#![forbid(unsafe_code)]

use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// The device and inode of a file: equal for two names of one file.
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

/// Makes a pipe 1 MiB large, so that a unit takes few system calls. No effect on other files.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn widen_pipe(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
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
