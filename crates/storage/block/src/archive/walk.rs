//! The files of a tar, one after the other.

use std::io;

use super::TAR;
use super::entry::Entry;
use super::header::{BLOCK, Header, decimal, records, text};
use super::sparse::{self, Map};
use crate::error::Error;

/// The most entries that are looked at: a tar with as many is no disk.
const MAX_ENTRIES: u32 = 10_000;
/// The most bytes of a long name or of records of pax.
const MAX_EXTRA: u64 = 1 << 20;

/// What a tar is read from.
pub trait Bytes {
    /// `len` bytes from byte `at` on, fewer at its end. No call has a smaller `at` than one before.
    fn bytes(&mut self, at: u64, len: usize) -> io::Result<Vec<u8>>;
}

/// Goes from header to header.
pub struct Walk {
    /// What messages call the tar.
    name: String,
    at: u64,
    entries: u32,
}

/// What entries before a file say of it.
#[derive(Default)]
struct Extra {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    /// The version of the map of a file with holes, and bytes of the file.
    sparse: Option<Vec<u8>>,
    real_size: Option<u64>,
}

impl Walk {
    /// From the beginning of a tar on.
    pub fn new(name: String) -> Walk {
        Walk {
            name,
            at: 0,
            entries: 0,
        }
    }

    /// The next file; `None` at the end. What is no file is left out.
    pub fn next(&mut self, from: &mut impl Bytes) -> io::Result<Option<Entry>> {
        let mut extra = Extra::default();
        loop {
            let (start, header) = (self.at, from.bytes(self.at, BLOCK as usize)?);
            let header = match header.first_chunk() {
                Some(header) => Header(*header),
                // Some programs write no end.
                None if header.is_empty() => return Ok(None),
                None => return Err(io::Error::other(self.cut("a header"))),
            };
            if header.is_end() {
                return Ok(None);
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                let what = format!("has more than {MAX_ENTRIES} files in it, as no disk image has");
                return Err(self.refused(what));
            }
            let damaged = || self.damaged(start);
            let size = header
                .size()
                .filter(|_| header.is_good())
                .ok_or_else(damaged)?;
            let is_extra = matches!(header.kind(), b'L' | b'K' | b'x' | b'g');
            let size = if is_extra {
                size
            } else {
                extra.size.unwrap_or(size)
            };
            let data = start + BLOCK;
            // Links and the like have no bytes, whatever their headers say.
            let stored = if matches!(header.kind(), b'1'..=b'6') {
                0
            } else {
                size
            };
            let padded = stored.checked_next_multiple_of(BLOCK);
            let end = padded.and_then(|padded| data.checked_add(padded));
            self.at = end
                .filter(|&end| end <= i64::MAX as u64)
                .ok_or_else(damaged)?;
            match header.kind() {
                b'L' | b'x' => {
                    if size > MAX_EXTRA {
                        return Err(self.damaged(start));
                    }
                    let bytes = from.bytes(data, size as usize)?;
                    if bytes.len() as u64 != size {
                        return Err(io::Error::other(self.cut("a header")));
                    }
                    match header.kind() {
                        b'L' => extra.name = Some(text(&bytes).to_vec()),
                        _ => extra.take(&bytes).ok_or_else(|| self.damaged(start))?,
                    }
                }
                b'K' | b'g' => {}
                b'M' => {
                    let what = "goes on with a file that begins in another tar";
                    return Err(self.refused(what.to_owned()));
                }
                0 | b'0' | b'7' | b'S' => {
                    let extra = std::mem::take(&mut extra);
                    let name = extra.name.clone().unwrap_or_else(|| header.name());
                    // Directories of the oldest tars.
                    if !name.ends_with(b"/") {
                        return self
                            .file(&name, &header, (data, size), &extra, from)
                            .map(Some);
                    }
                }
                _ => extra = Extra::default(),
            }
        }
    }

    fn file(
        &mut self,
        name: &[u8],
        header: &Header,
        (data, stored): (u64, u64),
        extra: &Extra,
        from: &mut impl Bytes,
    ) -> io::Result<Entry> {
        let map = match (header.kind(), extra.sparse.as_deref(), extra.real_size) {
            (b'S', None, _) => {
                let map = sparse::of_gnu(header, data, from)?;
                // The parts of the map behind the header are not counted in its size.
                self.at += map.as_ref().map_or(0, |map| map.taken);
                map
            }
            (b'S', Some(_), _) => None,
            (_, None, _) => {
                let pieces = vec![(0, stored)];
                Some(Map {
                    size: stored,
                    pieces,
                    taken: 0,
                })
            }
            (_, Some(b"1.0"), Some(size)) => sparse::of_pax(size, data, from)?,
            (_, Some(_), _) => {
                let name = evener_files::one_line(&String::from_utf8_lossy(name));
                let what = format!(
                    "has {name} in it, with holes that are stored in a way that is not read"
                );
                return Err(self.refused(what));
            }
        };
        let entry = map.and_then(|map| {
            let counted = if header.kind() == b'S' { 0 } else { map.taken };
            let stored = stored.checked_sub(counted)?;
            Entry::new(name, map.size, (data + map.taken, stored), &map.pieces)
        });
        let entry = entry.filter(|entry| i64::try_from(entry.size()).is_ok());
        entry.ok_or_else(|| self.damaged(data - BLOCK))
    }

    /// The tar ends within something.
    pub fn cut(&self, within: &str) -> Error {
        Error::Cut {
            name: self.name.clone(),
            format: TAR,
            what: format!("it ends within {within}"),
        }
    }

    fn damaged(&self, at: u64) -> io::Error {
        io::Error::other(Error::Damaged {
            name: self.name.clone(),
            format: TAR,
            what: format!("the header at byte {at} is none"),
        })
    }

    fn refused(&self, what: String) -> io::Error {
        io::Error::other(Error::Archive {
            name: self.name.clone(),
            what: format!("{what}; unpack it with tar"),
        })
    }
}

impl Extra {
    /// Takes records of pax. `None` if they are damaged.
    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut major, mut minor) = (None, None);
        for (key, value) in records(bytes)? {
            match key {
                // The name that a file with holes has.
                b"GNU.sparse.name" => self.name = Some(value.to_vec()),
                b"path" if self.sparse.is_none() && self.name.is_none() => {
                    self.name = Some(value.to_vec());
                }
                b"size" => self.size = Some(decimal(value)?),
                b"GNU.sparse.major" => major = Some(value),
                b"GNU.sparse.minor" => minor = Some(value),
                b"GNU.sparse.realsize" => self.real_size = Some(decimal(value)?),
                // Versions 0.0 and 0.1.
                b"GNU.sparse.map" | b"GNU.sparse.numblocks" => self.sparse = Some(b"0".to_vec()),
                _ => {}
            }
        }
        if let Some((major, minor)) = major.zip(minor) {
            self.sparse = Some([major, b".", minor].concat());
        }
        Some(())
    }
}
