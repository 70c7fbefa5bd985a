//! Models of what two threads do with a deque and with a latch, in every interleaving.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::deque::{self, Deque};
use crate::job::JobRef;
use crate::latch::{Latch, Signal};

/// Jobs that count how often they were run.
struct Jobs([AtomicUsize; 3]);

impl Jobs {
    fn new() -> Jobs {
        Jobs(std::array::from_fn(|_| AtomicUsize::new(0)))
    }

    fn job(&self, index: usize) -> JobRef {
        unsafe fn run(data: *const ()) {
            // SAFETY: the counters outlive the model.
            let count = unsafe { &*data.cast::<AtomicUsize>() };
            assert_eq!(count.fetch_add(1, Ordering::Relaxed), 0, "a job ran twice");
        }
        JobRef {
            data: std::ptr::from_ref(&self.0[index]).cast(),
            run,
        }
    }

    fn ran(&self) -> [usize; 3] {
        [0, 1, 2].map(|index| self.0[index].load(Ordering::Relaxed))
    }
}

fn run(job: JobRef) {
    // SAFETY: a deque gives each job once, which is what the models check.
    unsafe { job.run() };
}

/// The owner does `own`, which adds and takes jobs, and takes what is left, while a thief does `steal`. All jobs run once.
fn model(own: fn(&Deque, &Jobs), steal: fn(&Deque)) {
    loom::model(move || {
        let shared = Arc::new((Deque::new(2), Jobs::new()));
        let thief = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || steal(&shared.0))
        };
        let (deque, jobs) = &*shared;
        own(deque, jobs);
        while let Some(job) = deque.pop() {
            run(job);
        }
        assert_eq!(deque.len(), 0);
        thief.join().unwrap();
        assert_eq!(jobs.ran(), [1, 1, 1]);
    });
}

fn push(deque: &Deque, job: JobRef) {
    if deque.push(job) != deque::NOTHING {
        deque.expose();
    }
}

/// Two jobs, of which the latest is taken back as a join does.
fn two(deque: &Deque, jobs: &Jobs) {
    let first = deque.next();
    push(deque, jobs.job(0));
    push(deque, jobs.job(1));
    match deque.take_back(first.wrapping_add(1)) {
        true => run(jobs.job(1)),
        false => deque.pop().into_iter().for_each(run),
    }
    run(jobs.job(2));
}

fn take_both(deque: &Deque) {
    deque.want(deque::EXPOSE);
    deque.steal_private().into_iter().for_each(run);
    deque.steal().into_iter().for_each(run);
}

#[test]
fn loom_a_private_job_is_taken_by_one() {
    model(two, take_both);
}

#[test]
fn loom_an_exposed_job_is_taken_by_one() {
    model(two, |deque| {
        deque.want(deque::EXPOSE);
        deque.steal().into_iter().for_each(run);
    });
}

#[test]
fn loom_a_job_in_the_place_of_another_is_taken_by_one() {
    model(
        |deque, jobs| {
            deque.push(jobs.job(0));
            deque.push(jobs.job(1));
            deque.pop().into_iter().for_each(run);
            deque.push(jobs.job(2));
        },
        take_both,
    );
}

#[test]
fn loom_a_published_job_is_taken_by_one() {
    model(
        |deque, jobs| {
            deque.push(jobs.job(0));
            deque.publish();
            deque.push(jobs.job(1));
            deque.push(jobs.job(2));
            deque.publish();
        },
        |deque| {
            deque.steal().into_iter().for_each(run);
            deque.steal().into_iter().for_each(run);
        },
    );
}

#[test]
fn loom_a_latch_wakes_who_waits_and_is_not_used_after() {
    loom::model(|| {
        let latch = Arc::new(Latch::new());
        let setter = {
            let latch = Arc::clone(&latch);
            // SAFETY: this thread holds the latch.
            thread::spawn(move || unsafe { Latch::set(&raw const *latch) })
        };
        latch.block();
        assert!(latch.is_set());
        setter.join().unwrap();
    });
}
