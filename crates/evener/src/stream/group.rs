//! Items that are handed over together.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::stages::Stages;
use crate::lock::lock;

/// Some items on their way.
#[derive(Debug)]
pub(super) struct Group<Out> {
    done: Mutex<Option<Done<Out>>>,
    is_done: AtomicBool,
}

/// What became of them.
#[derive(Debug)]
pub(super) struct Done<Out> {
    pub(super) results: Vec<Out>,
    pub(super) panic: Option<Box<dyn std::any::Any + Send>>,
    /// Nanoseconds of an item.
    pub(super) cost: f64,
}

impl<Out> Group<Out> {
    pub(super) fn new() -> Group<Out> {
        Group {
            done: Mutex::new(None),
            is_done: AtomicBool::new(false),
        }
    }

    /// Runs the items through the stages, unless the stream has ended.
    pub(super) fn run<T>(
        &self,
        items: Vec<T>,
        stages: &impl Stages<T, Out = Out>,
        ended: &AtomicBool,
    ) {
        let (started, len) = (Instant::now(), items.len());
        let mut results = Vec::with_capacity(len);
        let mut panic = None;
        if !ended.load(Ordering::Relaxed) {
            let ran = catch_unwind(AssertUnwindSafe(|| {
                for item in items {
                    results.push(stages.run(item));
                }
            }));
            panic = ran.err();
        }
        *lock(&self.done) = Some(Done {
            results,
            panic,
            cost: started.elapsed().as_nanos() as f64 / len as f64,
        });
        self.is_done.store(true, Ordering::Release);
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// What became of them, once.
    pub(super) fn take(&self) -> Option<Done<Out>> {
        lock(&self.done).take()
    }
}
