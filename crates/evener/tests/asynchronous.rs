//! Streams and work that async code awaits.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use evener::prelude::*;
use futures::executor::{block_on, block_on_stream};
use futures::stream::{self, StreamExt};

#[test]
fn results_are_in_order() {
    for len in [0, 1, 10, 100_000] {
        let results = block_on(
            evener::stream(stream::iter(0..len))
                .map(|i| i * 2)
                .collect::<Vec<_>>(),
        );
        assert!(results.into_iter().eq((0..len).map(|i| i * 2)));
    }
}

#[test]
fn unordered_results_are_complete() {
    let stream = evener::stream(stream::iter(0..10_000_u64))
        .map(|i| i)
        .unordered();
    let mut results: Vec<u64> = block_on_stream(stream).collect();
    results.sort_unstable();
    assert!(results.into_iter().eq(0..10_000));
}

/// Gives an item when it is polled, and nothing every other time, when it wakes its task from another thread.
struct Halting(u32, bool);

impl futures::Stream for Halting {
    type Item = u32;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<u32>> {
        self.1 = !self.1;
        if self.1 {
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            return Poll::Pending;
        }
        self.0 += 1;
        Poll::Ready((self.0 <= 300).then_some(self.0))
    }
}

#[test]
fn a_source_may_have_nothing_for_a_while() {
    let results: Vec<u32> = block_on_stream(evener::stream(Halting(0, false)).map(|i| i)).collect();
    assert!(results.into_iter().eq(1..=300));
}

#[test]
fn what_is_ready_is_not_kept_back_by_a_source_that_is_not() {
    let source = stream::iter([1, 2]).chain(stream::pending());
    let mut results = block_on_stream(evener::stream(source).map(|i| i * 10));
    assert_eq!((results.next(), results.next()), (Some(10), Some(20)));
}

#[test]
fn a_panic_goes_on_after_what_came_before() {
    let stream = evener::stream(stream::iter(0..1000)).map(|i| {
        assert_ne!(i, 500, "the 500th");
        i
    });
    let mut results = block_on_stream(stream);
    let mut delivered = 0;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        results.by_ref().for_each(|_| delivered += 1);
    }));
    assert!(panicked.is_err());
    assert_eq!(delivered, 500);
    assert_eq!(results.next(), None);
}

#[test]
fn a_slow_reader_stops_the_source() {
    let read = AtomicUsize::new(0);
    let source = stream::iter((0..10_000).inspect(|_| _ = read.fetch_add(1, Ordering::Relaxed)));
    let slow = |i| {
        thread::sleep(Duration::from_micros(300));
        i
    };
    let results = block_on_stream(evener::stream(source).map(slow));
    for (i, result) in results.take(50).enumerate() {
        assert_eq!(i, result);
        let ahead = read.load(Ordering::Relaxed) - i;
        assert!(
            ahead <= 2 * evener::current_num_threads() + 3,
            "{ahead} items ahead"
        );
    }
}

#[test]
fn polling_computes_nothing() {
    let poller = thread::current().id();
    let stream =
        evener::stream(stream::iter(0..100)).map(move |_| thread::current().id() != poller);
    assert!(block_on_stream(stream).all(|elsewhere| elsewhere));
}

#[test]
fn a_stream_that_is_dropped_computes_no_more() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let mut stream = evener::stream(stream::iter(0..1_000_000)).map(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(1));
    });
    block_on(stream.next());
    drop(stream);
    thread::sleep(Duration::from_millis(50));
    assert!(ran.load(Ordering::Relaxed) < 100);
}

#[test]
fn work_is_awaited() {
    assert_eq!(block_on(evener::run(|| 6 * 7)), 42);
    let sums = (1..=20_u64).map(|n| evener::run(move || (0..n * 1000).par().sum::<u64>()));
    let sums = block_on(futures::future::join_all(sums));
    assert_eq!(sums[19], 199_990_000);
}

#[test]
fn a_panic_goes_on_in_who_awaits() {
    let panicked = std::panic::catch_unwind(|| block_on(evener::run(|| panic!("in the work"))));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"in the work"));
}

#[test]
fn work_that_nobody_awaits_is_not_begun() {
    let pool = evener::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let ran = Arc::new(AtomicBool::new(false));
    let go = Arc::new(AtomicBool::new(false));
    pool.install(|| {
        let (before, flag) = (Arc::clone(&go), Arc::clone(&ran));
        evener::spawn(move || assert!(before.load(Ordering::SeqCst)));
        drop(evener::run(move || flag.store(true, Ordering::SeqCst)));
        go.store(true, Ordering::SeqCst);
    });
    drop(pool);
    assert!(!ran.load(Ordering::SeqCst));
}

#[test]
fn a_poll_does_not_wait() {
    struct Nothing;
    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }
    let waker = Waker::from(Arc::new(Nothing));
    let mut work = evener::run(|| thread::sleep(Duration::from_millis(50)));
    let started = Instant::now();
    assert!(
        Pin::new(&mut work)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(started.elapsed() < Duration::from_millis(40));
}
