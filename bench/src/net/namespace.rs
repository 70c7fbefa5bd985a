//! A network namespace beside the caller's.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::process::Process;
use super::until;

/// How long it may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// A namespace. Its interfaces go with it.
pub struct Namespace {
    /// Keeps it there.
    process: Process,
}

impl Namespace {
    /// Makes it.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new() -> io::Result<Namespace> {
        let process = Process::start(Command::new("unshare").args(["--net", "sleep", "3600"]))?;
        let namespace = Namespace { process };
        let here = fs::read_link("/proc/self/ns/net")?;
        let patience = until(PATIENCE);
        while fs::read_link(namespace.path())? == here {
            if Instant::now() > patience {
                return Err(io::Error::other("no network namespace can be made"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(namespace)
    }

    /// The process that keeps it there.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.id())
    }

    /// Runs `what` in a thread that is there. Sockets and devices that it opens stay there.
    ///
    /// # Errors
    /// The namespace cannot be entered, and those of `what`.
    pub fn within<T: Send>(&self, what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let path = self.path();
        thread::scope(|scope| {
            let within = scope.spawn(move || {
                let file = File::open(path)?;
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                what()
            });
            within.join().expect("the thread does not panic")
        })
    }
}

/// Runs the program `ip`.
///
/// # Errors
/// It cannot be run, or fails.
pub fn ip(arguments: &str) -> io::Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("ip {arguments}: {status}"))),
    }
}
