//! Disk images in tars, as clouds give them: `disk.raw` in a `.tar.gz`, or an appliance (`.ova`).
//!
//! A tar with exactly one disk image in it stands for that image. It is looked at where formats are recognised, so every
//! command has it.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `header.rs` | a header of 512 bytes, and records of pax |
//! | `sparse.rs` | files with holes, as `tar -S` and `bsdtar` store them |
//! | `entry.rs` | a file in a tar: where its bytes lie |
//! | `walk.rs` | the files of a tar, one after the other |
//! | `found.rs` | which of them is the disk image |
//! | `member.rs` | that image in a tar that is read at any place |
//! | `stream.rs` | that image in a tar that is read in order |

mod entry;
mod found;
mod header;
mod member;
mod sparse;
mod stream;
mod walk;

use crate::error::Error;
use crate::file::ImageFile;
use crate::format::inside;

pub use entry::Entry;
pub use header::is_tar;
pub use member::Member;
pub use stream::TarStream;

use found::Found;
use walk::{Bytes, Walk};

/// What the format is called.
pub const TAR: &str = "tar";

/// The disk image in a file if that is a tar, otherwise the file.
///
/// # Errors
/// It is a tar with no disk image in it, with several, or with one that is not read; it is damaged; or it cannot be
/// read.
pub fn unwrapped(file: ImageFile) -> Result<ImageFile, Error> {
    if !is_tar(&file.bytes(0, header::BLOCK)?) {
        return Ok(file);
    }
    let mut walk = Walk::new(file.name().to_owned());
    let mut found = Found::default();
    let mut image = None;
    let mut source = &file;
    while let Some(entry) = walk.next(&mut source).map_err(|error| read(&file, error))? {
        let front = entry
            .front(&mut source)
            .map_err(|error| read(&file, error))?;
        if found.note(&entry, &front) {
            image = Some(entry);
        }
    }
    let name = file.name().to_owned();
    let entry = found
        .one(&name)?
        .and(image)
        .ok_or_else(|| found.none(&name))?;
    if entry.end() > file.size() {
        return Err(walk.cut(entry.name()));
    }
    let shown = entry.name().to_owned();
    let member = ImageFile::member(file, entry);
    match inside(&member)? {
        Some(foreign) if foreign.is_disk() => Err(found::is_foreign(&name, &shown, foreign.name)),
        _ => Ok(member),
    }
}

fn read(file: &ImageFile, error: std::io::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(|reason| {
        let (name, byte) = (file.name().to_owned(), 0);
        evener_files::Error::Read { name, byte, reason }.into()
    })
}

impl Bytes for &ImageFile {
    fn bytes(&mut self, at: u64, len: usize) -> std::io::Result<Vec<u8>> {
        ImageFile::bytes(self, at, len as u64).map_err(std::io::Error::other)
    }
}
