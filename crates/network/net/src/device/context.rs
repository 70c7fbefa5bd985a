//! What devices are opened with.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use evener_runtime::{CancelToken, Runtime};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A device that waits for its peer looks so often whether it still should.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What a device may need while it is opened, and afterwards.
#[derive(Clone, Default)]
pub struct Context {
    /// Ends a wait for a peer.
    pub stop: CancelToken,
    /// The addresses of what will use the device, if they are known. A device that shares an interface with the kernel may
    /// leave the rest to it.
    pub addresses: Vec<IpAddr>,
    /// Its workers compute for a device that has something to compute. Without one the thread of the device does.
    pub runtime: Option<Arc<Runtime>>,
    /// Is told, in a line, what a device waits for before it is open.
    pub waits: Option<fn(&str)>,
}

impl From<CancelToken> for Context {
    fn from(stop: CancelToken) -> Context {
        Context {
            stop,
            ..Context::default()
        }
    }
}

impl Context {
    /// Waits until `file` is readable, as long as `goes_on` says so and the wait is not stopped. False if it ended before.
    ///
    /// # Errors
    /// What the operating system says, or [`io::ErrorKind::Interrupted`] when the wait is stopped.
    pub(super) fn wait_for(
        &self,
        file: &impl AsFd,
        goes_on: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let timeout = Timespec::try_from(LOOK_AGAIN).expect("a short time");
        loop {
            if self.stop.is_cancelled() {
                let message = "it was stopped before its peer came";
                return Err(io::Error::new(io::ErrorKind::Interrupted, message));
            }
            match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout)) {
                Ok(0) if goes_on() => {}
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
