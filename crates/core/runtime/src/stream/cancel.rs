//! Ends a stream early, from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// Called to wake a waiting thread; see [`CancelToken::on_cancel`].
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Ends the streams that have this token: units in progress are finished, complete units are written, the sink is
/// finished, and the [`Report`](super::Report) says `cancelled`.
///
/// Clones are the same token. [`CancelToken::cancel`] takes a lock, so call it from a thread, not from a signal
/// handler; the usual signal crates call back on a thread.
#[derive(Clone, Default)]
pub struct CancelToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    next: AtomicU64,
    wakers: Mutex<Vec<(u64, Waker)>>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every stream that has this token to end. This cannot be undone.
    pub fn cancel(&self) {
        // The list is locked around both steps, so a stream that registers at this moment is woken here or sees the
        // flag.
        let wakers = lock(&self.inner.wakers);
        self.inner.cancelled.store(true, Ordering::Release);
        for (_, waker) in wakers.iter() {
            waker();
        }
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::Acquire)
    }

    /// Calls `waker` when the token is cancelled, or at once if it already is, until the guard is dropped. The call
    /// is on the cancelling thread, with a lock held, so it should only wake a thread.
    pub fn on_cancel(&self, waker: Waker) -> OnCancel<'_> {
        let id = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let mut wakers = lock(&self.inner.wakers);
        if self.is_cancelled() {
            waker();
        }
        wakers.push((id, waker));
        OnCancel { token: self, id }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

/// Keeps a waker registered.
pub struct OnCancel<'a> {
    token: &'a CancelToken,
    id: u64,
}

impl fmt::Debug for OnCancel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnCancel").field(&self.id).finish()
    }
}

impl Drop for OnCancel<'_> {
    fn drop(&mut self) {
        let mut wakers = lock(&self.token.inner.wakers);
        wakers.retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn wakers_are_called_while_they_are_registered() {
        let (token, calls) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
        let waker = || {
            let calls = Arc::clone(&calls);
            Arc::new(move || {
                calls.fetch_add(1, Ordering::Relaxed);
            })
        };
        let kept = token.on_cancel(waker());
        drop(token.on_cancel(waker()));
        assert!(!token.is_cancelled());
        token.clone().cancel();
        assert!(token.is_cancelled());
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        drop(kept);
        // One that comes too late is called at once.
        drop(token.on_cancel(waker()));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}
