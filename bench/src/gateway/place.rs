//! Where gateways run: a network namespace of their own, behind a pair of veth.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{
    CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getaffinity, sched_setaffinity,
};

/// What sends to the gateway and receives from it.
pub const HERE: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 1);
/// The gateway.
pub const THERE: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 2);

const PREFIX: u32 = 16;
/// Of multicast, at both ends.
pub const GROUPS: &str = "239.0.0.0/8";
/// How long the namespace may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which end of the pair a process is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// In the namespace of the caller, on all processors but the first.
    Here,
    /// In the namespace of the gateway, on the first processor.
    There,
    /// There, on all processors.
    ThereOnAll,
}

/// The namespace, which goes on drop, and the pair with it.
pub struct Place(Child);

impl Place {
    /// Makes it.
    ///
    /// # Errors
    /// What the operating system or `ip` says.
    pub fn new() -> io::Result<Place> {
        let child = Command::new("unshare")
            .args(["--net", "sleep", "3600"])
            .spawn()?;
        let place = Place(child);
        let here = fs::read_link("/proc/self/ns/net")?;
        let begun = Instant::now();
        while fs::read_link(place.path())? == here {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("no network namespace can be made"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        ip(&format!(
            "link add evgate0 type veth peer name evgate1 netns {}",
            place.0.id()
        ))?;
        ip(&format!("address add {HERE}/{PREFIX} dev evgate0"))?;
        ip("link set evgate0 up")?;
        ip(&format!("route add {GROUPS} dev evgate0"))?;
        place.at(End::There, || {
            ip(&format!("address add {THERE}/{PREFIX} dev evgate1"))?;
            ip("link set lo up")?;
            ip("link set evgate1 up")?;
            ip(&format!("route add {GROUPS} dev evgate1"))
        })?;
        Ok(place)
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// Runs `what` in a thread at an end. Processes that it starts are there, too.
    ///
    /// # Errors
    /// The namespace cannot be entered, and those of `what`.
    pub fn at<T: Send>(
        &self,
        end: End,
        what: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let path = self.path();
        thread::scope(|scope| {
            let at = scope.spawn(move || {
                if end != End::Here {
                    let file = File::open(path)?;
                    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                }
                pin(end)?;
                what()
            });
            at.join().expect("the thread does not panic")
        })
    }
}

/// The gateway gets the first processor that this process may use, all else the others.
fn pin(end: End) -> io::Result<()> {
    if end == End::ThereOnAll {
        return Ok(());
    }
    let all = sched_getaffinity(None)?;
    let mut of_end = CpuSet::new();
    let known = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
    for (number, cpu) in known.enumerate() {
        if (number == 0) == (end == End::There) {
            of_end.set(cpu);
        }
    }
    match of_end.count() {
        // There is only one.
        0 => Ok(()),
        _ => Ok(sched_setaffinity(None, &of_end)?),
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The pair would go with the namespace, but later.
        let _ = ip("link delete evgate0");
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) -> io::Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("ip {arguments}: {status}"))),
    }
}
