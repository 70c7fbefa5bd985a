//! A disk image in a tar that is read in order: from a pipe, or compressed.

use std::io::{self, Read};

use super::TAR;
use super::entry::Entry;
use super::found::{Found, is_foreign};
use super::walk::{Bytes, Walk};
use crate::error::Error;
use crate::format::{Foreign, RAW, recognise_pipe};

/// The bytes of the one disk image of a tar. Whether there is another one shows at the end of the tar.
pub struct TarStream {
    name: String,
    walk: Walk,
    found: Found,
    from: InOrder,
    image: Entry,
    /// Bytes of the image that were read.
    at: u64,
    /// The rest of the tar was read.
    ended: bool,
}

impl TarStream {
    /// Finds the first image in what `input` gives. `name` is what messages call it.
    ///
    /// # Errors
    /// There is none, or one that is not raw; the tar is damaged; or it cannot be read. Errors of this crate are within
    /// those of the system.
    pub fn open(name: String, input: Box<dyn Read + Send>) -> io::Result<TarStream> {
        let (mut walk, mut found) = (Walk::new(name.clone()), Found::default());
        let mut from = InOrder {
            input,
            at: 0,
            kept: Vec::new(),
        };
        while let Some(image) = walk.next(&mut from)? {
            let front = image.front(&mut from)?;
            if found.note(&image, &front) {
                is_raw(&name, &image, &front).map_err(io::Error::other)?;
                let (at, ended) = (0, false);
                return Ok(TarStream {
                    name,
                    walk,
                    found,
                    from,
                    image,
                    at,
                    ended,
                });
            }
        }
        Err(io::Error::other(found.none(&name)))
    }

    /// Looks for another image, and reads all, so that what is compressed is checked to its end.
    fn end(&mut self) -> io::Result<()> {
        while let Some(entry) = self.walk.next(&mut self.from)? {
            let front = entry.front(&mut self.from)?;
            self.found.note(&entry, &front);
            self.found.one(&self.name).map_err(io::Error::other)?;
        }
        io::copy(&mut self.from.input, &mut io::sink()).map(drop)
    }
}

/// Checks that the bytes of an image are those of a disk.
fn is_raw(name: &str, image: &Entry, front: &[u8]) -> Result<(), Error> {
    let refused = |what: String| {
        let name = name.to_owned();
        Err(Error::Unsupported {
            name,
            format: TAR,
            what,
        })
    };
    let shown = image.name();
    match recognise_pipe(front) {
        (format, _) if format.name != RAW.name => {
            let format = format.name;
            refused(format!(
                "holds {shown}, an image in {format}, and only a raw image is read so; unpack it into a file"
            ))
        }
        (_, Some(foreign)) if foreign.is_disk() => Err(is_foreign(name, shown, foreign.name)),
        (_, Some(Foreign { name: format, .. })) => refused(format!(
            "holds {shown}, which looks like {format}; unpack it with tar first"
        )),
        // The footer of a VHD of a fixed size lies behind the disk.
        _ if shown.to_ascii_lowercase().ends_with(".vhd") => {
            Err(is_foreign(name, shown, "a VHD image by its name"))
        }
        _ => Ok(()),
    }
}

impl Read for TarStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() || self.ended {
            return Ok(0);
        }
        if self.at == self.image.size() {
            self.end()?;
            self.ended = true;
            return Ok(0);
        }
        let (place, end) = self.image.place(self.at);
        let len = (end - self.at).min(room.len() as u64) as usize;
        let room = &mut room[..len];
        let got = match place {
            Some(place) => self.from.read_at(place, room)?,
            None => {
                room.fill(0);
                room.len()
            }
        };
        if got == 0 {
            return Err(io::Error::other(self.walk.cut(self.image.name())));
        }
        self.at += got as u64;
        Ok(got)
    }
}

/// Bytes that come in order, of which some were looked at and not read yet.
struct InOrder {
    input: Box<dyn Read + Send>,
    /// Where what is kept begins.
    at: u64,
    kept: Vec<u8>,
}

impl InOrder {
    /// Passes over what lies before byte `at`.
    fn pass(&mut self, at: u64) -> io::Result<()> {
        let mut more = at.saturating_sub(self.at);
        let kept = more.min(self.kept.len() as u64);
        self.kept.drain(..kept as usize);
        more -= kept;
        let passed = io::copy(&mut (&mut self.input).take(more), &mut io::sink())?;
        // At the end the next read finds nothing.
        self.at += kept + passed;
        Ok(())
    }

    fn read_at(&mut self, at: u64, room: &mut [u8]) -> io::Result<usize> {
        self.pass(at)?;
        if self.at != at {
            return Ok(0);
        }
        let got = match self.kept.is_empty() {
            true => self.input.read(room)?,
            false => {
                let len = self.kept.len().min(room.len());
                room[..len].copy_from_slice(&self.kept[..len]);
                self.kept.drain(..len);
                len
            }
        };
        self.at += got as u64;
        Ok(got)
    }
}

impl Bytes for InOrder {
    fn bytes(&mut self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        self.pass(at)?;
        if self.at != at {
            return Ok(Vec::new());
        }
        if let Some(more) = len.checked_sub(self.kept.len()) {
            (&mut self.input)
                .take(more as u64)
                .read_to_end(&mut self.kept)?;
        }
        Ok(self.kept[..len.min(self.kept.len())].to_vec())
    }
}
