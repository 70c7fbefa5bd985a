//! Why an image cannot become a block device.

use std::io;

/// An image cannot become a block device, or stopped being one. Every message is one line that says what failed,
/// where, and what to do.
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
    /// The driver lacks a feature.
    #[error("/dev/ublk-control: this driver cannot {lacks}; it takes Linux 6.5 or later")]
    OldDriver {
        /// The feature.
        lacks: &'static str,
    },
    /// The device to recover does not exist.
    #[error("there is no ublk device {id}; {known}")]
    NoDevice {
        /// Its number.
        id: u32,
        /// The existing ones.
        known: String,
    },
    /// The device to recover belongs to something else.
    #[error("ublk device {id} cannot be taken over: {why}")]
    NotOurs {
        /// Its number.
        id: u32,
        /// The reason.
        why: String,
    },
    /// The device to recover has a server.
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
        /// The command.
        what: &'static str,
        /// The driver's error.
        source: io::Error,
    },
    /// The character device of a device cannot be used.
    #[error("{path}: {source}")]
    Node {
        /// Its path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A queue has ended on its own.
    #[error("ublk device {id}: {why}")]
    Ended {
        /// Its number.
        id: u32,
        /// The reason.
        why: String,
    },
    /// A thread cannot be started.
    #[error(transparent)]
    Runtime(#[from] evener_runtime::Error),
}
