//! Why an image cannot be a device.

use std::io;

/// An image cannot become a device, or stopped being one. Every message is one line that says what, where and what to
/// do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no driver.
    #[error(
        "/dev/ublk-control: there is no ublk driver; load it with: modprobe ublk_drv (Linux 6.5 or later)"
    )]
    NoDriver,
    /// This user may not use the driver.
    #[error("/dev/ublk-control: {0}; run it as root")]
    Denied(io::Error),
    /// io_uring is missing, or this user may not use it.
    #[error(
        "io_uring cannot be used: {0}; see sysctl kernel.io_uring_disabled, and the limits of a container"
    )]
    NoRing(io::Error),
    /// The driver lacks something.
    #[error("/dev/ublk-control: this driver cannot {lacks}; it takes Linux 6.5 or later")]
    OldDriver {
        /// What it cannot do.
        lacks: &'static str,
    },
    /// A device that is to be recovered does not exist.
    #[error("there is no ublk device {id}; {known}")]
    NoDevice {
        /// Its number.
        id: u32,
        /// The existing ones.
        known: String,
    },
    /// A device that is to be recovered belongs to something else.
    #[error("ublk device {id} cannot be taken over: {why}")]
    NotOurs {
        /// Its number.
        id: u32,
        /// What is in the way.
        why: String,
    },
    /// A device that is to be recovered has a server.
    #[error("ublk device {id} is served by process {server}; end that one first")]
    Served {
        /// Its number.
        id: u32,
        /// Its server.
        server: i32,
    },
    /// A device whose server was killed during a recovery.
    #[error(
        "ublk device {id} cannot be taken over: a server was killed while it did so, and the driver cannot \
         begin anew; only a reboot removes the device"
    )]
    Stuck {
        /// Its number.
        id: u32,
    },
    /// The driver refuses a command.
    #[error("ublk device {id}: {what} failed: {source}")]
    Command {
        /// Its number.
        id: u32,
        /// What was asked for.
        what: &'static str,
        /// What the driver said.
        source: io::Error,
    },
    /// The character device of a device cannot be used.
    #[error("{path}: {source}")]
    Node {
        /// Which.
        path: String,
        /// What is in the way.
        source: io::Error,
    },
    /// A queue has ended by itself.
    #[error("ublk device {id}: {why}")]
    Ended {
        /// Its number.
        id: u32,
        /// Why.
        why: String,
    },
    /// A thread cannot be started.
    #[error(transparent)]
    Runtime(#[from] evener_runtime::Error),
}
