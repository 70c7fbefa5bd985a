//! The file of an image.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use evener_files::{Change, InputFile, SourceFile, Watch};

use crate::archive::{Entry, Member};
use crate::error::Error;
use crate::remote::Remote;

/// The most images above one that it is the backing file of.
const MAX_ABOVE: u32 = 64;

/// A file, a block device or an image on a server. Any thread can read it at any offset.
#[derive(Debug)]
pub struct ImageFile {
    bytes: Bytes,
    name: String,
    size: u64,
    allocated: Option<u64>,
    source: SourceFile,
    watch: Option<Watch>,
    /// Where the names of other files that it has begin, if it is a file that was named.
    folder: Option<PathBuf>,
    /// How many images are above it.
    above: u32,
    /// Files that it names are not opened.
    alone: bool,
    /// The file under it that was chosen by hand, whatever it names.
    chosen: Option<PathBuf>,
    /// Why it chooses no file of this machine, if it came from elsewhere.
    elsewhere: Option<&'static str>,
}

#[derive(Debug)]
enum Bytes {
    /// It is read without a lock.
    File(File),
    Remote(Box<dyn Remote>),
    /// A file in a tar.
    Member(Member),
}

impl ImageFile {
    /// Opens a file or a block device.
    ///
    /// # Errors
    /// It does not exist, may not be read, or is a directory or a pipe.
    pub fn open(path: &Path) -> Result<ImageFile, Error> {
        Ok(ImageFile::of(InputFile::open(path)?)?.of_path(path))
    }

    /// Uses an input as the file of an image.
    ///
    /// # Errors
    /// The input is a pipe or a terminal.
    pub fn of(input: InputFile) -> Result<ImageFile, Error> {
        let (source, watch) = (input.source_file(), input.watch());
        let InputFile { mut file, name, .. } = input;
        let unreadable = |name: &str, reason| {
            let name = name.to_owned();
            Error::from(evener_files::Error::Open { name, reason })
        };
        let kind = file.metadata().map_err(|e| unreadable(&name, e))?;
        if !kind.is_file() && !kind.file_type().is_block_device() {
            let reason = match kind.file_type().is_char_device() {
                true => "is neither a file nor a disk; name an image",
                false => {
                    "is not a file: an image is read at any place; unpack the pipe into a file first"
                }
            };
            return Err(evener_files::Error::Unfit { name, reason }.into());
        }
        // The metadata of a block device have no size.
        let size = file
            .seek(SeekFrom::End(0))
            .map_err(|e| unreadable(&name, e))?;
        let allocated = kind.is_file().then(|| kind.blocks().saturating_mul(512));
        Ok(ImageFile {
            allocated,
            source,
            watch,
            ..ImageFile::new(name, size, Bytes::File(file))
        })
    }

    /// Something on a server; `name` is what messages call it.
    pub(crate) fn remote(name: String, remote: Box<dyn Remote>) -> ImageFile {
        let elsewhere = "an image on a server does not choose files of this machine";
        ImageFile {
            elsewhere: Some(elsewhere),
            ..ImageFile::new(name, remote.size(), Bytes::Remote(remote))
        }
    }

    /// A file in a tar.
    pub(crate) fn member(tar: ImageFile, entry: Entry) -> ImageFile {
        let elsewhere = "an image in a tar does not choose files beside it";
        let (name, size) = (format!("{}:{}", tar.name, entry.name()), entry.size());
        ImageFile {
            source: tar.source,
            alone: tar.alone,
            chosen: tar.chosen.clone(),
            elsewhere: tar.elsewhere.or(Some(elsewhere)),
            ..ImageFile::new(name, size, Bytes::Member(Member::new(tar, entry)))
        }
    }

    fn new(name: String, size: u64, bytes: Bytes) -> ImageFile {
        ImageFile {
            bytes,
            name,
            size,
            allocated: None,
            source: SourceFile::default(),
            watch: None,
            folder: None,
            above: 0,
            alone: false,
            chosen: None,
            elsewhere: None,
        }
    }

    /// Notes by which path it was opened.
    #[must_use]
    pub(crate) fn of_path(self, path: &Path) -> ImageFile {
        let folder = path.parent().map(Path::to_owned);
        ImageFile { folder, ..self }
    }

    /// Forbids opening the files that this file names. For untrusted images, which may name any file.
    #[must_use]
    pub fn alone(self) -> ImageFile {
        ImageFile {
            alone: true,
            ..self
        }
    }

    /// Sets the backing file, whatever this file names.
    #[must_use]
    pub fn over(self, path: &Path) -> ImageFile {
        let chosen = Some(path.to_owned());
        ImageFile { chosen, ..self }
    }

    /// Whether it was chosen by hand which file is under it.
    pub(crate) fn is_over_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// Opens the file under this one: that which was chosen by hand, or that which it names, by a path from its own folder
    /// on. What came from a server or in a tar chooses none.
    ///
    /// # Errors
    /// It cannot be opened; the inner text: why not by this name.
    pub(crate) fn under(&self, name: &Path) -> Result<Result<ImageFile, Error>, String> {
        let refused = |why: &str| Err(why.to_owned());
        if self.alone {
            return refused("is not opened, by --no-backing");
        }
        if self.above >= MAX_ABOVE {
            return refused("lies under too many others, or under itself");
        }
        let path = match (&self.chosen, self.elsewhere, &self.folder) {
            (Some(chosen), _, _) => chosen.clone(),
            (None, Some(why), _) => {
                return Err(format!(
                    "is not opened: {why}; get that file and name it with --backing FILE"
                ));
            }
            (None, None, Some(folder)) => folder.join(name),
            (None, None, None) if name.is_absolute() => name.to_owned(),
            (None, None, None) => {
                return refused(
                    "is named from its folder on, and that is not known; name the file",
                );
            }
        };
        // A pipe would be waited for.
        if let Ok(found) = std::fs::metadata(&path)
            && !found.is_file()
            && !found.file_type().is_block_device()
        {
            return refused("is not a file");
        }
        let above = self.above + 1;
        Ok(ImageFile::open(&path).map(|file| ImageFile { above, ..file }))
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a read may wait for a server.
    pub fn may_wait(&self) -> bool {
        matches!(self.bytes, Bytes::Remote(_))
    }

    /// The size at the time of opening.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The approximate number of bytes outside holes.
    pub fn allocated(&self) -> u64 {
        self.allocated.unwrap_or(self.size).min(self.size)
    }

    /// The file as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        self.source
    }

    /// Fills `room` from byte `at` on. Returns the number of bytes before the end that the file had when it was
    /// opened.
    ///
    /// # Errors
    /// The read fails, or the file has become shorter. Missing bytes are never taken for zeros.
    pub fn read(&self, at: u64, room: &mut [u8]) -> Result<usize, Error> {
        let there = self.size.saturating_sub(at).min(room.len() as u64) as usize;
        let file = match &self.bytes {
            Bytes::File(file) => file,
            Bytes::Remote(remote) => {
                return remote.read(at, &mut room[..there]).map(|()| there);
            }
            Bytes::Member(member) => {
                return member.read(at, &mut room[..there]).map(|()| there);
            }
        };
        let mut got = 0;
        while got < room.len() {
            match file.read_at(&mut room[got..], at.saturating_add(got as u64)) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(reason) => {
                    let (name, byte) = (self.name.clone(), at.saturating_add(got as u64));
                    return Err(evener_files::Error::Read { name, byte, reason }.into());
                }
            }
        }
        match got < there {
            true => {
                let (from, to) = (self.size, self.length().unwrap_or(at + got as u64));
                Err(self.changed(Change::Shrank { from, to }))
            }
            false => Ok(got),
        }
    }

    /// Its current size.
    fn length(&self) -> Option<u64> {
        let Bytes::File(file) = &self.bytes else {
            return None;
        };
        let found = file.metadata().ok()?;
        found.is_file().then_some(found.len())
    }

    fn changed(&self, change: Change) -> Error {
        let name = self.name.clone();
        Error::Changed { name, change }
    }

    /// Checks, by size and modification time, that the file did not change after it was opened. Changes of a device
    /// go undetected.
    ///
    /// # Errors
    /// The file changed.
    pub fn unchanged(&self) -> Result<(), Error> {
        if let Bytes::Member(member) = &self.bytes {
            return member.tar().unchanged();
        }
        match self.watch.as_ref().and_then(Watch::change) {
            Some(change) => Err(self.changed(change)),
            None => Ok(()),
        }
    }

    /// Returns `len` bytes from byte `at` on, or fewer if the file had fewer when it was opened. Allocates no more
    /// than that.
    ///
    /// # Errors
    /// The read fails, or the file has become shorter.
    pub fn bytes(&self, at: u64, len: u64) -> Result<Vec<u8>, Error> {
        let there = len.min(self.size.saturating_sub(at));
        let mut bytes = vec![0; usize::try_from(there).unwrap_or(usize::MAX)];
        let got = self.read(at, &mut bytes)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// The first byte from `at` on that is outside a hole; `at` itself if the system does not report holes. The start
    /// of the next hole is not queried, because some file systems scan every page before it. Bytes that the file has
    /// lost since it was opened count as outside holes.
    pub fn data_from(&self, at: u64) -> u64 {
        let file = match &self.bytes {
            Bytes::File(file) => file,
            Bytes::Remote(remote) => return remote.data_from(at),
            Bytes::Member(member) => return member.data_from(at),
        };
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{SeekFrom, seek};
            match seek(file, SeekFrom::Data(at)) {
                Ok(data) => data.clamp(at, self.size.max(at)),
                // No data from here on.
                Err(rustix::io::Errno::NXIO) => {
                    self.length().unwrap_or(self.size).min(self.size).max(at)
                }
                Err(_) => at,
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = file;
            at
        }
    }

    /// Tells the system that these bytes will be read soon.
    pub fn will_need(&self, at: u64, len: u64) {
        if let Bytes::Member(member) = &self.bytes {
            return member.will_need(at, len);
        }
        #[cfg(target_os = "linux")]
        if let (Some(len), Bytes::File(file)) = (std::num::NonZeroU64::new(len), &self.bytes) {
            let advice = rustix::fs::Advice::WillNeed;
            let _ = rustix::fs::fadvise(file, at, Some(len), advice);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (at, len);
    }
}
