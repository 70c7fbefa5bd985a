//! Threads for blocking input and output.
#![forbid(unsafe_code)]

mod meter;
mod spin;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::thread::{self, Scope};

use tracing::error;

use crate::dispatch::affinity::{Affinity, ThreadRef};
use crate::error::Error;
use crate::runtime::Runtime;
use crate::stream::panic_text;

pub use meter::{ThreadLoad, ThreadMeter, wants_another};
pub(crate) use spin::SpinBudget;
pub use spin::SpinWait;

impl Runtime {
    /// Calls `f` with a handle that starts threads for blocking input and output, such as one for each connection of
    /// a server. Returns when `f` and all threads have ended. Computing belongs to workers: such a thread calls
    /// [`Pool::run`](crate::Pool::run), in which it is worker 0. The threads are not pinned, unless they are started
    /// so.
    ///
    /// ```
    /// let runtime = evener_runtime::Runtime::new()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// runtime.io_threads(|threads| threads.start("reader", move || send.send(7).unwrap()))?;
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn io_threads<'env, R>(
        &'env self,
        f: impl for<'scope> FnOnce(IoThreads<'scope, 'env>) -> R,
    ) -> R {
        thread::scope(|scope| f(IoThreads { scope }))
    }

    /// Returns a wait that spins before it parks, for one thread, or for several that take turns.
    pub fn spin_wait(&self) -> SpinWait {
        SpinWait::new(self.spin_budget())
    }
}

/// Starts threads for blocking input and output; see [`Runtime::io_threads`].
#[derive(Clone, Copy, Debug)]
pub struct IoThreads<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
}

impl<'scope> IoThreads<'scope, '_> {
    /// Starts a thread with this name, of which Linux shows 15 bytes. If `f` panics, the thread ends and the log has
    /// the message; nothing else happens. So whatever must happen at its end belongs in a `Drop`.
    ///
    /// # Errors
    /// [`Error::Thread`] if the operating system refuses one.
    pub fn start(self, name: &'static str, f: impl FnOnce() + Send + 'scope) -> Result<(), Error> {
        let body = move || {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
                error!(
                    thread = name,
                    "a thread for input and output panicked: {}",
                    panic_text(&*payload)
                );
            }
        };
        let started = thread::Builder::new()
            .name(name.into())
            .spawn_scoped(self.scope, body);
        match started {
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Thread { name, source }),
        }
    }

    /// As [`start`](IoThreads::start), but pins the thread to `cpu` before `f` starts. No other thread of this
    /// process should use that CPU.
    ///
    /// # Errors
    /// [`Error::Thread`] if the operating system refuses one, [`Error::Pinned`] if it may not run there.
    pub fn start_pinned(
        self,
        name: &'static str,
        cpu: usize,
        f: impl FnOnce() + Send + 'scope,
    ) -> Result<(), Error> {
        let (tell, told) = sync_channel(1);
        self.start(name, move || {
            let pinned = Affinity::current().pin(ThreadRef::Current, &[cpu]);
            let runs = pinned.is_ok();
            let _ = tell.send(pinned);
            if runs {
                f();
            }
        })?;
        let pinned = told.recv().unwrap_or(Ok(()));
        pinned.map_err(|source| Error::Pinned { name, cpu, source })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn all_have_ended_when_it_returns_and_a_panic_is_one_threads_own() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let ended = AtomicU32::new(0);
        let text = runtime.io_threads(|threads| {
            for number in 0..4 {
                let ended = &ended;
                let inner = move || {
                    let name = thread::current().name().map(str::to_owned);
                    assert_eq!(name.as_deref(), Some("evener-io"));
                    ended.fetch_add(1, Ordering::Relaxed);
                    assert!(number < 3, "the last one panics");
                };
                // A thread may start another.
                let outer = move || threads.start("evener-io", inner).unwrap();
                threads.start("evener-io-outer", outer).unwrap();
            }
            "done"
        });
        assert_eq!((text, ended.into_inner()), ("done", 4));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_pinned_or_does_not_begin() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let cpu = runtime.topology().cpus.last().unwrap().id;
        let found = AtomicU32::new(0);
        runtime.io_threads(|threads| {
            let look = || {
                let here = rustix::thread::sched_getaffinity(None).unwrap();
                assert!(here.is_set(cpu));
                found.store(here.count(), Ordering::Relaxed);
            };
            threads.start_pinned("evener-pinned", cpu, look).unwrap();
            let never = || found.store(99, Ordering::Relaxed);
            let error = threads.start_pinned("evener-pinned", 1023, never);
            assert!(matches!(error, Err(Error::Pinned { cpu: 1023, .. })));
        });
        assert_eq!(found.into_inner(), 1);
    }
}
