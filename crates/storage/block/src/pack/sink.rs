//! Writing packed units to a file or a pipe.

use std::sync::{Arc, Mutex};

use evener_files::{OutputFile, lock};
use evener_runtime::stream::ByteCount;
use evener_runtime::{Service, Sink};

use super::container::{self, BlockRecord, Container, ContainerFile, Packed, check_entries};
use super::unit::{BlockResult, UnitOut};
use crate::codec::Codec;
use crate::error::Error;
use crate::hash::Root;
use crate::image::Image;

/// Writes units to a container. A file gets its name only if the whole image was written and did not change
/// meanwhile.
pub struct PackSink {
    /// The image that is packed, if it is a file.
    image: Option<Arc<Image>>,
    out: ContainerFile,
    container: Box<dyn Container>,
    block: u64,
    root: Option<Root>,
    /// Bytes of the run of zero blocks that is not written yet.
    zeros: u64,
    packed: Packed,
    /// The result, once it is known.
    shared: Arc<Mutex<Packed>>,
    count: ByteCount,
    complete: bool,
}

impl PackSink {
    /// Creates a sink for blocks of `block` bytes, packed by `codec` at `level`, from `image` if it is a file.
    pub fn new(
        output: OutputFile,
        image: Option<Arc<Image>>,
        (codec, level, block): (&'static Codec, i32, u32),
    ) -> PackSink {
        PackSink {
            image,
            out: ContainerFile::new(output),
            container: container::of(codec, level, block),
            block: block.into(),
            root: Some(Root::new(block)),
            zeros: 0,
            packed: Packed::default(),
            shared: Arc::default(),
            count: ByteCount::default(),
            complete: false,
        }
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        self.out.name()
    }

    /// Gives the result after the end.
    pub(crate) fn result(&self) -> impl Fn() -> Packed + use<> {
        let shared = Arc::clone(&self.shared);
        move || *lock(&shared)
    }

    /// Counts the bytes of the image that are packed.
    pub(crate) fn count(&self) -> ByteCount {
        self.count.clone()
    }

    fn zero(&mut self, bytes: u64) {
        let blocks = bytes.div_ceil(self.block);
        if let Some(root) = &mut self.root {
            root.zeros(blocks);
        }
        self.zeros += bytes;
        self.packed.zero_blocks += blocks;
    }

    fn flush_zeros(&mut self) -> Result<(), Error> {
        let zeros = std::mem::take(&mut self.zeros);
        match zeros {
            0 => Ok(()),
            _ => self.container.zeros(&mut self.out, zeros),
        }
    }
}

impl<S: Service<Output = UnitOut>> Sink<S> for PackSink {
    type Error = Error;

    fn start(&mut self, _: &S) -> Result<(), Error> {
        self.container.start(&mut self.out)
    }

    fn write(&mut self, unit: &UnitOut) -> Result<(), Error> {
        let span = unit.span();
        self.complete |= span.last;
        self.packed.size += span.len;
        self.count.add(span.len);
        self.packed.blocks += span.len.div_ceil(self.block);
        let blocks = match span.zero {
            true => {
                self.zero(span.len);
                0
            }
            false => span.len.div_ceil(self.block) as usize,
        };
        let rows = unit.rows();
        for block in 0..blocks {
            let plain = self.block.min(span.len - block as u64 * self.block);
            match unit.result(block) {
                BlockResult::Zero => self.zero(plain),
                BlockResult::Packed {
                    codec,
                    len,
                    hash,
                    sum,
                } => {
                    self.flush_zeros()?;
                    if let Some(root) = &mut self.root {
                        root.block(&hash);
                    }
                    let packed = &rows[block * unit.width()..][..len];
                    let block = BlockRecord {
                        codec,
                        packed,
                        sum,
                        plain,
                        hash: &hash,
                    };
                    self.container.block(&mut self.out, &block)?;
                }
            }
        }
        // This comes before a run of zeros is written, which takes memory and cannot be cancelled.
        check_entries(&*self.container, &self.out, self.zeros)
    }

    fn may_wait(&self) -> bool {
        self.out.may_wait()
    }

    fn finish(&mut self) -> Result<(), Error> {
        // A cancelled run is finished too, but its output is incomplete.
        if !self.complete {
            return Ok(());
        }
        if let Some(image) = &self.image {
            image.unchanged()?;
        }
        self.flush_zeros()?;
        let Some(root) = self.root.take() else {
            return Ok(());
        };
        let root = root.finish(self.packed.size);
        self.container
            .finish(&mut self.out, self.packed.size, root)?;
        self.packed.packed_size = self.out.bytes();
        self.packed.root = Some(root);
        self.out.commit()?;
        *lock(&self.shared) = self.packed;
        Ok(())
    }
}
