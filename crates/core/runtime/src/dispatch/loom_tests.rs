//! Models of the wake-up protocol, the queues and whole batches, over all interleavings that loom can tell apart.
//! They run the code of this folder itself; `sync` swaps the primitives below it. `README.md` says how to run them.

use std::sync::atomic::AtomicUsize as Plain;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use loom::thread;

use super::flavors::fifo::Ring;
use super::flavors::steal::JobRange;
use super::job::{BatchBody, Header, Job};
use super::sleep::{CountdownLatch, EventCount, EventWord, Events, LastSequence, Notify};
use super::slot::{Admission, Mailbox};
use super::spsc::ring;
use super::{Batch, Caller, Outcome, Pool, WorkerId};
use crate::plan::Dispatch;

/// Explores a model with at most `preemptions` switches away from a thread that could go on.
fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(f);
}

fn batch(dispatch: Dispatch, items: u32, workers: u32) -> Batch {
    Batch {
        dispatch,
        items,
        grain: 1,
        workers,
        deadline: None,
        caller: Caller::Works,
    }
}

/// A header to name in descriptors; nothing in it is run.
fn header() -> Header {
    const NOTHING: BatchBody<fn(WorkerId), fn(&mut (), std::ops::Range<u32>)> = BatchBody {
        init: |_| (),
        job: |(), _| (),
    };
    Header::new(&batch(Dispatch::Fifo, 1, 1), &NOTHING)
}

#[test]
fn an_event_word_loses_no_event() {
    model(3, || {
        let word = Arc::new(EventWord::new());
        let data = Arc::new(AtomicU32::new(0));
        let told = Arc::new(AtomicU32::new(0));
        let worker = thread::spawn({
            let (word, data, told) = (Arc::clone(&word), Arc::clone(&data), Arc::clone(&told));
            move || {
                let (mut mailbox, mut ring, mut close) = (0, false, false);
                let mut last = LastSequence::default();
                // Parks for ever if an event is lost, which loom reports as a deadlock.
                while !(mailbox == 2 && ring && close) {
                    let events = word.wait(&mut last);
                    if events.contains(Events::MAILBOX) {
                        mailbox += 1;
                        assert_eq!(data.load(Ordering::Relaxed), mailbox);
                        told.store(mailbox, Ordering::Release);
                    }
                    ring |= events.contains(Events::FIFO);
                    close |= events.contains(Events::CLOSE);
                }
            }
        });
        let wake = |parked: bool| {
            if parked {
                worker.thread().unpark();
            }
        };
        data.store(1, Ordering::Relaxed);
        wake(word.advance());
        wake(word.signal(Events::FIFO));
        // The first share has been seen before the second comes.
        while told.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        data.store(2, Ordering::Relaxed);
        wake(word.advance());
        wake(word.signal(Events::CLOSE));
        worker.join().unwrap();
    });
}

#[test]
fn a_latch_releases_its_waiter_after_the_last_job() {
    model(3, || {
        let latch = Arc::new(CountdownLatch::new(3));
        let sum = Arc::new(AtomicU32::new(0));
        let finishers: Vec<_> = [1, 1]
            .into_iter()
            .map(|jobs| {
                let (latch, sum) = (Arc::clone(&latch), Arc::clone(&sum));
                thread::spawn(move || {
                    sum.fetch_add(jobs, Ordering::Relaxed);
                    latch.finish(jobs);
                })
            })
            .collect();
        latch.finish(1);
        latch.wait();
        // Not joined yet: the latch alone makes the work visible.
        assert_eq!(sum.load(Ordering::Relaxed), 2);
        for finisher in finishers {
            finisher.join().unwrap();
        }
    });
}

#[test]
fn the_ring_gives_each_job_to_one_consumer() {
    model(3, || {
        let ring = Arc::new(Ring::new(2));
        let header = header();
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || {
                    [ring.pop(), ring.pop()]
                        .map(|job| job.map_or(0, |job| 1u32 << job.jobs().start))
                        .into_iter()
                        .sum::<u32>()
                })
            })
            .collect();
        let mut pushed = 0;
        for job in 0..3 {
            // SAFETY: no other thread pushes.
            if unsafe { ring.push(Job::new(&header, job..job + 1)) } {
                pushed += 1u32 << job;
            } else {
                break;
            }
        }
        let mut popped: u32 = consumers.into_iter().map(|c| c.join().unwrap()).sum();
        while let Some(job) = ring.pop() {
            popped += 1 << job.jobs().start;
        }
        assert_eq!(popped, pushed);
    });
}

#[test]
fn a_mailbox_hands_over_one_share_after_the_other() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new());
        let word = Arc::new(EventWord::new());
        let taken = Arc::new(AtomicUsize::new(0));
        let header = header();
        let worker = thread::spawn({
            let (mailbox, word, taken) =
                (Arc::clone(&mailbox), Arc::clone(&word), Arc::clone(&taken));
            move || {
                let mut last = LastSequence::default();
                for expected in 0..2 {
                    assert!(word.wait(&mut last).contains(Events::MAILBOX));
                    // SAFETY: no other thread takes, and the sequence number has advanced.
                    let job = unsafe { mailbox.take() };
                    assert_eq!(job.map(|job| job.jobs()), Some(expected..expected + 1));
                    taken.fetch_add(1, Ordering::Release);
                }
            }
        });
        for job in 0..2 {
            while taken.load(Ordering::Acquire) < job as usize {
                thread::yield_now();
            }
            // SAFETY: no other thread puts, and what was put before has been taken.
            unsafe { mailbox.put(Job::new(&header, job..job + 1)) };
            if word.advance() {
                worker.thread().unpark();
            }
        }
        worker.join().unwrap();
    });
}

#[test]
fn a_range_gives_each_job_to_its_owner_or_to_one_thief() {
    model(3, || {
        let range = Arc::new(JobRange::new());
        range.put(0, 4);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let range = Arc::clone(&range);
                thread::spawn(move || {
                    range
                        .split()
                        .map_or(0, |(first, end)| (first..end).map(|j| 1u32 << j).sum())
                })
            })
            .collect();
        let mut taken: u32 = 0;
        while let Some(job) = range.take() {
            taken += 1 << job;
        }
        taken += thieves.into_iter().map(|t| t.join().unwrap()).sum::<u32>();
        assert_eq!(taken, 0b1111);
    });
}

/// Whole batches on a pool: no job twice, none left out, none after `run`, and no worker stays behind.
fn batches(workers: usize, preemptions: usize, sequence: &'static [(Dispatch, u32, u32)]) {
    batches_of(Caller::Works, workers, preemptions, sequence);
}

fn batches_of(
    caller: Caller,
    workers: usize,
    preemptions: usize,
    sequence: &'static [(Dispatch, u32, u32)],
) {
    let helped = &*Box::leak(Box::new(Plain::new(0)));
    model(preemptions, move || {
        let pool = Pool::new(workers).unwrap();
        for &(dispatch, items, limit) in sequence {
            let runs: Vec<_> = (0..items).map(|_| AtomicU32::new(0)).collect();
            let batch = Batch {
                caller,
                ..batch(dispatch, items, limit)
            };
            let outcome = pool.run(&batch, &|worker, range| {
                assert!(worker.0 < limit as usize);
                helped.fetch_add(worker.0, Ordering::Relaxed);
                for item in range {
                    // A load and a store: two that run one item at once would be seen by loom to lose one.
                    let run = &runs[item as usize];
                    run.store(run.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            });
            assert_eq!(outcome, Ok(Outcome::Finished));
            for run in &runs {
                assert_eq!(run.load(Ordering::Relaxed), 1);
            }
        }
    });
    // The model has seen other workers at work, not the caller alone.
    assert!(helped.load(Ordering::Relaxed) > 0);
}

#[test]
fn fifo_batches() {
    batches(2, 3, &[(Dispatch::Fifo, 3, 2)]);
    batches(2, 2, &[(Dispatch::Fifo, 2, 2), (Dispatch::Fifo, 2, 2)]);
}

#[test]
fn mailbox_batches() {
    batches(
        2,
        3,
        &[(Dispatch::Mailbox, 2, 2), (Dispatch::Mailbox, 3, 2)],
    );
}

#[test]
fn steal_batches() {
    batches(2, 3, &[(Dispatch::Steal, 3, 2)]);
    batches(2, 2, &[(Dispatch::Steal, 2, 2), (Dispatch::Steal, 2, 2)]);
}

#[test]
fn flavours_after_one_another() {
    batches(2, 2, &[(Dispatch::Fifo, 2, 2), (Dispatch::Steal, 2, 2)]);
    batches(2, 2, &[(Dispatch::Steal, 2, 2), (Dispatch::Mailbox, 2, 2)]);
}

#[test]
fn no_worker_is_inside_after_its_admission_is_revoked() {
    model(3, || {
        let admission = Arc::new(Admission::new());
        let inside = Arc::new(UnsafeCell::new(0));
        let worker = thread::spawn({
            let (admission, inside) = (Arc::clone(&admission), Arc::clone(&inside));
            move || {
                for _ in 0..2 {
                    // SAFETY: loom checks that no other thread is at the cell.
                    admission.enter(|| inside.with_mut(|n| unsafe { *n += 1 }));
                }
            }
        });
        for _ in 0..2 {
            admission.revoke();
            // SAFETY: as above.
            inside.with_mut(|n| unsafe { *n += 1 });
            admission.grant();
        }
        worker.join().unwrap();
    });
}

#[test]
fn callers_that_wait() {
    batches_of(Caller::Waits, 2, 2, &[(Dispatch::Fifo, 3, 2)]);
    batches_of(Caller::Waits, 2, 2, &[(Dispatch::Mailbox, 2, 2)]);
    batches_of(Caller::Waits, 2, 2, &[(Dispatch::Steal, 2, 2)]);
    batches_of(Caller::Waits, 3, 1, &[(Dispatch::Steal, 2, 3)]);
}

#[test]
fn callers_at_once() {
    for dispatch in Dispatch::ALL {
        model(1, move || {
            let pool = Arc::new(Pool::new(2).unwrap());
            let run = move |pool: &Pool| {
                let count = AtomicU32::new(0);
                let outcome = pool.run(&batch(dispatch, 2, 2), &|_, _| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(outcome, Ok(Outcome::Finished));
                assert_eq!(count.load(Ordering::Relaxed), 2);
            };
            let other = thread::spawn({
                let pool = Arc::clone(&pool);
                move || run(&pool)
            });
            run(&pool);
            other.join().unwrap();
        });
    }
}

/// Two stages of a pipeline: values through a ring of one slot, each side notified by the other.
#[test]
fn a_ring_and_its_notifications_lose_nothing() {
    model(3, || {
        let (mut sender, mut receiver) = ring(1);
        let notifies = Arc::new((Notify::new(), Notify::new()));
        let producer = thread::spawn({
            let notifies = Arc::clone(&notifies);
            move || {
                let (room, news) = &*notifies;
                room.register();
                for value in 0..3 {
                    // Parks for ever if a notification is lost, which loom reports as a deadlock.
                    while sender.is_full() {
                        room.wait();
                    }
                    assert!(sender.push(Box::new(value)).is_ok());
                    news.notify();
                }
            }
        });
        let (room, news) = &*notifies;
        news.register();
        for expected in 0..2 {
            let value = loop {
                match receiver.pop() {
                    Some(value) => break value,
                    None => news.wait(),
                }
            };
            assert_eq!(*value, expected);
            room.notify();
        }
        producer.join().unwrap();
        // The last one is dropped with the ring.
    });
}

/// Two threads take what a third puts there, and wait for it where they find nothing.
#[test]
fn an_event_count_loses_no_event() {
    model(2, || {
        let shared = Arc::new((EventCount::new(), AtomicU32::new(0)));
        let take = {
            let shared = Arc::clone(&shared);
            move || {
                let (count, things) = &*shared;
                loop {
                    let seen = count.seen();
                    let there = things.load(Ordering::Relaxed);
                    if there > 0 {
                        things.fetch_sub(1, Ordering::Relaxed);
                        return;
                    }
                    // Sleeps for ever if an event is lost, which loom reports as a deadlock.
                    count.wait(seen, Duration::from_secs(1));
                }
            }
        };
        let taker = thread::spawn(take);
        let (count, things) = &*shared;
        things.fetch_add(1, Ordering::Relaxed);
        count.notify(1);
        taker.join().unwrap();
    });
}

/// Of two that wait, both are woken by two events, or by one for all.
#[test]
fn an_event_count_wakes_as_many_as_it_is_told() {
    for at_once in [false, true] {
        model(2, move || {
            let count = Arc::new(EventCount::new());
            let seen = count.seen();
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    let count = Arc::clone(&count);
                    thread::spawn(move || while !count.wait(seen, Duration::from_secs(1)) {})
                })
                .collect();
            match at_once {
                true => count.notify(2),
                false => (0..2).for_each(|_| count.notify(1)),
            }
            for waiter in waiters {
                waiter.join().unwrap();
            }
        });
    }
}
