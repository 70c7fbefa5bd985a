//! A closure that the pool runs while async code awaits its result.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::lock::lock;

/// Runs `work` on a thread of the pool; the future gives its result. For async code, whose executor must not be blocked by
/// long loops. It begins at once, not when it is polled. If the future is dropped before `work` begins, it is not called. A
/// panic in it goes on where the future is awaited.
///
/// ```
/// use evener::prelude::*;
/// use futures::executor::block_on;
///
/// let numbers: Vec<u64> = (0..10_000).collect();
/// let sum = block_on(async { evener::run(move || numbers.par().copied().sum::<u64>()).await });
/// assert_eq!(sum, 49_995_000);
/// ```
pub fn run<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Run<R> {
    let state = Arc::new(Mutex::new(State::Running(None)));
    let awaited: Weak<_> = Arc::downgrade(&state);
    evener_pool::spawn(move || {
        if awaited.strong_count() == 0 {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(work));
        let Some(state) = awaited.upgrade() else {
            return;
        };
        let before = std::mem::replace(&mut *lock(&state), State::Done(Some(result)));
        if let State::Running(Some(waker)) = before {
            waker.wake();
        }
    });
    Run { state }
}

/// The result of [`run`], some time.
#[derive(Debug)]
#[must_use = "the work is not done if its future is dropped before it begins"]
pub struct Run<R> {
    state: Arc<Mutex<State<R>>>,
}

#[derive(Debug)]
enum State<R> {
    Running(Option<Waker>),
    /// Until it is taken.
    Done(Option<thread::Result<R>>),
}

impl<R> Future for Run<R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        match &mut *lock(&self.state) {
            State::Running(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            State::Done(result) => match result.take() {
                Some(Ok(result)) => Poll::Ready(result),
                Some(Err(payload)) => resume_unwind(payload),
                None => panic!("the future was polled after it had given its result"),
            },
        }
    }
}
