//! Decoded blocks in memory, within a budget. No block is decoded by two threads at the same time.
//!
//! Blocks are divided among shards by their number. The lock of a shard is held for a look-up, never while a block is
//! decoded. A shard evicts with the clock algorithm: a block that was requested since the hand last passed it stays
//! for one more turn. So blocks of a single pass over the image are evicted before those in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use evener_files::{lock, unpoisoned};

use super::counter::Counter;
use super::prefix::PrefixPolicy;

/// The largest number of shards.
const MAX_SHARDS: u64 = 16;
/// Bytes of buffers that are kept for the next blocks, about. They are not part of the budget.
const POOL_BYTES: u64 = 4 << 20;
/// Bytes that a cached block takes beside its content: its entry, its slot and what the allocator adds.
const OVERHEAD: u64 = 192;
/// A shard has room for at least this number of blocks; otherwise there are fewer shards.
const MIN_BLOCKS_PER_SHARD: u64 = 8;

/// The decoded bytes of a block, or a prefix of them. Dropping it returns its buffer to the pool.
#[derive(Debug)]
pub struct DecodedBlock {
    bytes: Vec<u8>,
    /// How many of `bytes` are decoded.
    len: usize,
    pool: Arc<BufferPool>,
}

impl DecodedBlock {
    /// The decoded bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The bytes to decode into.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// Bytes of memory that it takes in the cache.
    fn memory(&self) -> u64 {
        self.bytes.capacity() as u64 + OVERHEAD
    }
}

impl Drop for DecodedBlock {
    fn drop(&mut self) {
        let mut buffers = lock(&self.pool.buffers);
        if buffers.len() < self.pool.capacity {
            buffers.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Buffers that are not in use.
#[derive(Debug)]
struct BufferPool {
    buffers: Mutex<Vec<Vec<u8>>>,
    capacity: usize,
}

/// A block that one thread decodes while others wait. It contains `None` if decoding failed.
pub type PendingBlock = OnceLock<Option<Arc<DecodedBlock>>>;

/// The result of a look-up in the cache.
#[derive(Debug)]
pub enum Lookup {
    /// The block is decoded.
    Hit(Arc<DecodedBlock>),
    /// Another thread is decoding the block.
    Pending(Arc<PendingBlock>),
    /// The block is missing, and the caller must decode it.
    Miss(DecodeGuard),
}

/// The duty to decode a block. If it is dropped before [`DecodeGuard::complete`], the waiting threads learn that
/// decoding failed.
#[derive(Debug)]
pub struct DecodeGuard {
    cache: Arc<Cache>,
    start: u64,
    pending: Arc<PendingBlock>,
    completed: bool,
}

impl DecodeGuard {
    /// The place where other threads wait.
    pub fn pending(&self) -> &Arc<PendingBlock> {
        &self.pending
    }

    /// Stores the block in the cache, and wakes the waiting threads.
    pub fn complete(mut self, block: Arc<DecodedBlock>) {
        self.completed = true;
        self.cache.finish(self.start, Some(&block));
        // Nothing else sets it, so this cannot fail.
        let _ = self.pending.set(Some(block));
    }
}

impl Drop for DecodeGuard {
    fn drop(&mut self) {
        if !self.completed {
            self.cache.finish(self.start, None);
            let _ = self.pending.set(None);
        }
    }
}

/// Decoded blocks by their first byte.
#[derive(Debug)]
pub struct Cache {
    shards: Box<[Mutex<Shard>]>,
    /// Bytes of memory that each shard may take.
    shard_budget: u64,
    budget: u64,
    block: u64,
    pool: Arc<BufferPool>,
    /// Blocks that were asked for after they had been prefetched, or while they were.
    prefetched_used: Counter,
    prefixes: PrefixPolicy,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<u64, Entry>,
    slots: Vec<Slot>,
    /// The hand of the clock.
    hand: usize,
    bytes: u64,
}

#[derive(Debug)]
enum Entry {
    Cached(usize),
    Pending {
        block: Arc<PendingBlock>,
        /// It is decoded for read-ahead, and no request has asked for it yet.
        prefetched: bool,
    },
}

#[derive(Debug)]
struct Slot {
    start: u64,
    block: Arc<DecodedBlock>,
    used: bool,
    /// It was decoded for read-ahead, and no request has asked for it yet.
    prefetched: bool,
}

impl Cache {
    /// Creates a cache of `budget` bytes for blocks of up to `block` bytes. With a budget of 0 nothing is kept, but
    /// still no block is decoded by two threads at the same time.
    pub fn new(budget: u64, block: u32) -> Arc<Cache> {
        let block = u64::from(block.max(1));
        let shards = (budget / ((block + OVERHEAD) * MIN_BLOCKS_PER_SHARD)).clamp(1, MAX_SHARDS);
        Arc::new(Cache {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            shard_budget: budget / shards,
            budget,
            block,
            pool: Arc::new(BufferPool {
                buffers: Mutex::default(),
                capacity: (POOL_BYTES / block).clamp(4, 64) as usize,
            }),
            prefetched_used: Counter::default(),
            prefixes: PrefixPolicy::default(),
        })
    }

    /// The memory limit for blocks, in bytes.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// The memory in use by blocks, in bytes.
    pub fn bytes(&self) -> u64 {
        let shards = self.shards.iter();
        shards.map(|shard| lock(shard).bytes).sum()
    }

    /// Looks up the block that starts at `start`, of which the first `len` bytes are needed. `requested` means that a
    /// request is waiting for them; otherwise this is read-ahead. A pending block may turn out to have fewer bytes.
    pub fn look_up(self: &Arc<Self>, start: u64, len: usize, requested: bool) -> Lookup {
        let mut guard = self.shard(start);
        let shard = &mut *guard;
        let short = match shard.entries.get(&start) {
            Some(&Entry::Cached(at)) if shard.slots[at].block.len < len => Some(shard.take(at)),
            _ => None,
        };
        let found = self.look_up_in(shard, start, requested);
        // A buffer goes back to the pool without this lock.
        drop(guard);
        if let Some(short) = short {
            self.prefixes.count_extended(short.bytes.len());
        }
        found
    }

    fn look_up_in(self: &Arc<Self>, shard: &mut Shard, start: u64, requested: bool) -> Lookup {
        match shard.entries.get_mut(&start) {
            Some(&mut Entry::Cached(at)) => {
                let slot = &mut shard.slots[at];
                slot.used |= requested;
                self.count_prefetch_use(&mut slot.prefetched, requested);
                Lookup::Hit(Arc::clone(&slot.block))
            }
            Some(Entry::Pending { block, prefetched }) => {
                self.count_prefetch_use(prefetched, requested);
                Lookup::Pending(Arc::clone(block))
            }
            None => {
                let pending = Arc::new(PendingBlock::new());
                let entry = Entry::Pending {
                    block: Arc::clone(&pending),
                    prefetched: !requested,
                };
                shard.entries.insert(start, entry);
                Lookup::Miss(DecodeGuard {
                    cache: Arc::clone(self),
                    start,
                    pending,
                    completed: false,
                })
            }
        }
    }

    /// The number of blocks that were requested after or during their prefetching.
    pub fn prefetched_used(&self) -> u64 {
        self.prefetched_used.get()
    }

    /// The policy of prefix decoding, and its counters.
    pub fn prefixes(&self) -> &PrefixPolicy {
        &self.prefixes
    }

    fn count_prefetch_use(&self, prefetched: &mut bool, requested: bool) {
        if requested && std::mem::take(prefetched) {
            self.prefetched_used.add(1);
        }
    }

    /// A buffer for the first `prefix` of `len` bytes, with undefined contents.
    pub fn buffer(&self, prefix: usize, len: usize) -> DecodedBlock {
        let pooled = lock(&self.pool.buffers).pop();
        // A buffer of a longer block would keep its memory for ever, and one that grows takes more than it needs.
        let fits = |buffer: &Vec<u8>| (len..=2 * len).contains(&buffer.capacity());
        let mut bytes = pooled
            .filter(fits)
            .unwrap_or_else(|| Vec::with_capacity(len));
        bytes.resize(len, 0);
        DecodedBlock {
            bytes,
            len: prefix,
            pool: Arc::clone(&self.pool),
        }
    }

    /// Replaces a pending entry by the decoded block, or removes it where there is none.
    fn finish(&self, start: u64, block: Option<&Arc<DecodedBlock>>) {
        let mut evicted = Vec::new();
        let mut guard = self.shard(start);
        let shard = &mut *guard;
        let entry = shard.entries.remove(&start);
        let prefetched = matches!(
            entry,
            Some(Entry::Pending {
                prefetched: true,
                ..
            })
        );
        if let Some(block) = block.filter(|block| block.memory() <= self.shard_budget) {
            let bytes = block.memory();
            while shard.bytes + bytes > self.shard_budget {
                evicted.extend(shard.evict());
            }
            shard.insert(Slot {
                start,
                block: Arc::clone(block),
                // The request that a prefetched block is for has still to come.
                used: prefetched,
                prefetched,
            });
        }
        // Buffers go back to the pool without this lock.
        drop(guard);
    }

    fn shard(&self, start: u64) -> MutexGuard<'_, Shard> {
        let number = start / self.block % self.shards.len() as u64;
        unpoisoned(self.shards[number as usize].lock())
    }
}

impl Shard {
    /// Takes one block out. There is one if there are bytes.
    fn evict(&mut self) -> Option<Arc<DecodedBlock>> {
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

    /// Inserts a block right behind the hand, which comes there last.
    fn insert(&mut self, slot: Slot) {
        self.bytes += slot.block.memory();
        let last = self.slots.len();
        let at = self.hand.min(last);
        self.hand = at + 1;
        self.slots.push(slot);
        self.slots.swap(at, last);
        for at in [at, last] {
            let start = self.slots[at].start;
            self.entries.insert(start, Entry::Cached(at));
        }
    }

    /// Takes the block in a slot out.
    fn take(&mut self, at: usize) -> Arc<DecodedBlock> {
        let slot = self.slots.swap_remove(at);
        self.entries.remove(&slot.start);
        if let Some(moved) = self.slots.get(at) {
            self.entries.insert(moved.start, Entry::Cached(at));
        }
        self.bytes -= slot.block.memory();
        slot.block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Arc<Cache>, start: u64, len: usize) {
        let Lookup::Miss(guard) = cache.look_up(start, 1, true) else {
            panic!("{start} is there");
        };
        let mut block = cache.buffer(len, len);
        block.bytes_mut().fill(start as u8);
        guard.complete(Arc::new(block));
    }

    fn has(cache: &Arc<Cache>, start: u64) -> bool {
        match cache.look_up(start, 1, true) {
            Lookup::Hit(block) => block.bytes().iter().all(|&byte| byte == start as u8),
            Lookup::Pending(_) => panic!("{start} is pending"),
            Lookup::Miss(_) => false,
        }
    }

    #[test]
    fn the_budget_holds_and_used_blocks_stay() {
        let cache = Cache::new(4 * (100 + OVERHEAD), 100);
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
    fn a_full_cache_keeps_prefetched_blocks_until_they_are_asked_for() {
        let cache = Cache::new(8 * (100 + OVERHEAD), 100);
        let mut prefetched = 0;
        for step in 0..20 {
            for start in (0..400).step_by(100).map(|at| 400 * step + at) {
                let Lookup::Miss(guard) = cache.look_up(start, 1, false) else {
                    panic!("{start} is there");
                };
                guard.complete(Arc::new(cache.buffer(100, 100)));
            }
            for start in (0..400).step_by(100).map(|at| 400 * step + at) {
                let lookup = cache.look_up(start, 1, true);
                assert!(matches!(lookup, Lookup::Hit(_)), "{start} is gone");
                prefetched += 1;
            }
        }
        assert_eq!(cache.prefetched_used(), prefetched);
    }

    #[test]
    fn one_thread_decodes_and_the_others_wait() {
        let cache = Cache::new(1000, 100);
        let Lookup::Miss(guard) = cache.look_up(0, 1, true) else {
            panic!("it is there");
        };
        let Lookup::Pending(pending) = cache.look_up(0, 1, true) else {
            panic!("it is not pending");
        };
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| pending.wait().as_ref().unwrap().bytes().len());
            guard.complete(Arc::new(cache.buffer(77, 77)));
            assert_eq!(waits.join().unwrap(), 77);
        });
        // One that fails can be tried again.
        let Lookup::Miss(guard) = cache.look_up(100, 1, true) else {
            panic!("it is there");
        };
        let pending = Arc::clone(guard.pending());
        drop(guard);
        assert!(pending.wait().is_none());
        assert!(matches!(cache.look_up(100, 1, true), Lookup::Miss(_)));
    }

    #[test]
    fn a_prefetched_block_is_counted_as_used_once() {
        let cache = Cache::new(1000, 100);
        for (start, requested) in [(0, true), (100, false), (200, false)] {
            let Lookup::Miss(guard) = cache.look_up(start, 1, requested) else {
                panic!("it is there");
            };
            // The last one is asked for while it is decoded.
            if start == 200 {
                assert!(matches!(cache.look_up(200, 1, true), Lookup::Pending(_)));
            }
            guard.complete(Arc::new(cache.buffer(100, 100)));
        }
        assert_eq!(cache.prefetched_used(), 1);
        for start in [0, 100, 100, 200] {
            assert!(matches!(cache.look_up(start, 1, true), Lookup::Hit(_)));
        }
        assert_eq!(cache.prefetched_used(), 2);
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
            let capacities = shard.slots.iter().map(|slot| slot.block.bytes.capacity());
            memory += capacities.sum::<usize>() as u64;
            for Slot { block, .. } in &shard.slots {
                assert!(block.bytes.capacity() <= 2 * block.bytes.len());
            }
        }
        assert_eq!(cache.bytes(), memory + blocks * OVERHEAD);
        assert!(cache.bytes() <= cache.budget());
        // Blocks of one byte take memory too.
        let cache = Cache::new(1 << 20, 1);
        for start in 0..20_000 {
            put(&cache, start, 1);
        }
        let blocks = cache.shards.iter().map(|shard| lock(shard).slots.len());
        let blocks = blocks.sum::<usize>() as u64;
        assert!((1000..=(1 << 20) / OVERHEAD).contains(&blocks), "{blocks}");
    }

    #[test]
    fn buffers_are_used_again() {
        let cache = Cache::new(100 + OVERHEAD, 100);
        put(&cache, 0, 100);
        let Lookup::Hit(block) = cache.look_up(0, 1, true) else {
            panic!("it is there");
        };
        let address = block.bytes().as_ptr();
        put(&cache, 500, 100);
        drop(block);
        assert_eq!(cache.buffer(60, 60).bytes().as_ptr(), address);
    }

    #[test]
    fn the_prefix_of_a_block_is_replaced_by_a_longer_one() {
        let cache = Cache::new(1 << 20, 100);
        for start in [0, 100, 200] {
            let Lookup::Miss(guard) = cache.look_up(start, 30, true) else {
                panic!("{start} is there");
            };
            guard.complete(Arc::new(cache.buffer(30, 100)));
        }
        let Lookup::Hit(prefix) = cache.look_up(0, 30, true) else {
            panic!("it is gone");
        };
        assert_eq!(
            (prefix.bytes().len(), cache.bytes()),
            (30, 3 * (100 + OVERHEAD))
        );
        let Lookup::Miss(guard) = cache.look_up(0, 31, true) else {
            panic!("there is no more of it");
        };
        assert_eq!(cache.bytes(), 2 * (100 + OVERHEAD));
        assert!(matches!(cache.look_up(0, 10, true), Lookup::Pending(_)));
        guard.complete(Arc::new(cache.buffer(100, 100)));
        for start in [0, 100, 200] {
            let needed = if start == 0 { 100 } else { 30 };
            assert!(matches!(cache.look_up(start, needed, true), Lookup::Hit(_)));
        }
    }
}
