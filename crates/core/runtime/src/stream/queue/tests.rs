use std::thread;

use super::*;

fn queue(buffers: u32) -> BufferQueue<u32, &'static str> {
    let queue = BufferQueue::new(buffers as usize);
    (0..buffers).for_each(|b| queue.add(b));
    queue
}

fn unit(number: u64, value: u32) -> Numbered<u32> {
    Numbered { number, value }
}

#[test]
fn there_may_be_room_for_any_number() {
    let queue: BufferQueue<u32, ()> = BufferQueue::new(usize::MAX);
    queue.add(7);
    assert_eq!(queue.take_empty(), Some(7));
}

#[test]
fn units_pass_in_order_and_then_the_end() {
    for (buffers, wake) in [(1, true), (2, true), (1, false), (3, false), (8, false)] {
        let queue = queue(buffers);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..2000 {
                    let value = queue.take_empty().unwrap();
                    queue.put(unit(number, value), wake);
                }
                queue.end("over");
            });
            for number in 0..2000 {
                let Taken::Unit(unit) = queue.take(|| ()) else {
                    panic!("ended early")
                };
                assert_eq!(unit.number, number);
                queue.recycle(unit.value);
            }
            assert!(matches!(queue.take(|| ()), Taken::End("over")));
            assert!(matches!(queue.take(|| ()), Taken::Stopped));
        });
        assert_eq!((queue.buffers(), queue.dropped()), (buffers as usize, 0));
    }
}

#[test]
fn swapping_drops_the_oldest_and_never_the_newest() {
    let queue = queue(3);
    let mut value = queue.take_empty().unwrap();
    for number in 0..10 {
        value = queue.swap(unit(number, value)).unwrap();
    }
    assert_eq!(queue.dropped(), 8);
    queue.end("over");
    let left = || match queue.take(|| ()) {
        Taken::Unit(unit) => Some(unit.number),
        _ => None,
    };
    assert_eq!([left(), left(), left()], [Some(8), Some(9), None]);
}

/// Waits until so many producers and consumers wait.
fn wait_for(queue: &BufferQueue<u32, &str>, producers: usize, consumers: usize) {
    let waiting = || {
        let state = queue.lock();
        (state.producers_waiting, state.consumers_waiting)
    };
    while waiting() != (producers, consumers) {
        thread::yield_now();
    }
}

#[test]
fn stopping_wakes_waiting_threads() {
    let queue = queue(0);
    thread::scope(|scope| {
        let producers: Vec<_> = (0..3).map(|_| scope.spawn(|| queue.take_empty())).collect();
        let consumer = scope.spawn(|| matches!(queue.take(|| ()), Taken::Stopped));
        wait_for(&queue, 3, 1);
        queue.stop_producers();
        queue.stop_consumer();
        assert!(producers.into_iter().all(|p| p.join().unwrap().is_none()));
        assert!(consumer.join().unwrap());
    });
}

#[test]
fn a_used_buffer_leaves_the_queue() {
    let queue = queue(2);
    thread::scope(|scope| {
        let used = scope.spawn(|| queue.take_used());
        while !queue.is_used_wanted() {
            thread::yield_now();
        }
        queue.add(7);
        for _ in 0..2 {
            let value = queue.take_empty().unwrap();
            queue.recycle(value);
        }
        assert_eq!(used.join().unwrap(), Some(7));
    });
    assert_eq!(queue.buffers(), 2);
    let left = [queue.take_empty(), queue.take_empty()];
    assert_eq!(left, [Some(1), Some(0)]);
    // Nothing is waited for at the end.
    queue.stop_producers();
    assert_eq!(queue.take_used(), None);
}

#[test]
fn before_waiting_is_called_first() {
    let queue = queue(1);
    let told = AtomicBool::new(false);
    thread::scope(|scope| {
        let consumer = scope.spawn(|| queue.take(|| told.store(true, Ordering::Relaxed)));
        while !told.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        // Without a wake-up: one buffer of one is half of them.
        let value = queue.take_empty().unwrap();
        assert!(queue.is_busy());
        queue.put(unit(0, value), false);
        assert!(!queue.is_busy());
        assert!(matches!(consumer.join().unwrap(), Taken::Unit(_)));
    });
}

/// The wait of a producer counts as its sleep while the consumer holds a unit, and as a stall while it has none.
#[test]
fn producers_sleep_only_while_the_consumer_is_behind() {
    for behind in [true, false] {
        let queue = queue(2);
        let mut other = queue.take_empty().unwrap();
        if behind {
            let value = queue.take_empty().unwrap();
            queue.put(unit(0, value), true);
        } else {
            // As another, slow producer would.
            other = queue.take_empty().unwrap();
        }
        let (told, slept, waited) = thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.take_empty_timed().stalled);
            let taken = behind.then(|| queue.take(|| ()));
            wait_for(&queue, 1, 0);
            let begin = Instant::now();
            thread::sleep(Duration::from_millis(1));
            let waited = begin.elapsed();
            match taken {
                Some(Taken::Unit(unit)) => queue.recycle(unit.value),
                Some(_) => panic!("ended"),
                None => queue.recycle(other),
            }
            (waiting.join().unwrap(), queue.producers_slept(), waited)
        });
        let (all, none) = if behind { (slept, told) } else { (told, slept) };
        assert!(all >= waited && none.is_zero(), "{told:?} {slept:?}");
    }
}

#[test]
fn many_producers_are_all_served() {
    let queue = queue(5);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..500 {
                    let Some(value) = queue.take_empty() else {
                        panic!("stopped")
                    };
                    queue.put(unit(number, value), number % 3 == 0);
                }
                // The last units wake no consumer, and none comes after them.
                queue.flush();
            });
        }
        for _ in 0..2000 {
            let Taken::Unit(unit) = queue.take(|| ()) else {
                panic!("ended")
            };
            queue.recycle(unit.value);
        }
    });
}
