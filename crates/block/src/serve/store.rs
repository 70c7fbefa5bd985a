//! A range of the image as pieces of decoded blocks.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use evener_runtime::{Pool, Rounds};

use super::cache::{Cache, Flight, Found, Lead, Plain};
use super::faults::Faults;
use super::metrics::Metrics;
use crate::decoder::Decoder;
use crate::error::{Error, Fault};
use crate::image::{Access, Block, Image};
use crate::overlay::Overlay;

/// A block to decode, how many of its bytes, and for whom.
pub(super) type Task = Mutex<Option<(Block, usize, Lead)>>;

/// An image, what of it is decoded, and how the rest comes to be.
#[derive(Debug)]
pub struct Store {
    image: Arc<Image>,
    cache: Arc<Cache>,
    decoders: Mutex<Vec<Decoder>>,
    rounds: Rounds,
    metrics: Metrics,
    pub(super) faults: Faults,
    pub(super) overlay: Option<Overlay>,
}

/// Bytes of the image that are not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The first byte asked for that is among them.
    pub at: u64,
}

/// Some bytes of the image, once they are there.
#[derive(Clone, Debug)]
pub enum Piece {
    /// So many zeros.
    Zero(u64),
    /// A part of a block.
    Data(Arc<Plain>, Range<usize>),
}

impl Piece {
    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        match self {
            Piece::Zero(len) => *len,
            Piece::Data(_, range) => range.len() as u64,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A range of an image on its way: pieces that are there, and what the others wait for. Kept from one range to the
/// next, so that it need not grow again.
#[derive(Debug, Default)]
pub struct Window {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Others of the same round may need more of its blocks than it does.
    pub(super) whole: bool,
    pub(super) pieces: Vec<Piece>,
    /// Places in `pieces` that are not there yet.
    pub(super) coming: Vec<(usize, Coming)>,
    pub(super) leads: Vec<Task>,
}

#[derive(Debug)]
pub(super) enum Coming {
    /// It is decoded here.
    Mine(Arc<Flight>, Range<usize>),
    /// Somebody else decodes the block, which begins there.
    Theirs(Arc<Flight>, Range<usize>, u64),
    /// They lie in the file as they are, so many from that byte on, and there is nothing to compare them with. Last, which
    /// byte of the image the first is.
    File(u64, usize, u64),
    /// They lie in the overlay, from that byte of the image on.
    Over(u64, usize),
}

impl Window {
    /// Whether something has to be decoded, read or waited for.
    pub fn is_cold(&self) -> bool {
        !self.coming.is_empty()
    }

    /// The pieces, in order; all there after [`Store::fill`].
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Where in this window a block of it begins, and which of its bytes are in it.
    pub(super) fn part_of(&self, block: &Block) -> (u64, Range<usize>) {
        let from = block.start.max(self.from);
        let to = (block.start + block.len).min(self.to);
        let part = (from - block.start) as usize..(to - block.start) as usize;
        (from - self.from, part)
    }

    /// Lets go of all pieces.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.coming.clear();
        self.leads.clear();
    }
}

impl Store {
    /// An image of which `budget` bytes are kept decoded, in `rounds` of blocks.
    pub fn new(image: Arc<Image>, budget: u64, rounds: Rounds) -> Store {
        Store {
            cache: Cache::new(budget, image.block_size()),
            image,
            decoders: Mutex::default(),
            rounds,
            metrics: Metrics::default(),
            faults: Faults::default(),
            overlay: None,
        }
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What is kept.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How blocks are decoded that are needed at once.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What went wrong.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Looks up the blocks from byte `range.start` on, until they have `most` bytes or the range ends, and says where
    /// that is. Whatever `window` held is gone. Nothing is decoded here; whoever has looked has to [fill](Store::fill),
    /// or drop or clear the window, since others may wait for it by now.
    ///
    /// # Errors
    /// The image cannot say where its bytes are.
    pub fn look(&self, range: Range<u64>, most: u64, window: &mut Window) -> Result<u64, Bad> {
        window.clear();
        (window.from, window.to) = (range.start, range.end);
        match &self.overlay {
            None => self.look_under(range, most, window),
            Some(overlay) => self.look_over(overlay, range, most, window),
        }
    }

    /// The same in the image alone, whose pieces come behind those that `window` has.
    pub(super) fn look_under(
        &self,
        range: Range<u64>,
        most: u64,
        window: &mut Window,
    ) -> Result<u64, Bad> {
        let mut at = range.start;
        while at < range.end && at - range.start < most {
            // Nobody is to wait for what will not be decoded.
            let block = self.block(at).inspect_err(|_| window.clear())?;
            let len = (block.start + block.len).min(range.end) - at;
            let (from, skip) = (at, at - block.start);
            at += len;
            let piece = match block.access() {
                Access::Zero => Piece::Zero(len),
                Access::File(offset) => {
                    let len = len.min(most);
                    at = at.min(block.start + skip + len);
                    let coming = Coming::File(offset + skip, len as usize, from);
                    window.coming.push((window.pieces.len(), coming));
                    Piece::Zero(len)
                }
                Access::Whole => {
                    let part = skip as usize..(skip + len) as usize;
                    self.look_whole(block, part, window)
                }
            };
            window.pieces.push(piece);
        }
        Ok(at)
    }

    /// A block of which more is needed than is wanted: all before it is decoded, or everything is compared.
    fn look_whole(&self, block: Block, part: Range<usize>, window: &mut Window) -> Piece {
        let stand_in = Piece::Zero(part.len() as u64);
        let coming = match self.cache.find(block.start, part.end, true) {
            Found::Ready(plain) => {
                self.metrics.hits.add(1);
                return Piece::Data(plain, part);
            }
            Found::Coming(flight) => {
                self.metrics.waits.add(1);
                Coming::Theirs(flight, part, block.start)
            }
            Found::Mine(lead) => {
                self.metrics.misses.add(1);
                let flight = Arc::clone(lead.flight());
                let front = match window.whole {
                    true => block.len as usize,
                    // Where an overlay lies in between this part is not the last.
                    false => self.front(&block, window.part_of(&block).1.end),
                };
                window.leads.push(Mutex::new(Some((block, front, lead))));
                Coming::Mine(flight, part)
            }
        };
        window.coming.push((window.pieces.len(), coming));
        stand_in
    }

    /// How many of a block's bytes to decode where the first `needed` are wanted.
    fn front(&self, block: &Block, needed: usize) -> usize {
        let len = block.len as usize;
        match self.image.has_front(block) {
            true => self.cache.fronts().of(needed, len),
            false => len,
        }
    }

    fn block(&self, at: u64) -> Result<Block, Bad> {
        self.image.block(at).map_err(|error| self.told(&error, at))
    }

    /// Brings what a window lacks, on the workers of `pool` and this thread.
    ///
    /// # Errors
    /// The first byte that is not to be had.
    pub fn fill(&self, pool: &Pool, window: &mut Window) -> Result<(), Bad> {
        self.decode(pool, &window.leads);
        let mut bad = None;
        // Only now, when nobody waits for this thread any more: two that waited for each other's blocks would wait for
        // ever.
        for (place, coming) in window.coming.drain(..) {
            let there = match coming {
                Coming::Mine(flight, part) => {
                    let plain = flight.wait().as_ref();
                    plain.map(|plain| Piece::Data(Arc::clone(plain), part))
                }
                Coming::Theirs(flight, part, start) => {
                    let plain = self.theirs(&flight, start, part.end);
                    plain.map(|plain| Piece::Data(plain, part))
                }
                Coming::File(offset, len, at) => self.read(offset, len, at),
                Coming::Over(at, len) => self.read_over(at, len),
            };
            match there {
                Some(piece) => window.pieces[place] = piece,
                None => {
                    bad.get_or_insert(place);
                }
            }
        }
        window.leads.clear();
        match bad {
            None => Ok(()),
            Some(place) => {
                let before = window.pieces[..place].iter().map(Piece::len).sum::<u64>();
                let at = window.from + before;
                Err(Bad { at })
            }
        }
    }

    /// A block that somebody else decodes, of which the first `len` bytes are needed.
    pub(super) fn theirs(&self, flight: &Flight, start: u64, len: usize) -> Option<Arc<Plain>> {
        let enough = |plain: &Arc<Plain>| plain.bytes().len() >= len;
        let plain = flight.wait().clone().filter(enough);
        plain.or_else(|| self.again(start, len))
    }

    /// A block that somebody else was to decode and did not, or less of it: it is damaged, or whoever it was had to
    /// leave, or needed less.
    fn again(&self, start: u64, len: usize) -> Option<Arc<Plain>> {
        let lead = match self.cache.find(start, len, true) {
            Found::Ready(plain) => return Some(plain),
            Found::Coming(flight) => match flight.wait() {
                Some(plain) if plain.bytes().len() >= len => return Some(Arc::clone(plain)),
                // Who waits for one after the other may wait for ever.
                _ => None,
            },
            Found::Mine(lead) => Some(lead),
        };
        let block = self.block(start).ok()?;
        let mut decoder = self.decoder();
        let plain = self.decode_one(&mut decoder, &block, block.len as usize);
        self.decoders().push(decoder);
        let plain = Arc::new(plain?);
        if let Some(lead) = lead {
            lead.land(Arc::clone(&plain));
        }
        Some(plain)
    }

    /// Decodes blocks that are not there yet and that nobody decodes, and waits for none.
    pub fn prefetch(&self, pool: &Pool, range: Range<u64>, window: &mut Window) {
        window.clear();
        let mut at = range.start;
        while at < range.end {
            let Ok(block) = self.block(at) else {
                break;
            };
            at = block.start + block.len;
            if let Access::Whole = block.access()
                && !self.is_over(&block)
                && let len = block.len as usize
                && let Found::Mine(lead) = self.cache.find(block.start, len, false)
            {
                self.metrics.ahead.add(1);
                window.leads.push(Mutex::new(Some((block, len, lead))));
            }
        }
        self.decode(pool, &window.leads);
        window.clear();
    }

    fn decode(&self, pool: &Pool, leads: &[Task]) {
        self.decode_each(pool, leads.len(), |number| &leads[number], |_, _, _| ());
    }

    /// Decodes `count` blocks, of which `lead` gives each by its number. `ready` is called with the number of each that
    /// could be decoded, on the thread that has, before anybody else gets it: if it panics nobody does.
    pub(super) fn decode_each<'a>(
        &self,
        pool: &Pool,
        count: usize,
        lead: impl Fn(usize) -> &'a Task + Sync,
        ready: impl Fn(usize, &Block, &Plain) + Sync,
    ) {
        let done = self.rounds.run(pool, count as u32, &|_, items| {
            let mut decoder = self.decoder();
            for number in items.start as usize..items.end as usize {
                let taken = lead(number).lock();
                let taken = taken.unwrap_or_else(PoisonError::into_inner).take();
                if let Some((block, front, lead)) = taken
                    && let Some(plain) = self.decode_one(&mut decoder, &block, front)
                {
                    ready(number, &block, &plain);
                    lead.land(Arc::new(plain));
                }
            }
            self.decoders().push(decoder);
        });
        if let Err(panic) = done {
            self.faults
                .tell(format_args!("a block could not be decoded: {panic}"));
            // Those that had not begun were skipped. Dropped, they tell those who wait, this thread among them.
            for number in 0..count {
                let left = lead(number).lock();
                drop(left.unwrap_or_else(PoisonError::into_inner).take());
            }
        }
    }

    fn decode_one(&self, decoder: &mut Decoder, block: &Block, front: usize) -> Option<Plain> {
        let mut plain = self.cache.buffer(front, block.len as usize);
        let done = self.image.read_front(decoder, block, plain.bytes_mut());
        match done {
            Ok(()) => {
                if (front as u64) < block.len {
                    self.cache.fronts().made(front, block.len as usize);
                }
                Some(plain)
            }
            Err(error) => {
                self.told(&error, block.start);
                None
            }
        }
    }

    /// Bytes that lie in the file as they are, and in the image from byte `at` on.
    pub(super) fn read(&self, offset: u64, len: usize, at: u64) -> Option<Piece> {
        let mut plain = self.cache.buffer(len, len);
        let error = match self.image.file().read(offset, plain.bytes_mut()) {
            Ok(got) if got == len => return Some(Piece::Data(Arc::new(plain), 0..len)),
            Ok(_) => self.image.wrong(at, Fault::Cut),
            Err(error) => error,
        };
        self.told(&error, at);
        None
    }

    /// Tells of a fault and counts it.
    pub(crate) fn told(&self, error: &Error, at: u64) -> Bad {
        self.metrics.bad.add(1);
        self.faults.tell(error);
        Bad { at }
    }

    fn decoder(&self) -> Decoder {
        let spare = self.decoders().pop();
        spare.unwrap_or_default()
    }

    fn decoders(&self) -> std::sync::MutexGuard<'_, Vec<Decoder>> {
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Place;

    use std::path::Path;

    use evener_runtime::Runtime;

    use crate::codec::{Codec, LZ4, ZSTD};
    use crate::session::{Options, PackOptions, pack};

    fn frames() -> Arc<Image> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/frames.zst");
        Arc::new(Image::open(&path).unwrap())
    }

    #[test]
    fn nobody_waits_for_blocks_that_a_panic_left() {
        let (image, pool) = (frames(), Pool::new(1).unwrap());
        let store = Store::new(Arc::clone(&image), 0, Rounds::plain(1));
        let mut window = Window::default();
        store.look(0..image.size(), u64::MAX, &mut window).unwrap();
        let leads = &window.leads;
        assert!(leads.len() > 1, "{window:?}");
        let falls =
            |number: usize, _: &Block, _: &Plain| assert!(number > 0, "the first one falls");
        store.decode_each(&pool, leads.len(), |number| &leads[number], falls);
        for (_, coming) in &window.coming {
            let Coming::Mine(flight, _) = coming else {
                panic!("{coming:?}");
            };
            assert!(flight.get().is_some());
        }
    }

    #[test]
    fn who_leaves_without_decoding_leaves_it_to_those_who_wait() {
        let image = frames();
        let store = Store::new(Arc::clone(&image), 1 << 20, Rounds::plain(1));
        let pool = Pool::new(1).unwrap();
        let (mut first, mut second) = (Window::default(), Window::default());
        let mut at = 0;
        while !matches!(image.block(at).unwrap().place, Place::Packed { .. }) {
            at += image.block(at).unwrap().len;
        }
        store.look(at..at + 1, 1, &mut first).unwrap();
        store.look(at..at + 1, 1, &mut second).unwrap();
        assert_eq!(store.metrics().waits.get(), 1);
        first.clear();
        store.fill(&pool, &mut second).unwrap();
        let mut wanted = [0];
        image.read_at(&mut Decoder::new(), at, &mut wanted).unwrap();
        let [Piece::Data(plain, part)] = second.pieces() else {
            panic!("{second:?}");
        };
        assert_eq!(plain.bytes()[part.clone()], wanted);
    }

    /// One block of a codec, and what is in it.
    fn one_block(codec: &'static Codec) -> (Arc<Image>, Vec<u8>) {
        let path = |end: &str| {
            let name = format!("evener-store-{}-{}.{end}", codec.name, std::process::id());
            std::env::temp_dir().join(name)
        };
        let (raw, packed) = (path("img"), path("evb"));
        let plain: Vec<u8> = (0..65_536u32).map(|i| (i / 5 * i) as u8).collect();
        std::fs::write(&raw, &plain).unwrap();
        let options = PackOptions {
            codec,
            ..PackOptions::default()
        };
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let session = pack(raw.as_os_str(), packed.as_os_str(), &options).unwrap();
        session.run(&runtime, Options::default()).unwrap();
        let image = Image::open(&packed).unwrap();
        std::fs::remove_file(raw).unwrap();
        std::fs::remove_file(packed).unwrap();
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
            store.look_under(part, u64::MAX, &mut window).unwrap();
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
        assert_eq!(store.cache().fronts().made_total(), 0);
    }

    #[test]
    fn who_needs_more_than_the_front_of_a_block_gets_it() {
        let pool = Pool::new(1).unwrap();
        for (codec, budget) in [(&LZ4, 0), (&LZ4, 1 << 20), (&ZSTD, 0), (&ZSTD, 1 << 20)] {
            let (image, plain) = one_block(codec);
            let store = Store::new(Arc::clone(&image), budget, Rounds::plain(1));
            let windows = [0..10, 5000..5001, 65_000..65_536, 0..10].map(|range| {
                let mut window = Window::default();
                store.look(range.clone(), u64::MAX, &mut window).unwrap();
                (range, window)
            });
            for (number, (range, mut window)) in windows.into_iter().enumerate() {
                store.fill(&pool, &mut window).unwrap();
                let [Piece::Data(block, part)] = window.pieces() else {
                    panic!("{window:?}");
                };
                let wanted = &plain[range.start as usize..range.end as usize];
                assert_eq!(block.bytes()[part.clone()], *wanted, "{range:?}");
                let front = if number == 0 || number == 3 {
                    4096
                } else {
                    65_536
                };
                assert_eq!(block.bytes().len(), front, "{range:?}");
            }
            let fronts = store.cache().fronts();
            let kept = u64::from(budget > 0);
            assert_eq!((fronts.made_total(), fronts.again_total()), (1, kept));
        }
    }
}
