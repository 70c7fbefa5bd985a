//! Units of an image that is decoded.

use evener_runtime::{Service, Source};

use super::findings::{BadBlock, Findings};
use super::unit::UnitIn;
use crate::block::{Block, Check, Place};
use crate::error::Error;
use crate::merged::Merged;
use crate::units::unit_blocks;

/// The blocks of an image, in order. The last unit is marked, and may be empty.
pub struct BlockSource {
    merged: Merged,
    /// Where blocks that cannot be found are recorded; `None` if the first of them ends the run.
    findings: Option<Findings>,
    blocks: usize,
    at: u64,
    /// Blocks without bytes that were read.
    empty: usize,
    done: bool,
}

impl BlockSource {
    /// Creates a source of all blocks. The first block that cannot be found ends the run.
    pub fn new(merged: Merged) -> BlockSource {
        BlockSource {
            blocks: unit_blocks(merged.image().block_size()),
            merged,
            findings: None,
            at: 0,
            empty: 0,
            done: false,
        }
    }

    /// Records blocks that cannot be found, instead of ending the run.
    pub fn with_findings(self, findings: Findings) -> BlockSource {
        BlockSource {
            findings: Some(findings),
            ..self
        }
    }

    /// The approximate number of units.
    pub fn count(&self) -> u64 {
        let image = self.merged.image();
        let unit = u64::from(image.block_size()) * self.blocks as u64;
        image.size().div_ceil(unit).max(1)
    }

    /// The next block. A zero block is cut where the overlay begins or ends. `None`: it cannot be found, which was
    /// recorded.
    fn next(&mut self) -> Result<Option<Block>, Error> {
        let (at, image) = (self.at, self.merged.image());
        let zeros = |end: u64| Block {
            start: at,
            len: end - at,
            place: Place::Zero { packed: None },
            check: Check::Zero,
        };
        let after = image.after(at);
        let whole = |block: &Block| match block.place {
            Place::Zero { packed } => packed.is_some() && self.merged.overlay().is_none(),
            _ => true,
        };
        let block = match image.block(at) {
            Ok(block) if whole(&block) => block,
            Ok(block) => {
                let (over, to) = self.merged.run(at, block.start + block.len);
                zeros(if over { to.min(after) } else { to })
            }
            // The overlay has all of its bytes.
            Err(_) if self.merged.run(at, after) == (true, after) => zeros(after),
            Err(error) => {
                let Some(findings) = &self.findings else {
                    return Err(error);
                };
                findings.bad(BadBlock::of(error, at, after - at)?);
                self.at = after;
                return Ok(None);
            }
        };
        self.at = block.start + block.len;
        Ok(Some(block))
    }
}

impl<S: Service<Input = UnitIn>> Source<S> for BlockSource {
    type Error = Error;

    fn read(&mut self, unit: &mut UnitIn) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        unit.blocks.clear();
        let size = self.merged.image().size();
        while unit.blocks.len() < self.blocks {
            let empty = self.merged.image().empty(self.empty);
            if let Some(block) = empty.filter(|block| block.start <= self.at) {
                self.empty += 1;
                unit.blocks.push(block);
                continue;
            }
            if self.at >= size {
                self.done = true;
                break;
            }
            unit.blocks.extend(self.next()?);
        }
        unit.last = self.done;
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        Some(self.count())
    }

    fn may_wait(&self) -> bool {
        self.merged.image().file().may_wait()
    }
}
