//! Creating, finding and locking overlays.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice};
use std::path::Path;

use evener_files::{Destination, FileId, SourceFile, Staged, one_line};

use super::base::{Base, OVERLAY};
use super::error::Error;
use super::header::{BOOT_AT, GRANULE, Header, Layout, MAGIC, PAGE};
use super::map::Map;
use super::storage::{Storage, Temporary};
use super::{BootId, Overlay};
use crate::hash::Hash;

/// How often to try when other processes create and remove the file.
const TRIES: u32 = 8;

/// Whether a file that starts with these bytes is an overlay.
pub fn is_overlay(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

impl Overlay {
    /// Opens and locks the overlay `path` of an image, or creates it if it does not exist.
    ///
    /// # Errors
    /// The file is not an overlay, is damaged, belongs to another image, or is in use by another server; or the
    /// system refuses it.
    pub fn open(path: &Path, base: &Base) -> Result<Overlay, Error> {
        let name = one_line(&path.to_string_lossy());
        let layout = layout(&name, base)?;
        let file = match find_or_create(path, &name, base, &layout)? {
            Some(file) => file,
            None => {
                let reason =
                    io::Error::other("other processes create and remove it again and again");
                return Err(failed(&name, "open it", reason));
            }
        };
        Overlay::on(Box::new(file), name.clone(), layout, boot(), true)
            .map_err(|reason| failed(&name, "read and write it", reason))
    }

    /// Creates an overlay of an image in a nameless file, which disappears when this is dropped or when the process
    /// ends in any way. It is in the folder for temporary files (`TMPDIR`, or `/tmp`).
    ///
    /// # Errors
    /// The system refuses it.
    pub fn temporary(base: &Base) -> Result<Overlay, Error> {
        let folder = std::env::temp_dir();
        let name = format!(
            "a temporary file in {}",
            one_line(&folder.to_string_lossy())
        );
        let layout = layout(&name, base)?;
        let file = tempfile::tempfile().map_err(|reason| failed(&name, "create it", reason))?;
        initialise(&file, &name, base, &layout)?;
        Overlay::on(
            Box::new(Temporary(file)),
            name.clone(),
            layout,
            boot(),
            true,
        )
        .map_err(|reason| failed(&name, "read and write it", reason))
    }

    /// Opens the overlay `path` of an image without writing to it. While it is open, no server can open it.
    ///
    /// # Errors
    /// The file does not exist, is not an overlay, is damaged, belongs to another image, or is in use by a server; or
    /// the system refuses it.
    pub fn read_only(path: &Path, base: &Base) -> Result<Overlay, Error> {
        let name = one_line(&path.to_string_lossy());
        let layout = layout(&name, base)?;
        let file = File::open(path).map_err(|reason| failed(&name, "open it", reason))?;
        let found = file.metadata();
        let found = found.map_err(|reason| failed(&name, "read it", reason))?;
        if !found.is_file() {
            return Err(Error::Other { name });
        }
        lock(&file, &name, evener_files::try_lock_shared)?;
        check(&file, &name, base, &layout)?;
        let opened = Overlay::on(Box::new(file), name.clone(), layout, boot(), false);
        let opened = opened.map_err(|reason| failed(&name, "read it", reason))?;
        Ok(Overlay {
            source: SourceFile::of(&found),
            ..opened
        })
    }
}

fn layout(name: &str, base: &Base) -> Result<Layout, Error> {
    Layout::of(base.size).ok_or_else(|| Error::TooLarge {
        name: name.to_owned(),
        size: base.size,
    })
}

fn failed(name: &str, what: &'static str, reason: io::Error) -> Error {
    let name = name.to_owned();
    Error::File { name, what, reason }
}

fn find_or_create(
    path: &Path,
    name: &str,
    base: &Base,
    layout: &Layout,
) -> Result<Option<File>, Error> {
    for _ in 0..TRIES {
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => {
                let name = name.to_owned();
                return Err(Error::Other { name });
            }
            Ok(found) if base.source.id().is_some() && base.source.id() == FileId::of(&found) => {
                let name = name.to_owned();
                return Err(Error::Image { name });
            }
            Ok(_) => match File::options().read(true).write(true).open(path) {
                Ok(file) => {
                    lock(&file, name, evener_files::try_lock)?;
                    check(&file, name, base, layout)?;
                    return Ok(Some(file));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(reason) => return Err(failed(name, "open it for writing", reason)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A link that leads to no file is followed.
                let path = match Destination::of(path) {
                    Ok(Destination::File { path, .. }) => path,
                    Ok(Destination::InPlace) => continue,
                    Err(reason) => return Err(failed(name, "create it", reason)),
                };
                if let Some(file) = create(&path, name, base, layout)? {
                    return Ok(Some(file));
                }
            }
            Err(reason) => return Err(failed(name, "open it", reason)),
        }
    }
    Ok(None)
}

/// Locks the file. The system releases the lock when the process ends, in whatever way.
fn lock(file: &File, name: &str, lock: fn(&File) -> io::Result<bool>) -> Result<(), Error> {
    match lock(file) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::Locked {
            name: name.to_owned(),
        }),
        Err(reason) => Err(failed(name, "lock it", reason)),
    }
}

/// The first page of a file, or as much of it as there is.
fn head(file: &File, name: &str) -> Result<Vec<u8>, Error> {
    use std::os::unix::fs::FileExt;
    let mut page = vec![0; PAGE as usize];
    let mut got = 0;
    while got < page.len() {
        match file.read_at(&mut page[got..], got as u64) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(reason) => return Err(failed(name, "read it", reason)),
        }
    }
    page.truncate(got);
    Ok(page)
}

fn check(file: &File, name: &str, base: &Base, layout: &Layout) -> Result<(), Error> {
    let header = Header::decode(name, &head(file, name)?)?;
    if header.identity != base.identity && [&*header.format, base.format].contains(&OVERLAY) {
        return Err(Error::Order {
            name: name.to_owned(),
            base: header.name,
            image: base.name.clone(),
        });
    }
    if header.size != base.size || header.identity != base.identity {
        return Err(Error::Base {
            name: name.to_owned(),
            base: header.name,
            size: header.size,
            image: base.name.clone(),
        });
    }
    whole(file, name, layout)
}

fn whole(file: &File, name: &str, layout: &Layout) -> Result<(), Error> {
    let found = file.metadata();
    let found = found.map_err(|reason| failed(name, "read it", reason))?;
    match found.len() < layout.len() {
        true => Err(Error::Damaged {
            name: name.to_owned(),
            what: "it is cut short",
        }),
        false => Ok(()),
    }
}

/// Creates an overlay. It gets its name once it is complete, locked and on the disk. `None`: another process created
/// one.
fn create(path: &Path, name: &str, base: &Base, layout: &Layout) -> Result<Option<File>, Error> {
    let (staged, file) = Staged::create(path, base.source.mode(), None)?;
    let mut staged = staged.durable();
    lock(&file, name, evener_files::try_lock)?;
    initialise(&file, name, base, layout)?;
    match staged.commit_new() {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(reason) => Err(failed(name, "create it", reason)),
    }
}

/// Writes what an overlay without any granule has.
fn initialise(file: &File, name: &str, base: &Base, layout: &Layout) -> Result<(), Error> {
    file.set_len(layout.len())
        .map_err(|reason| failed(name, "make it as large as the image", reason))?;
    let boot = boot().unwrap_or_default();
    let page = Header::of(base).encode();
    let done = file
        .write(0, &mut [IoSlice::new(&page)])
        .and_then(|()| file.write(BOOT_AT, &mut [IoSlice::new(&boot)]));
    done.map_err(|reason| failed(name, "write it", reason))
}

/// The current boot of the machine.
fn boot() -> Option<BootId> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.trim().split('-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some(number.to_be_bytes()).filter(|boot| *boot != BootId::default())
}

/// The contents of an overlay's header and maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlaySummary {
    /// The original name of the image it was made for.
    pub image: String,
    /// The format of that image.
    pub format: String,
    /// The size of that image in bytes.
    pub size: u64,
    /// The identity of that image.
    pub identity: Hash,
    /// The number of bytes in the overlay, including zeros.
    pub bytes: u64,
}

impl OverlaySummary {
    /// Reads it from a file, which may be in use by a server.
    ///
    /// # Errors
    /// The file is not an overlay, is damaged, or cannot be read.
    pub fn of(path: &Path) -> Result<OverlaySummary, Error> {
        let name = one_line(&path.to_string_lossy());
        let file = File::open(path).map_err(|reason| failed(&name, "open it", reason))?;
        let header = Header::decode(&name, &head(&file, &name)?)?;
        let layout = Layout::of(header.size).ok_or_else(|| Error::TooLarge {
            name: name.clone(),
            size: header.size,
        })?;
        whole(&file, &name, &layout)?;
        let unread = |reason| failed(&name, "read it", reason);
        let mut noted = BootId::default();
        Storage::read(&file, BOOT_AT, &mut noted).map_err(unread)?;
        let count = Map::count_in(&file, layout, boot() == Some(noted)).map_err(unread)?;
        Ok(OverlaySummary {
            image: header.name,
            format: header.format,
            size: header.size,
            identity: header.identity,
            bytes: (count * GRANULE).min(header.size),
        })
    }
}
