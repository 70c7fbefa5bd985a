//! qcow2, versions 2 and 3 (`docs/interop/qcow2.txt` of QEMU): tables of two levels say where each cluster lies. All
//! numbers are big-endian. What an image does not have itself is in a backing file, which is qcow2 or raw. Encryption is not
//! supported.

mod backing;
mod faults;
mod header;
mod tables;

use std::sync::Arc;

use super::{Faults, Format, Layout, Opened};
use crate::block::{Block, Check, Place};
use crate::error::Error;
use crate::file::ImageFile;
use header::Header;
use tables::{COMPRESSED, Qcow2, read_tables};

/// qcow2 images.
pub static QCOW2: Format = Format {
    name: "qcow2",
    about: "QEMU images, compressed or not, with backing files",
    recognise: |ends| ends.head.starts_with(&MAGIC),
    open,
};

const MAGIC: [u8; 4] = *b"QFI\xfb";
fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let header = Header::read(&QCOW2, file)?;
    let tables = read_tables(&QCOW2, file, &header)?;
    let backing = backing::open(&QCOW2, file, &header)?.map(Arc::new);
    Ok(Opened {
        size: header.size,
        block: header.cluster() as u32,
        layout: Box::new(Qcow2 {
            format: &QCOW2,
            file: Arc::clone(file),
            header,
            tables,
            backing: backing.clone(),
        }),
        leaves: None,
        backing,
    })
}

impl Layout for Qcow2 {
    fn block(&self, at: u64) -> Result<Block, Error> {
        let bits = self.header.cluster_bits;
        let reach = self.header.reach();
        let cluster = at >> bits << bits;
        let (start, len, place) = match &self.tables[(at >> reach) as usize] {
            None => self.absent(at, (at >> reach << reach, 1 << reach), 1 << bits),
            Some(table) => {
                let words = self.header.entry_words();
                let number = (cluster >> bits) as usize % (table.len() / words) * words;
                let entry = table[number];
                let (start, len, place) = match words {
                    2 if entry & COMPRESSED == 0 => self.run(at, entry, table[number + 1])?,
                    _ => (cluster, 1 << bits, self.place(cluster, entry)?),
                };
                match place {
                    Place::Backing => self.absent(at, (start, len), len),
                    place => (start, len, place),
                }
            }
        };
        Ok(Block {
            start,
            len: self.header.size.min(start + len) - start,
            place,
            check: Check::Nothing,
        })
    }

    fn faults(&self) -> Result<Faults, Error> {
        faults::of(self)
    }
}
