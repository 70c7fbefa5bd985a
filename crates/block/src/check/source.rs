//! Units of an image that is decoded.

use std::sync::Arc;

use evener_runtime::{Service, Source};

use super::unit::UnitIn;
use crate::error::Error;
use crate::image::{Image, Place};
use crate::units::unit_blocks;

/// The blocks of an image, in order. The last unit says so, and may be empty.
pub struct BlockSource {
    image: Arc<Image>,
    blocks: usize,
    at: u64,
    /// Blocks without bytes that were read.
    empty: usize,
    done: bool,
}

impl BlockSource {
    /// All blocks.
    pub fn new(image: Arc<Image>) -> BlockSource {
        BlockSource {
            blocks: unit_blocks(image.block_size()),
            image,
            at: 0,
            empty: 0,
            done: false,
        }
    }

    /// Units there will be, about.
    pub fn count(&self) -> u64 {
        let unit = u64::from(self.image.block_size()) * self.blocks as u64;
        self.image.size().div_ceil(unit).max(1)
    }
}

impl<S: Service<Input = UnitIn>> Source<S> for BlockSource {
    type Error = Error;

    fn read(&mut self, unit: &mut UnitIn) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        unit.blocks.clear();
        while unit.blocks.len() < self.blocks {
            let empty = self.image.empty(self.empty);
            if let Some(block) = empty.filter(|block| block.start <= self.at) {
                self.empty += 1;
                unit.blocks.push(block);
                continue;
            }
            if self.at >= self.image.size() {
                self.done = true;
                break;
            }
            let mut block = self.image.block(self.at)?;
            if matches!(block.place, Place::Zero { packed: None }) {
                // Such a block may begin before.
                block.len -= self.at - block.start;
                block.start = self.at;
            }
            self.at = block.start + block.len;
            unit.blocks.push(block);
        }
        unit.last = self.done;
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.count())
    }
}
