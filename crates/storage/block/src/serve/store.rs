//! A range of the image as pieces of decoded blocks.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use evener_files::{lock, unpoisoned};
use evener_runtime::{Pool, Rounds};

use super::cache::{Cache, DecodeGuard, DecodedBlock, Lookup, PendingBlock};
use super::faults::FaultLog;
use super::metrics::Metrics;
use crate::block::{Access, Block};
use crate::decoder::Decoder;
use crate::error::{Error, Fault};
use crate::image::Image;
use crate::overlay::Overlay;

/// A block to decode and how many of its bytes. The thread that decodes it takes it out.
pub(super) type DecodeTask = Mutex<Option<(Block, usize, DecodeGuard)>>;

/// An image with its decoded blocks, and the means to decode others.
#[derive(Debug)]
pub struct Store {
    image: Arc<Image>,
    cache: Arc<Cache>,
    decoders: Mutex<Vec<Decoder>>,
    rounds: Rounds,
    metrics: Metrics,
    pub(super) faults: FaultLog,
    pub(super) overlay: Option<Overlay>,
}

/// Bytes of the image cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadFailure {
    /// The first requested byte that cannot be read.
    pub at: u64,
}

/// Some bytes of the image.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A number of zeros.
    Zero(u64),
    /// A part of a block.
    Data(Arc<DecodedBlock>, Range<usize>),
}

impl Piece {
    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Piece::Zero(len) => *len,
            Piece::Data(_, range) => range.len() as u64,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A range of an image that is being read: its available pieces, and the pending ones. The memory is kept from one
/// range to the next.
#[derive(Debug, Default)]
pub struct Window {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Blocks are decoded whole, since other ranges of the batch may need more of them.
    pub(super) whole_blocks: bool,
    pub(super) pieces: Vec<Piece>,
    /// The pieces that are not there yet, by their place in `pieces`.
    pub(super) pending: Vec<(usize, Pending)>,
    pub(super) tasks: Vec<DecodeTask>,
}

/// What a piece waits for.
#[derive(Debug)]
pub(super) enum Pending {
    /// A block that this window decodes.
    Own(Arc<PendingBlock>, Range<usize>),
    /// A block that another thread decodes, and where it begins.
    Other(Arc<PendingBlock>, Range<usize>, u64),
    /// Bytes that are stored as they are, without a checksum: their place in the file, how many, and their place in
    /// the image.
    Stored(u64, usize, u64),
    /// Bytes of the overlay: their place in the image and how many.
    Overlay(u64, usize),
}

impl Window {
    /// Whether something has to be decoded, read or waited for.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The pieces, in order. All are available after [`Store::fill`].
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Where in this window a block of it begins, and which of its bytes are in the window.
    pub(super) fn part_of(&self, block: &Block) -> (u64, Range<usize>) {
        let from = block.start.max(self.from);
        let to = (block.start + block.len).min(self.to);
        let part = (from - block.start) as usize..(to - block.start) as usize;
        (from - self.from, part)
    }

    pub(super) fn push_pending(&mut self, pending: Pending) {
        self.pending.push((self.pieces.len(), pending));
    }

    /// Releases all pieces.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.pending.clear();
        self.tasks.clear();
    }
}

impl Store {
    /// Creates a store for an image that keeps up to `budget` bytes decoded. `rounds` decodes blocks that are needed
    /// at once.
    pub fn new(image: Arc<Image>, budget: u64, rounds: Rounds) -> Store {
        Store {
            cache: Cache::new(budget, image.block_size()),
            image,
            decoders: Mutex::default(),
            rounds,
            metrics: Metrics::default(),
            faults: FaultLog::default(),
            overlay: None,
        }
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The decoded blocks.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The rounds that decode blocks needed at once.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// The counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The log of problems.
    pub fn faults(&self) -> &FaultLog {
        &self.faults
    }

    /// Looks up the blocks from byte `range.start` on, until they have `most` bytes or the range ends, and returns
    /// that end. `window` is cleared first. Nothing is decoded here. The caller must [fill](Store::fill), clear or
    /// drop the window, since other threads may wait for its blocks.
    ///
    /// # Errors
    /// The image cannot locate the bytes.
    pub fn look_up(
        &self,
        range: Range<u64>,
        most: u64,
        window: &mut Window,
    ) -> Result<u64, ReadFailure> {
        window.clear();
        (window.from, window.to) = (range.start, range.end);
        match &self.overlay {
            None => self.look_up_image(range, most, window),
            Some(overlay) => self.look_up_overlay(overlay, range, most, window),
        }
    }

    /// The same in the image alone. The pieces are added to those of `window`.
    pub(super) fn look_up_image(
        &self,
        range: Range<u64>,
        most: u64,
        window: &mut Window,
    ) -> Result<u64, ReadFailure> {
        let mut at = range.start;
        while at < range.end && at - range.start < most {
            // The blocks of the window will not be decoded, so no thread may go on waiting for them.
            let block = self.block(at).inspect_err(|_| window.clear())?;
            let len = (block.start + block.len).min(range.end) - at;
            let (from, skip) = (at, at - block.start);
            at += len;
            let piece = match block.access() {
                Access::Zero => Piece::Zero(len),
                Access::File(offset) => {
                    let len = len.min(most);
                    at = at.min(block.start + skip + len);
                    window.push_pending(Pending::Stored(offset + skip, len as usize, from));
                    Piece::Zero(len)
                }
                Access::Decode => {
                    let part = skip as usize..(skip + len) as usize;
                    self.look_up_block(block, part, window)
                }
            };
            window.pieces.push(piece);
        }
        Ok(at)
    }

    /// Looks up a block that has to be decoded, at least up to the end of `part`.
    fn look_up_block(&self, block: Block, part: Range<usize>, window: &mut Window) -> Piece {
        let placeholder = Piece::Zero(part.len() as u64);
        let pending = match self.cache.look_up(block.start, part.end, true) {
            Lookup::Hit(decoded) => {
                self.metrics.hits.add(1);
                return Piece::Data(decoded, part);
            }
            Lookup::Pending(pending) => {
                self.metrics.waits.add(1);
                Pending::Other(pending, part, block.start)
            }
            Lookup::Miss(guard) => {
                self.metrics.misses.add(1);
                let pending = Arc::clone(guard.pending());
                let prefix = match window.whole_blocks {
                    true => block.len as usize,
                    // Where an overlay lies in between, this part of the block is not the last.
                    false => self.prefix(&block, window.part_of(&block).1.end),
                };
                window.tasks.push(Mutex::new(Some((block, prefix, guard))));
                Pending::Own(pending, part)
            }
        };
        window.push_pending(pending);
        placeholder
    }

    /// How many bytes of a block to decode where the first `needed` are requested.
    fn prefix(&self, block: &Block, needed: usize) -> usize {
        let len = block.len as usize;
        match self.image.has_prefix(block) {
            true => self.cache.prefixes().length(needed, len),
            false => len,
        }
    }

    fn block(&self, at: u64) -> Result<Block, ReadFailure> {
        self.image
            .block(at)
            .map_err(|error| self.report(&error, at))
    }

    /// Decodes and reads the missing parts of a window, on the workers of `pool` and this thread.
    ///
    /// # Errors
    /// The first byte that cannot be read.
    pub fn fill(&self, pool: &Pool, window: &mut Window) -> Result<(), ReadFailure> {
        self.decode(pool, &window.tasks);
        let mut failed = None;
        // This comes after decoding, when no thread waits for this one any more: two threads that waited for each
        // other's blocks would wait for ever.
        for (place, pending) in window.pending.drain(..) {
            match self.resolve(pending) {
                Some(piece) => window.pieces[place] = piece,
                None => {
                    failed.get_or_insert(place);
                }
            }
        }
        window.tasks.clear();
        match failed {
            None => Ok(()),
            Some(place) => {
                let before = window.pieces[..place].iter().map(Piece::len).sum::<u64>();
                let at = window.from + before;
                Err(ReadFailure { at })
            }
        }
    }

    /// Waits for a piece. Every block that this thread has to decode must be decoded.
    fn resolve(&self, pending: Pending) -> Option<Piece> {
        match pending {
            Pending::Own(pending, part) => {
                let block = pending.wait().as_ref()?;
                Some(Piece::Data(Arc::clone(block), part))
            }
            Pending::Other(pending, part, start) => {
                let block = self.wait_for(&pending, start, part.end)?;
                Some(Piece::Data(block, part))
            }
            Pending::Stored(offset, len, at) => self.read_stored(offset, len, at),
            Pending::Overlay(at, len) => self.read_overlay(at, len),
        }
    }

    /// Waits for a block that another thread decodes, of which the first `len` bytes are needed.
    pub(super) fn wait_for(
        &self,
        pending: &PendingBlock,
        start: u64,
        len: usize,
    ) -> Option<Arc<DecodedBlock>> {
        let long_enough = |block: &Arc<DecodedBlock>| block.bytes().len() >= len;
        let block = pending.wait().clone().filter(long_enough);
        block.or_else(|| self.retry(start, len))
    }

    /// Decodes a block after another thread did not, or decoded too little of it.
    fn retry(&self, start: u64, len: usize) -> Option<Arc<DecodedBlock>> {
        let guard = match self.cache.look_up(start, len, true) {
            Lookup::Hit(block) => return Some(block),
            Lookup::Pending(pending) => match pending.wait() {
                Some(block) if block.bytes().len() >= len => return Some(Arc::clone(block)),
                // Waiting for one thread after the other could take for ever.
                _ => None,
            },
            Lookup::Miss(guard) => Some(guard),
        };
        let block = self.block(start).ok()?;
        let mut decoder = self.decoder();
        let decoded = self.decode_one(&mut decoder, &block, block.len as usize);
        self.decoders().push(decoder);
        let decoded = Arc::new(decoded?);
        if let Some(guard) = guard {
            guard.complete(Arc::clone(&decoded));
        }
        Some(decoded)
    }

    /// Decodes the blocks of a range that are neither decoded nor pending. Waits for no other thread.
    pub fn prefetch(&self, pool: &Pool, range: Range<u64>, window: &mut Window) {
        window.clear();
        let mut at = range.start;
        while at < range.end {
            let Ok(block) = self.block(at) else {
                break;
            };
            at = block.start + block.len;
            if let Access::Decode = block.access()
                && !self.is_overwritten(&block)
                && let len = block.len as usize
                && let Lookup::Miss(guard) = self.cache.look_up(block.start, len, false)
            {
                self.metrics.prefetched.add(1);
                window.tasks.push(Mutex::new(Some((block, len, guard))));
            }
        }
        self.decode(pool, &window.tasks);
        window.clear();
    }

    fn decode(&self, pool: &Pool, tasks: &[DecodeTask]) {
        self.decode_each(pool, tasks.len(), |number| &tasks[number], |_, _, _| ());
    }

    /// Decodes `count` blocks, which `task` gives by number. For each decoded block `ready` is called with its number,
    /// on the thread that decoded it and before any other thread sees the block. If `ready` panics, none does.
    pub(super) fn decode_each<'a>(
        &self,
        pool: &Pool,
        count: usize,
        task: impl Fn(usize) -> &'a DecodeTask + Sync,
        ready: impl Fn(usize, &Block, &DecodedBlock) + Sync,
    ) {
        let done = self.rounds.run(pool, count as u32, &|_, items| {
            let mut decoder = self.decoder();
            for number in items.start as usize..items.end as usize {
                let taken = unpoisoned(task(number).lock()).take();
                if let Some((block, prefix, guard)) = taken
                    && let Some(decoded) = self.decode_one(&mut decoder, &block, prefix)
                {
                    ready(number, &block, &decoded);
                    guard.complete(Arc::new(decoded));
                }
            }
            self.decoders().push(decoder);
        });
        if let Err(panic) = done {
            self.faults
                .report(format_args!("a block could not be decoded: {panic}"));
            // Tasks that had not begun were skipped. Their guards are dropped, so that no thread waits for them.
            for number in 0..count {
                drop(unpoisoned(task(number).lock()).take());
            }
        }
    }

    fn decode_one(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        prefix: usize,
    ) -> Option<DecodedBlock> {
        let mut decoded = self.cache.buffer(prefix, block.len as usize);
        let done = self.image.read_prefix(decoder, block, decoded.bytes_mut());
        match done {
            Ok(()) => {
                if (prefix as u64) < block.len {
                    let prefixes = self.cache.prefixes();
                    prefixes.count_decoded(prefix, block.len as usize);
                }
                Some(decoded)
            }
            Err(error) => {
                self.report(&error, block.start);
                None
            }
        }
    }

    /// Reads bytes that are stored as they are, and that begin at byte `at` of the image.
    pub(super) fn read_stored(&self, offset: u64, len: usize, at: u64) -> Option<Piece> {
        let mut bytes = self.cache.buffer(len, len);
        let error = match self.image.file().read(offset, bytes.bytes_mut()) {
            Ok(got) if got == len => return Some(Piece::Data(Arc::new(bytes), 0..len)),
            Ok(_) => self.image.block_error(at, Fault::Cut),
            Err(error) => error,
        };
        self.report(&error, at);
        None
    }

    /// Logs and counts an error.
    pub(crate) fn report(&self, error: &Error, at: u64) -> ReadFailure {
        self.metrics.bad.add(1);
        self.faults.report(error);
        ReadFailure { at }
    }

    fn decoder(&self) -> Decoder {
        let spare = self.decoders().pop();
        spare.unwrap_or_default()
    }

    fn decoders(&self) -> MutexGuard<'_, Vec<Decoder>> {
        lock(&self.decoders)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use evener_runtime::Runtime;
    use evener_testing::Folder;

    use super::*;
    use crate::block::Place;
    use crate::codec::{Codec, LZ4, ZSTD};
    use crate::session::{Options, PackOptions, pack};

    fn frames() -> Arc<Image> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/frames.zst");
        Arc::new(Image::open(&path).unwrap())
    }

    #[test]
    fn no_thread_waits_for_blocks_that_a_panic_left() {
        let (image, pool) = (frames(), Pool::new(1).unwrap());
        let store = Store::new(Arc::clone(&image), 0, Rounds::plain(1));
        let mut window = Window::default();
        store
            .look_up(0..image.size(), u64::MAX, &mut window)
            .unwrap();
        let tasks = &window.tasks;
        assert!(tasks.len() > 1, "{window:?}");
        let panics = |number: usize, _: &Block, _: &DecodedBlock| assert!(number > 0, "the first");
        store.decode_each(&pool, tasks.len(), |number| &tasks[number], panics);
        for (_, piece) in &window.pending {
            let Pending::Own(pending, _) = piece else {
                panic!("{piece:?}");
            };
            assert!(pending.get().is_some());
        }
    }

    #[test]
    fn blocks_of_a_window_that_is_cleared_are_decoded_by_those_who_wait() {
        let image = frames();
        let store = Store::new(Arc::clone(&image), 1 << 20, Rounds::plain(1));
        let pool = Pool::new(1).unwrap();
        let (mut first, mut second) = (Window::default(), Window::default());
        let mut at = 0;
        while !matches!(image.block(at).unwrap().place, Place::Packed { .. }) {
            at += image.block(at).unwrap().len;
        }
        store.look_up(at..at + 1, 1, &mut first).unwrap();
        store.look_up(at..at + 1, 1, &mut second).unwrap();
        assert_eq!(store.metrics().waits.get(), 1);
        first.clear();
        store.fill(&pool, &mut second).unwrap();
        let mut wanted = [0];
        image.read_at(&mut Decoder::new(), at, &mut wanted).unwrap();
        let [Piece::Data(block, part)] = second.pieces() else {
            panic!("{second:?}");
        };
        assert_eq!(block.bytes()[part.clone()], wanted);
    }

    /// One block of a codec, and what is in it.
    fn one_block(codec: &'static Codec) -> (Arc<Image>, Vec<u8>) {
        let plain: Vec<u8> = (0..65_536u32).map(|i| (i / 5 * i) as u8).collect();
        let folder = Folder::new();
        let (raw, packed) = (folder.file("img", &plain), folder.path("evb"));
        let options = PackOptions {
            codec,
            ..PackOptions::default()
        };
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let session = pack(raw.as_os_str(), packed.as_os_str(), &options).unwrap();
        session.run(&runtime, Options::default()).unwrap();
        let image = Image::open(&packed).unwrap();
        (Arc::new(image), plain)
    }

    #[test]
    fn a_block_with_holes_of_an_overlay_is_decoded_once() {
        let (image, plain) = one_block(&ZSTD);
        let pool = Pool::new(1).unwrap();
        let store = Store::new(image, 0, Rounds::plain(1));
        let mut window = Window {
            to: 65_536,
            ..Window::default()
        };
        let parts = [0..4096, 8192..12_288, 40_960..65_536];
        for part in parts.clone() {
            store.look_up_image(part, u64::MAX, &mut window).unwrap();
        }
        store.fill(&pool, &mut window).unwrap();
        let mut blocks = Vec::new();
        for (piece, part) in window.pieces().iter().zip(parts) {
            let Piece::Data(block, place) = piece else {
                panic!("{piece:?}");
            };
            let wanted = &plain[part.start as usize..part.end as usize];
            assert_eq!(block.bytes()[place.clone()], *wanted, "{part:?}");
            blocks.push(Arc::clone(block));
        }
        assert!(blocks.iter().all(|block| Arc::ptr_eq(block, &blocks[0])));
        assert_eq!(store.cache().prefixes().decoded_total(), 0);
    }

    #[test]
    fn more_than_the_prefix_of_a_block_can_be_read() {
        let pool = Pool::new(1).unwrap();
        for (codec, budget) in [(&LZ4, 0), (&LZ4, 1 << 20), (&ZSTD, 0), (&ZSTD, 1 << 20)] {
            let (image, plain) = one_block(codec);
            let store = Store::new(Arc::clone(&image), budget, Rounds::plain(1));
            let windows = [0..10, 5000..5001, 65_000..65_536, 0..10].map(|range| {
                let mut window = Window::default();
                store.look_up(range.clone(), u64::MAX, &mut window).unwrap();
                (range, window)
            });
            for (number, (range, mut window)) in windows.into_iter().enumerate() {
                store.fill(&pool, &mut window).unwrap();
                let [Piece::Data(block, part)] = window.pieces() else {
                    panic!("{window:?}");
                };
                let wanted = &plain[range.start as usize..range.end as usize];
                assert_eq!(block.bytes()[part.clone()], *wanted, "{range:?}");
                let prefix = if number == 0 || number == 3 {
                    4096
                } else {
                    65_536
                };
                assert_eq!(block.bytes().len(), prefix, "{range:?}");
            }
            let prefixes = store.cache().prefixes();
            let kept = u64::from(budget > 0);
            assert_eq!(
                (prefixes.decoded_total(), prefixes.extended_total()),
                (1, kept)
            );
        }
    }
}
