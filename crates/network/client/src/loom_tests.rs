//! Models of flags and sleep over all interleavings that loom can tell apart, on the code of `flags.rs` itself.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::flags::{self, Word};

impl Word for AtomicU64 {
    fn peek(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn swap_with(&self, value: u64) -> u64 {
        self.swap(value, Ordering::AcqRel)
    }

    fn or(&self, bits: u64) {
        self.fetch_or(bits, Ordering::AcqRel);
    }
}

/// What two sides share: indices of two connections, their flags, sleep, and the doorbell.
#[derive(Default)]
struct Memory {
    indices: [AtomicU64; 2],
    word: AtomicU64,
    summary: AtomicU64,
    asleep: AtomicU64,
    doorbell: AtomicU64,
}

impl Memory {
    /// A thread of the application writes on connection `at`.
    fn publish(&self, at: usize) {
        let before = self.indices[at].load(Ordering::Relaxed);
        self.indices[at].store(before + 1, Ordering::Release);
        flags::set(&self.summary, 1, &self.word, 1 << at);
        if flags::must_wake(&self.asleep) {
            self.doorbell.store(1, Ordering::Release);
        }
    }

    /// The engine takes what is flagged into `seen`.
    fn take(&self, seen: &mut [u64; 2]) {
        if flags::take_groups(&self.summary) != 0 {
            let bits = flags::take_word(&self.word);
            for (at, seen) in seen.iter_mut().enumerate() {
                if bits & 1 << at != 0 {
                    *seen = self.indices[at].load(Ordering::Acquire);
                }
            }
        }
    }
}

/// Threads publish while the engine looks, and falls asleep if there is nothing. At the end the engine has seen all, or
/// is awake, or the doorbell was rung.
fn nothing_is_lost(writes: &'static [&'static [usize]], preemptions: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let memory = Arc::new(Memory::default());
        let threads: Vec<_> = writes
            .iter()
            .map(|&writes| {
                let memory = Arc::clone(&memory);
                thread::spawn(move || writes.iter().for_each(|&at| memory.publish(at)))
            })
            .collect();
        let mut seen = [0; 2];
        memory.take(&mut seen);
        flags::fall_asleep(&memory.asleep);
        let sleeps = memory.summary.peek() == 0;
        if !sleeps {
            memory.take(&mut seen);
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        if memory.doorbell.load(Ordering::Acquire) != 0 || !sleeps {
            memory.take(&mut seen);
        }
        let all = [0, 1].map(|at| memory.indices[at].load(Ordering::Relaxed));
        assert_eq!(seen, all);
    });
}

#[test]
fn loom_a_thread_that_writes_twice_is_seen() {
    nothing_is_lost(&[&[0, 0]], 4);
}

#[test]
fn loom_two_threads_on_two_connections_are_seen() {
    nothing_is_lost(&[&[0], &[1]], 3);
}
