//! Streams give what plain iterators give, in order, whatever the items take.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evener::prelude::*;

fn busy(microseconds: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(microseconds) {
        std::hint::spin_loop();
    }
}

#[test]
fn results_are_in_order() {
    for (len, us) in [
        (0, 0),
        (1, 0),
        (10, 0),
        (100_000, 0),
        (1000, 20),
        (30, 2000),
    ] {
        let results: Vec<u64> = (0..len)
            .even()
            .map(|i| {
                busy(if i % 7 == 0 { us * 2 } else { us });
                i
            })
            .map(|i| i * 3)
            .collect();
        assert!(
            results.into_iter().eq((0..len).map(|i| i * 3)),
            "{len} items of {us} µs"
        );
    }
}

#[test]
fn unordered_results_are_complete() {
    let mut seen = vec![0; 3000];
    (0..3000)
        .even()
        .map(|i: usize| {
            busy(i as u64 % 30);
            i
        })
        .unordered()
        .for_each(|i| seen[i] += 1);
    assert_eq!(seen, vec![1; 3000]);
}

#[test]
fn the_ends_of_a_stream_stay_on_one_thread() {
    // Neither is `Send`.
    let read = Rc::new(Cell::new(0));
    let written = Rc::new(Cell::new(0));
    let counted = Rc::clone(&read);
    (0..2000)
        .inspect(move |_| counted.set(counted.get() + 1))
        .even()
        .map(|i| {
            busy(5);
            i
        })
        .for_each(|_| written.set(written.get() + 1));
    assert_eq!((read.get(), written.get()), (2000, 2000));
}

#[test]
fn an_error_ends_the_stream_and_what_came_before_is_delivered() {
    for us in [0, 10] {
        let (mut delivered, read) = (Vec::new(), AtomicUsize::new(0));
        let ended = (0..)
            .inspect(|_| _ = read.fetch_add(1, Ordering::Relaxed))
            .even()
            .map(|i| {
                busy(us);
                i
            })
            .for_each(|i| match i == 5000 {
                true => Err(format!("item {i}")),
                false => {
                    delivered.push(i);
                    Ok(())
                }
            });
        assert_eq!(ended, Err("item 5000".to_owned()));
        assert!(delivered.into_iter().eq(0..5000));
        // Memory is bounded: the source was not read far ahead.
        assert!(read.into_inner() < 5001 + 200_000);
    }
}

#[test]
fn a_panic_goes_on_after_what_came_before() {
    for us in [0, 10] {
        let mut delivered = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            (0..100_000)
                .even()
                .map(|i| {
                    busy(us);
                    assert!(i != 3000, "item 3000");
                    i
                })
                .for_each(|i| delivered.push(i));
        }));
        let payload = ended.expect_err("the panic goes on");
        assert_eq!(payload.downcast_ref(), Some(&"item 3000"));
        assert!(delivered.into_iter().eq(0..3000));
    }
}

#[test]
fn a_slow_end_stops_the_source() {
    let (read, mut written) = (AtomicUsize::new(0), 0);
    (0..400)
        .inspect(|_| _ = read.fetch_add(1, Ordering::Relaxed))
        .even()
        .map(|i| {
            busy(60);
            i
        })
        .for_each(|_| {
            written += 1;
            std::thread::sleep(Duration::from_micros(300));
            let ahead = read.load(Ordering::Relaxed) - written;
            assert!(
                ahead <= 4 * (2 * evener::current_num_threads() + 2),
                "{ahead} items ahead"
            );
        });
    assert_eq!(written, 400);
}

#[test]
fn results_of_a_source_that_blocks_are_not_kept_back() {
    let mut late = Vec::new();
    let start = Instant::now();
    (0..20)
        .map(|i| {
            std::thread::sleep(Duration::from_millis(10));
            (i, start.elapsed())
        })
        .even()
        .map(|item| item)
        .for_each(|(_, read)| late.push(start.elapsed() - read));
    late.sort();
    assert!(late[10] < Duration::from_millis(5), "{late:?}");
}

#[test]
fn streams_nest_in_loops_and_loops_in_streams() {
    let sums: Vec<u64> = (0..20_u64)
        .par()
        .map(|i| {
            let mut sum = 0;
            (0..200)
                .even()
                .map(|j| {
                    busy(2);
                    (0..10_u64).par().map(|k| k * i).sum::<u64>() + j
                })
                .for_each(|x| sum += x);
            sum
        })
        .collect();
    assert!(sums.into_iter().eq((0..20).map(|i| 200 * 45 * i + 19_900)));
}

#[test]
fn items_that_wait_do_so_at_the_same_time() {
    // Other tests have the workers of the global pool.
    let pool = evener::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let start = Instant::now();
    pool.install(|| {
        (0..20)
            .even()
            .map(|i| {
                std::thread::sleep(Duration::from_millis(10));
                i
            })
            .for_each(|_: i32| ());
    });
    let took = start.elapsed();
    assert!(took < Duration::from_millis(170), "{took:?}");
}

#[test]
fn results_are_an_iterator() {
    for (len, us) in [(0, 0), (1, 0), (100_000, 0), (1000, 20), (30, 2000)] {
        let results = (0..len).even().map(move |i| {
            busy(if i % 7 == 0 { us * 2 } else { us });
            i
        });
        assert!(results.into_iter().eq(0..len), "{len} items of {us} µs");
    }
    let mut seen: Vec<u32> = (0..5000)
        .even()
        .map(|i| i)
        .unordered()
        .into_iter()
        .collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..5000));
}

#[test]
fn an_iterator_of_results_that_is_dropped_computes_no_more() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let results = (0..1_000_000).even().map(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(1));
    });
    assert_eq!(results.into_iter().take(3).count(), 3);
    std::thread::sleep(Duration::from_millis(30));
    assert!(ran.load(Ordering::Relaxed) < 100);
}

#[test]
fn a_panic_goes_on_in_the_iterator_after_what_came_before() {
    let results = (0..1000).even().map(|i| {
        assert_ne!(i, 500, "the 500th");
        i
    });
    let mut results = results.into_iter();
    let mut delivered = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        results.by_ref().for_each(|_| delivered += 1);
    }));
    assert!(ended.is_err());
    assert_eq!(delivered, 500);
    assert_eq!(results.next(), None);
}

#[test]
fn a_live_source_never_waits_and_the_newest_arrive() {
    let (feed, items) = evener::live(2);
    let source = std::thread::spawn(move || {
        for i in 0..2000 {
            feed.push(i);
            busy(50);
        }
        feed.dropped()
    });
    let mut seen = Vec::new();
    items
        .even()
        .map(|i| {
            busy(1000);
            i
        })
        .for_each(|i| seen.push(i));
    let dropped = source.join().unwrap();
    assert!(seen.is_sorted());
    assert_eq!(seen.last(), Some(&1999));
    assert_eq!(seen.len() as u64 + dropped, 2000);
    assert!(dropped > 0);
}

#[test]
fn a_live_source_learns_that_nobody_reads() {
    let (feed, items) = evener::live(1);
    let other = feed.clone();
    assert_eq!(feed.push(Box::new(1)), None);
    drop(items);
    assert!(!other.is_read());
    assert_eq!(other.push(Box::new(2)), Some(Box::new(2)));
}

#[test]
fn a_recorded_stream_gives_the_same_and_foretells_its_time() {
    let nap = Duration::from_millis(1);
    let stream = || {
        (0..50).even().map(move |i| {
            std::thread::sleep(nap);
            i * 2
        })
    };
    let mut recording = evener::Recording::new();
    let (started, mut seen) = (Instant::now(), Vec::new());
    stream().record(&mut recording, |i| seen.push(i));
    assert!(seen.into_iter().eq((0..50).map(|i| i * 2)));
    let (one, all) = (recording.seconds(1), recording.seconds(50));
    assert!((0.05..=started.elapsed().as_secs_f64()).contains(&one));
    assert!((one / 50.0..one).contains(&all), "{one} s, {all} s");

    // The source does not take less on more threads.
    let mut recording = evener::Recording::new();
    let slow = (0..20).inspect(|_| std::thread::sleep(nap));
    slow.even().record(&mut recording, |_| {});
    assert!(recording.seconds(16) >= 0.02);

    let mut seen = Vec::new();
    let ended = stream().record(&mut recording, |i| {
        seen.push(i);
        if i == 8 { Err("over") } else { Ok(()) }
    });
    assert_eq!((ended, seen), (Err("over"), vec![0, 2, 4, 6, 8]));
}
