//! Models of the wake-up protocol, the queues and whole batches, over all interleavings that loom can tell apart.
//! They run the code of this folder itself; `sync` swaps the primitives below it. `README.md` says how to run them.

use std::sync::atomic::AtomicUsize as Plain;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use loom::thread;

use super::batch::{Doing, Header, Job};
use super::fifo::Ring;
use super::lane::{Bell, lane};
use super::mailbox::Mail;
use super::steal::Span;
use super::wake::{Call, Countdown, Seen, Token};
use super::worker::Pass;
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
    const NOTHING: Doing<fn(WorkerId), fn(&mut (), std::ops::Range<u32>)> = Doing {
        begin: |_| (),
        job: |(), _| (),
    };
    Header::new(&batch(Dispatch::Fifo, 1, 1), &NOTHING)
}

#[test]
fn a_token_loses_no_call() {
    model(3, || {
        let token = Arc::new(Token::new());
        let data = Arc::new(AtomicU32::new(0));
        let told = Arc::new(AtomicU32::new(0));
        let worker = thread::spawn({
            let (token, data, told) = (Arc::clone(&token), Arc::clone(&data), Arc::clone(&told));
            move || {
                let (mut mail, mut ring, mut close) = (0, false, false);
                let mut seen = Seen::default();
                // Parks for ever if a call is lost, which loom reports as a deadlock.
                while !(mail == 2 && ring && close) {
                    let call = token.wait(&mut seen);
                    if call.has(Call::MAIL) {
                        mail += 1;
                        assert_eq!(data.load(Ordering::Relaxed), mail);
                        told.store(mail, Ordering::Release);
                    }
                    ring |= call.has(Call::RING);
                    close |= call.has(Call::CLOSE);
                }
            }
        });
        let wake = |parked: bool| {
            if parked {
                worker.thread().unpark();
            }
        };
        data.store(1, Ordering::Relaxed);
        wake(token.post());
        wake(token.set(Call::RING));
        // The first letter has been seen before the second comes.
        while told.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        data.store(2, Ordering::Relaxed);
        wake(token.post());
        wake(token.set(Call::CLOSE));
        worker.join().unwrap();
    });
}

#[test]
fn a_countdown_releases_its_waiter_after_the_last_job() {
    model(3, || {
        let countdown = Arc::new(Countdown::new(3));
        let sum = Arc::new(AtomicU32::new(0));
        let finishers: Vec<_> = [1, 1]
            .into_iter()
            .map(|jobs| {
                let (countdown, sum) = (Arc::clone(&countdown), Arc::clone(&sum));
                thread::spawn(move || {
                    sum.fetch_add(jobs, Ordering::Relaxed);
                    countdown.finish(jobs);
                })
            })
            .collect();
        countdown.finish(1);
        countdown.wait();
        // Not joined yet: the countdown alone makes the work visible.
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
        let mail = Arc::new(Mail::new());
        let token = Arc::new(Token::new());
        let taken = Arc::new(AtomicUsize::new(0));
        let header = header();
        let worker = thread::spawn({
            let (mail, token, taken) = (Arc::clone(&mail), Arc::clone(&token), Arc::clone(&taken));
            move || {
                let mut seen = Seen::default();
                for expected in 0..2 {
                    assert!(token.wait(&mut seen).has(Call::MAIL));
                    // SAFETY: no other thread takes, and this one was told.
                    let job = unsafe { mail.take() };
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
            unsafe { mail.put(Job::new(&header, job..job + 1)) };
            if token.post() {
                worker.thread().unpark();
            }
        }
        worker.join().unwrap();
    });
}

#[test]
fn a_span_gives_each_job_to_its_owner_or_to_one_thief() {
    model(3, || {
        let span = Arc::new(Span::new());
        span.put(0, 4);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let span = Arc::clone(&span);
                thread::spawn(move || {
                    span.split()
                        .map_or(0, |(first, end)| (first..end).map(|j| 1u32 << j).sum())
                })
            })
            .collect();
        let mut taken: u32 = 0;
        while let Some(job) = span.take() {
            taken += 1 << job;
        }
        taken += thieves.into_iter().map(|t| t.join().unwrap()).sum::<u32>();
        assert_eq!(taken, 0b1111);
    });
}

/// Whole batches on a pool: no job twice, none left out, none after `run`, and everybody comes home.
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
fn nobody_is_inside_with_a_withdrawn_pass() {
    model(3, || {
        let pass = Arc::new(Pass::new());
        let inside = Arc::new(UnsafeCell::new(0));
        let worker = thread::spawn({
            let (pass, inside) = (Arc::clone(&pass), Arc::clone(&inside));
            move || {
                for _ in 0..2 {
                    // SAFETY: loom checks that no other thread is at the cell.
                    pass.with(|| inside.with_mut(|n| unsafe { *n += 1 }));
                }
            }
        });
        for _ in 0..2 {
            pass.withdraw();
            // SAFETY: as above.
            inside.with_mut(|n| unsafe { *n += 1 });
            pass.grant();
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

/// Two stages of a pipeline: values through a ring of one slot, each side waiting for the other by its bell.
#[test]
fn a_lane_and_its_bells_lose_nothing() {
    model(3, || {
        let (mut giver, mut taker) = lane(1);
        let bells = Arc::new((Bell::new(), Bell::new()));
        let producer = thread::spawn({
            let bells = Arc::clone(&bells);
            move || {
                let (room, news) = &*bells;
                room.sit();
                for value in 0..3 {
                    // Parks for ever if a ring is lost, which loom reports as a deadlock.
                    while giver.is_full() {
                        room.wait();
                    }
                    assert!(giver.push(Box::new(value)).is_ok());
                    news.ring();
                }
            }
        });
        let (room, news) = &*bells;
        news.sit();
        for expected in 0..2 {
            let value = loop {
                match taker.pop() {
                    Some(value) => break value,
                    None => news.wait(),
                }
            };
            assert_eq!(*value, expected);
            room.ring();
        }
        producer.join().unwrap();
        // The last one is dropped with the lane.
    });
}
