//! Handlers of signals that drivers replace.

use std::mem::MaybeUninit;
use std::ptr;

/// Signals that end a program, and that a compiler within a driver takes to clean up after itself.
const SIGNALS: [i32; 5] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGPIPE,
];

/// Calls a driver, and then puts back the handlers that were there before.
pub fn kept<R>(call: impl FnOnce() -> R) -> R {
    let before = SIGNALS.map(|signal| {
        let mut handler = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: it changes nothing, and there is room for the answer, which is complete where it succeeds.
        unsafe {
            let code = libc::sigaction(signal, ptr::null(), handler.as_mut_ptr());
            (code == 0).then(|| handler.assume_init())
        }
    });
    let result = call();
    for (signal, handler) in SIGNALS.into_iter().zip(before) {
        if let Some(handler) = handler {
            // SAFETY: the handler was installed before, so it may be again.
            unsafe { libc::sigaction(signal, &handler, ptr::null_mut()) };
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler() -> usize {
        let mut handler = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: as above.
        unsafe {
            assert_eq!(
                libc::sigaction(libc::SIGQUIT, ptr::null(), handler.as_mut_ptr()),
                0
            );
            handler.assume_init().sa_sigaction
        }
    }

    #[test]
    fn a_handler_that_a_driver_replaces_is_put_back() {
        let before = handler();
        // SAFETY: to ignore a signal runs no code.
        kept(|| unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) });
        assert_eq!(handler(), before);
        assert_ne!(before, libc::SIG_IGN);
    }
}
