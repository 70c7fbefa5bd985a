//! Raw images: the file has the bytes of the image, and its holes are zero.

use std::sync::Arc;

use super::{Format, Layout, Opened};
use crate::block::{Block, Check, Place};
use crate::error::Error;
use crate::file::ImageFile;

/// Raw images.
pub static RAW: Format = Format {
    name: "raw",
    about: "plain bytes",
    recognise: |_| true,
    open,
};

/// Bytes of a block, which is only what is read at once: nothing is decoded.
const BLOCK: u64 = 64 << 10;

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    Ok(Opened {
        size: file.size(),
        block: BLOCK as u32,
        layout: Box::new(Raw(Arc::clone(file))),
        leaves: None,
        backing: None,
    })
}

struct Raw(Arc<ImageFile>);

impl Layout for Raw {
    fn block(&self, at: u64) -> Result<Block, Error> {
        let start = at / BLOCK * BLOCK;
        let end = (start + BLOCK).min(self.0.size());
        let data = self.0.data_from(start);
        let hole = if data == self.0.size() {
            data
        } else {
            data / BLOCK * BLOCK
        };
        Ok(match hole >= end {
            true => Block {
                start,
                len: hole - start,
                place: Place::Zero { packed: None },
                check: Check::Nothing,
            },
            false => Block {
                start,
                len: end - start,
                place: Place::Stored { offset: start },
                check: Check::Nothing,
            },
        })
    }
}
