//! A long way between the two ends: a link of evener between two interfaces, with delay, loss, or a rate.

use std::io;
use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};

use evener_net::device::{Device, Specification};
use evener_net::link::{Conditions, run};
use evener_runtime::CancelToken;

use super::place::{End, Place, ip};

/// The end of what sends to the gateway and receives from it.
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 5, 0, 1);
/// The end of the gateway.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 5, 0, 2);

/// The interface there.
const AWAY: &str = "evlink1";

/// A link that forwards, until it is dropped.
pub struct Link {
    stop: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// Makes it. It has the conditions in each direction.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new(place: &Place, conditions: Conditions) -> io::Result<Link> {
        let mut near = place.at(End::Here, || open("evlink0", NEAR))?;
        let mut far = place.at(End::ThereOnAll, || open(AWAY, FAR))?;
        let stop = CancelToken::new();
        let stopped = stop.clone();
        let forward = move || {
            // Interfaces that go away are the end of it.
            let _ = run(&mut *near, &mut *far, &conditions, &stopped);
        };
        let thread = thread::Builder::new().name("link".into()).spawn(forward)?;
        Ok(Link {
            stop,
            thread: Some(thread),
        })
    }

    /// Sets the congestion control of connections that are accepted from now on at the gateway's end.
    ///
    /// # Errors
    /// The kernel has no such.
    pub fn set_congestion(&self, place: &Place, name: &str) -> io::Result<()> {
        // The system's default may not be set in a namespace.
        let route = format!("route replace 10.5.0.0/24 dev {AWAY} src {FAR} congctl {name}");
        place.at(End::ThereOnAll, || ip(&route))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn open(name: &str, address: Ipv4Addr) -> io::Result<Box<dyn Device>> {
    Specification::parse(&format!("tun:{name},addr={address}/24"))
        .map_err(io::Error::other)?
        .open()
}
