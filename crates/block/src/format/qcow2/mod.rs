//! qcow2, versions 2 and 3 (`docs/interop/qcow2.txt` of QEMU): tables of two levels say where each cluster lies. All
//! numbers are big-endian. Images with a backing file or encryption are not supported.

mod faults;
mod header;
mod tables;

use std::sync::Arc;

use super::{Faults, Format, Layout, Opened};
use crate::block::{Block, Check, Place};
use crate::error::Error;
use crate::file::ImageFile;
use header::Header;
use tables::{Qcow2, read_tables};

/// qcow2 images.
pub static QCOW2: Format = Format {
    name: "qcow2",
    about: "QEMU's images, compressed or not, of one layer",
    recognise: |ends| ends.head.starts_with(&MAGIC),
    open,
};

const MAGIC: [u8; 4] = *b"QFI\xfb";
fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let header = Header::read(&QCOW2, file)?;
    let tables = read_tables(&QCOW2, file, &header)?;
    Ok(Opened {
        size: header.size,
        block: header.cluster() as u32,
        layout: Box::new(Qcow2 {
            format: &QCOW2,
            file: Arc::clone(file),
            header,
            tables,
        }),
        leaves: None,
    })
}

impl Layout for Qcow2 {
    fn block(&self, at: u64) -> Result<Block, Error> {
        let bits = self.header.cluster_bits;
        let reach = 2 * bits - 3;
        let (start, len, place) = match &self.tables[(at >> reach) as usize] {
            None => (
                at >> reach << reach,
                1 << reach,
                Place::Zero { packed: None },
            ),
            Some(table) => {
                let start = at >> bits << bits;
                let number = (start >> bits) as usize % table.len();
                (start, 1 << bits, self.place(start, table[number])?)
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
