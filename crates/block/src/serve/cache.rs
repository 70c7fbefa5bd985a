//! Decoded blocks in memory: a budget of it, and no block decoded by two at the same time however many ask for it.
//!
//! Blocks are divided over shards by their number, each with a lock that is held for a look-up and never while
//! something is decoded. In a shard a clock decides what goes: a block that was asked for again since the hand last
//! passed it stays once more. So what a single pass over the image brought goes before what is used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::counter::Counter;
use super::fronts::Fronts;

/// Most shards.
const SHARDS: u64 = 16;
/// Bytes of buffers that wait for their next block, about; beside the budget.
const SPARE: u64 = 4 << 20;
/// Bytes that a block in the cache takes beside its own: its place, its slot and what allocations cost.
const BESIDE: u64 = 192;
/// A shard has room for so many blocks at least, or there are fewer shards.
const PER_SHARD: u64 = 8;

/// The bytes of a block, or the first of them, which go back to be used again when nobody has them any more.
#[derive(Debug)]
pub struct Plain {
    bytes: Vec<u8>,
    /// How many of them there are.
    len: usize,
    home: Arc<Spares>,
}

impl Plain {
    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// To be filled, while they are nobody else's.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// Bytes of memory that it takes in the cache.
    fn takes(&self) -> u64 {
        self.bytes.capacity() as u64 + BESIDE
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let mut spares = lock(&self.home.spares);
        if spares.len() < self.home.most {
            spares.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Buffers that are not in use.
#[derive(Debug)]
struct Spares {
    spares: Mutex<Vec<Vec<u8>>>,
    most: usize,
}

/// A block that somebody decodes. Whoever else wants it waits here; there is nothing in it if that failed.
pub type Flight = OnceLock<Option<Arc<Plain>>>;

/// What there is of a block.
#[derive(Debug)]
pub enum Found {
    /// Its bytes.
    Ready(Arc<Plain>),
    /// Somebody else decodes it.
    Coming(Arc<Flight>),
    /// Nobody has it: whoever asked has to decode it.
    Mine(Lead),
}

/// The duty to decode a block. Dropped without having landed, it tells those who wait that it failed.
#[derive(Debug)]
pub struct Lead {
    cache: Arc<Cache>,
    start: u64,
    flight: Arc<Flight>,
    landed: bool,
}

impl Lead {
    /// Where to wait for it.
    pub fn flight(&self) -> &Arc<Flight> {
        &self.flight
    }

    /// Puts the block into the cache and gives it to those who wait.
    pub fn land(mut self, plain: Arc<Plain>) {
        self.landed = true;
        self.cache.keep(self.start, Some(&plain));
        // Only a lead sets it, once.
        let _ = self.flight.set(Some(plain));
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.landed {
            self.cache.keep(self.start, None);
            let _ = self.flight.set(None);
        }
    }
}

/// Decoded blocks by their first byte.
#[derive(Debug)]
pub struct Cache {
    shards: Box<[Mutex<Shard>]>,
    /// Bytes of each.
    room: u64,
    budget: u64,
    block: u64,
    spares: Arc<Spares>,
    /// Blocks that were wanted after they were decoded, or begun, ahead.
    ahead_used: Counter,
    fronts: Fronts,
}

#[derive(Debug, Default)]
struct Shard {
    places: HashMap<u64, Place>,
    slots: Vec<Slot>,
    hand: usize,
    bytes: u64,
}

#[derive(Debug)]
enum Place {
    Slot(usize),
    Flight { flight: Arc<Flight>, ahead: bool },
}

#[derive(Debug)]
struct Slot {
    start: u64,
    plain: Arc<Plain>,
    used: bool,
    /// Nobody has wanted it yet.
    ahead: bool,
}

impl Cache {
    /// Room for `budget` bytes in blocks of up to `block`. With 0 nothing is kept, and still no block is decoded by two
    /// at the same time.
    pub fn new(budget: u64, block: u32) -> Arc<Cache> {
        let block = u64::from(block.max(1));
        let shards = (budget / ((block + BESIDE) * PER_SHARD)).clamp(1, SHARDS);
        let most = (SPARE / block).clamp(4, 64) as usize;
        Arc::new(Cache {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            room: budget / shards,
            budget,
            block,
            spares: Arc::new(Spares {
                spares: Mutex::default(),
                most,
            }),
            ahead_used: Counter::default(),
            fronts: Fronts::default(),
        })
    }

    /// Bytes of memory that blocks may take.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes of memory that the blocks it holds take.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).bytes).sum()
    }

    /// What there is of the block that begins at `start`, of which the first `len` bytes are needed. `wanted` says that
    /// they are wanted now, and not only soon. A flight may bring fewer.
    pub fn find(self: &Arc<Self>, start: u64, len: usize, wanted: bool) -> Found {
        let mut guard = self.shard(start);
        let shard = &mut *guard;
        let short = match shard.places.get(&start) {
            Some(&Place::Slot(at)) if shard.slots[at].plain.len < len => Some(shard.take(at)),
            _ => None,
        };
        let found = self.found(shard, start, wanted);
        // A buffer goes back to the spares without this lock.
        drop(guard);
        if let Some(short) = short {
            self.fronts.short(short.bytes.len());
        }
        found
    }

    fn found(self: &Arc<Self>, shard: &mut Shard, start: u64, wanted: bool) -> Found {
        match shard.places.get_mut(&start) {
            Some(&mut Place::Slot(at)) => {
                let slot = &mut shard.slots[at];
                slot.used |= wanted;
                self.noted(&mut slot.ahead, wanted);
                Found::Ready(Arc::clone(&slot.plain))
            }
            Some(Place::Flight { flight, ahead }) => {
                self.noted(ahead, wanted);
                Found::Coming(Arc::clone(flight))
            }
            None => {
                let flight = Arc::new(Flight::new());
                let place = Place::Flight {
                    flight: Arc::clone(&flight),
                    ahead: !wanted,
                };
                shard.places.insert(start, place);
                Found::Mine(Lead {
                    cache: Arc::clone(self),
                    start,
                    flight,
                    landed: false,
                })
            }
        }
    }

    /// Blocks that were wanted after they were decoded, or begun, ahead of that.
    pub fn ahead_used(&self) -> u64 {
        self.ahead_used.get()
    }

    /// What became of the fronts of blocks.
    pub fn fronts(&self) -> &Fronts {
        &self.fronts
    }

    fn noted(&self, ahead: &mut bool, wanted: bool) {
        if wanted && std::mem::take(ahead) {
            self.ahead_used.add(1);
        }
    }

    /// A buffer for the first `front` of `len` bytes, of any content.
    pub fn buffer(&self, front: usize, len: usize) -> Plain {
        let spare = lock(&self.spares.spares).pop();
        // One that held a longer block would keep its memory for ever, and one that grows takes more than it needs.
        let fits = |spare: &Vec<u8>| (len..=2 * len).contains(&spare.capacity());
        let mut bytes = spare
            .filter(fits)
            .unwrap_or_else(|| Vec::with_capacity(len));
        bytes.resize(len, 0);
        Plain {
            bytes,
            len: front,
            home: Arc::clone(&self.spares),
        }
    }

    /// Ends a flight, with a block or without.
    fn keep(&self, start: u64, plain: Option<&Arc<Plain>>) {
        let mut gone = Vec::new();
        let mut guard = self.shard(start);
        let shard = &mut *guard;
        let place = shard.places.remove(&start);
        let ahead = matches!(place, Some(Place::Flight { ahead: true, .. }));
        if let Some(plain) = plain.filter(|plain| plain.takes() <= self.room) {
            let bytes = plain.takes();
            while shard.bytes + bytes > self.room {
                gone.extend(shard.evict());
            }
            shard.put(Slot {
                start,
                plain: Arc::clone(plain),
                // Whoever it was decoded for comes only just now.
                used: ahead,
                ahead,
            });
        }
        // Buffers go back to the spares without this lock.
        drop(guard);
    }

    fn shard(&self, start: u64) -> MutexGuard<'_, Shard> {
        let number = start / self.block % self.shards.len() as u64;
        lock(&self.shards[number as usize])
    }
}

impl Shard {
    /// Takes one block out. There is one if there are bytes.
    fn evict(&mut self) -> Option<Arc<Plain>> {
        loop {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let slot = self.slots.get_mut(self.hand)?;
            if std::mem::take(&mut slot.used) {
                self.hand += 1;
                continue;
            }
            return Some(self.take(self.hand));
        }
    }

    /// Puts a block in right behind the hand, which comes there last.
    fn put(&mut self, slot: Slot) {
        self.bytes += slot.plain.takes();
        let last = self.slots.len();
        let at = self.hand.min(last);
        self.hand = at + 1;
        self.slots.push(slot);
        self.slots.swap(at, last);
        for at in [at, last] {
            let start = self.slots[at].start;
            self.places.insert(start, Place::Slot(at));
        }
    }

    /// Takes the block in a slot out.
    fn take(&mut self, at: usize) -> Arc<Plain> {
        let slot = self.slots.swap_remove(at);
        self.places.remove(&slot.start);
        if let Some(moved) = self.slots.get(at) {
            self.places.insert(moved.start, Place::Slot(at));
        }
        self.bytes -= slot.plain.takes();
        slot.plain
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Arc<Cache>, start: u64, len: usize) {
        let Found::Mine(lead) = cache.find(start, 1, true) else {
            panic!("{start} is there");
        };
        let mut plain = cache.buffer(len, len);
        plain.bytes_mut().fill(start as u8);
        lead.land(Arc::new(plain));
    }

    fn has(cache: &Arc<Cache>, start: u64) -> bool {
        match cache.find(start, 1, true) {
            Found::Ready(plain) => plain.bytes().iter().all(|&byte| byte == start as u8),
            Found::Coming(_) => panic!("{start} is coming"),
            Found::Mine(_) => false,
        }
    }

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let cache = Cache::new(4 * (100 + BESIDE), 100);
        for start in [0, 100, 200, 300] {
            put(&cache, start, 100);
        }
        assert!(has(&cache, 0) && has(&cache, 200));
        for start in (400..900).step_by(100) {
            put(&cache, start, 100);
            assert_eq!(cache.bytes(), cache.budget());
            assert!(has(&cache, 0) && has(&cache, 200), "at {start}");
        }
        assert!(!has(&cache, 100) && !has(&cache, 300));
    }

    #[test]
    fn a_full_cache_keeps_what_is_decoded_ahead_until_it_is_wanted() {
        let cache = Cache::new(8 * (100 + BESIDE), 100);
        let mut ahead = 0;
        for step in 0..20 {
            for start in (0..400).step_by(100).map(|at| 400 * step + at) {
                let Found::Mine(lead) = cache.find(start, 1, false) else {
                    panic!("nobody wanted {start}");
                };
                lead.land(Arc::new(cache.buffer(100, 100)));
            }
            for start in (0..400).step_by(100).map(|at| 400 * step + at) {
                let found = cache.find(start, 1, true);
                assert!(matches!(found, Found::Ready(_)), "{start} is gone");
                ahead += 1;
            }
        }
        assert_eq!(cache.ahead_used(), ahead);
    }

    #[test]
    fn one_decodes_and_the_others_wait() {
        let cache = Cache::new(1000, 100);
        let Found::Mine(lead) = cache.find(0, 1, true) else {
            panic!("nobody has it");
        };
        let Found::Coming(flight) = cache.find(0, 1, true) else {
            panic!("somebody has it");
        };
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| flight.wait().as_ref().unwrap().bytes().len());
            lead.land(Arc::new(cache.buffer(77, 77)));
            assert_eq!(waits.join().unwrap(), 77);
        });
        // One that fails is nobody's again.
        let Found::Mine(lead) = cache.find(100, 1, true) else {
            panic!("nobody has it");
        };
        let flight = Arc::clone(lead.flight());
        drop(lead);
        assert!(flight.wait().is_none());
        assert!(matches!(cache.find(100, 1, true), Found::Mine(_)));
    }

    #[test]
    fn what_was_decoded_ahead_is_of_use_once() {
        let cache = Cache::new(1000, 100);
        for (start, wanted) in [(0, true), (100, false), (200, false)] {
            let Found::Mine(lead) = cache.find(start, 1, wanted) else {
                panic!("nobody has it");
            };
            // Somebody wants the last one while it is on its way.
            if start == 200 {
                assert!(matches!(cache.find(200, 1, true), Found::Coming(_)));
            }
            lead.land(Arc::new(cache.buffer(100, 100)));
        }
        assert_eq!(cache.ahead_used(), 1);
        for start in [0, 100, 100, 200] {
            assert!(matches!(cache.find(start, 1, true), Found::Ready(_)));
        }
        assert_eq!(cache.ahead_used(), 2);
    }

    #[test]
    fn without_a_budget_nothing_is_kept() {
        let cache = Cache::new(0, 100);
        put(&cache, 0, 100);
        assert!(!has(&cache, 0));
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn the_budget_is_of_memory_whatever_the_lengths_of_blocks() {
        let cache = Cache::new(1 << 20, 1 << 16);
        let lengths = [1 << 16, 1, 40_000, 1, 1, 3000, 50_000];
        for (number, len) in lengths.into_iter().cycle().take(20_000).enumerate() {
            put(&cache, number as u64 * 4096, len);
        }
        let (mut blocks, mut memory) = (0, 0);
        for shard in &cache.shards {
            let shard = lock(shard);
            blocks += shard.slots.len() as u64;
            let capacities = shard.slots.iter().map(|slot| slot.plain.bytes.capacity());
            memory += capacities.sum::<usize>() as u64;
            for Slot { plain, .. } in &shard.slots {
                assert!(plain.bytes.capacity() <= 2 * plain.bytes.len());
            }
        }
        assert_eq!(cache.bytes(), memory + blocks * BESIDE);
        assert!(cache.bytes() <= cache.budget());
        // So many blocks of a byte are not for nothing.
        let cache = Cache::new(1 << 20, 1);
        for start in 0..20_000 {
            put(&cache, start, 1);
        }
        let blocks = cache.shards.iter().map(|shard| lock(shard).slots.len());
        let blocks = blocks.sum::<usize>() as u64;
        assert!((1000..=(1 << 20) / BESIDE).contains(&blocks), "{blocks}");
    }

    #[test]
    fn buffers_are_used_again() {
        let cache = Cache::new(100 + BESIDE, 100);
        put(&cache, 0, 100);
        let Found::Ready(plain) = cache.find(0, 1, true) else {
            panic!("it is there");
        };
        let place = plain.bytes().as_ptr();
        put(&cache, 500, 100);
        drop(plain);
        assert_eq!(cache.buffer(60, 60).bytes().as_ptr(), place);
    }

    #[test]
    fn the_front_of_a_block_gives_way_to_more() {
        let cache = Cache::new(1 << 20, 100);
        for start in [0, 100, 200] {
            let Found::Mine(lead) = cache.find(start, 30, true) else {
                panic!("{start} is there");
            };
            lead.land(Arc::new(cache.buffer(30, 100)));
        }
        let Found::Ready(front) = cache.find(0, 30, true) else {
            panic!("it is gone");
        };
        assert_eq!(
            (front.bytes().len(), cache.bytes()),
            (30, 3 * (100 + BESIDE))
        );
        let Found::Mine(lead) = cache.find(0, 31, true) else {
            panic!("there is no more of it");
        };
        assert_eq!(cache.bytes(), 2 * (100 + BESIDE));
        assert!(matches!(cache.find(0, 10, true), Found::Coming(_)));
        lead.land(Arc::new(cache.buffer(100, 100)));
        for start in [0, 100, 200] {
            let needed = if start == 0 { 100 } else { 30 };
            assert!(matches!(cache.find(start, needed, true), Found::Ready(_)));
        }
    }
}
