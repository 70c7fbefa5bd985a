//! Throughput between two engines by the sizes of what they send: the figures that a stack on a core of a Cell processor
//! was published with, for this machine.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::wire::{self, Pairing};
use crate::stats::median;

/// Bytes of the payload of a datagram.
const PAYLOADS: &[u32] = &[64, 128, 256, 512, 1024, 1472, 4096, 8192];
/// Bytes of the largest segment of TCP.
const SEGMENTS: &[u32] = &[536, 1460, 5000, 8960];
/// Bytes of the ring that a connection receives into.
const WINDOWS: &[u32] = &[16 << 10, 32 << 10, 64 << 10, 256 << 10];
/// Sockets whose control blocks find no room in the cache together.
const MANY: usize = 2000;

/// One of the figures.
pub struct Curves {
    /// Its number in the publication.
    pub number: u32,
    /// What is sent, and where the control blocks are.
    pub name: &'static str,
    protocol: Protocol,
    one_thread: bool,
    sockets: usize,
}

#[derive(Clone, Copy)]
enum Protocol {
    Udp,
    Tcp,
}

/// All of them.
pub const CURVES: &[Curves] = &[
    Curves {
        number: 6,
        name: "loopback udp by payload",
        protocol: Protocol::Udp,
        one_thread: true,
        sockets: 1,
    },
    Curves {
        number: 7,
        name: "loopback tcp by segment and window",
        protocol: Protocol::Tcp,
        one_thread: true,
        sockets: 1,
    },
    Curves {
        number: 8,
        name: "udp by payload",
        protocol: Protocol::Udp,
        one_thread: false,
        sockets: 1,
    },
    Curves {
        number: 9,
        name: "udp by payload over 2000 sockets",
        protocol: Protocol::Udp,
        one_thread: false,
        sockets: MANY,
    },
    Curves {
        number: 10,
        name: "tcp by segment and window",
        protocol: Protocol::Tcp,
        one_thread: false,
        sockets: 1,
    },
    Curves {
        number: 11,
        name: "tcp by segment and window over 2000 connections",
        protocol: Protocol::Tcp,
        one_thread: false,
        sockets: MANY,
    },
];

/// A figure as it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// Its number in the publication.
    pub number: u32,
    /// What is sent, and where the control blocks are.
    pub name: &'static str,
    /// What the sizes are of.
    pub over: &'static str,
    /// In bytes.
    pub sizes: &'static [u32],
    /// One for UDP; one for each window for TCP.
    pub lines: Vec<Line>,
}

/// Throughput by size.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What it is of.
    pub name: String,
    /// Gbit/s of payload for each size, the median of the rounds.
    pub values: Vec<f64>,
}

impl Curves {
    /// Measures it: each point for `time`, in each of `rounds`.
    pub(super) fn draw(&self, time: Duration, rounds: u32) -> io::Result<Drawn> {
        let point = |size: u32, window: u32| -> io::Result<f64> {
            let mut pairing = match self.protocol {
                Protocol::Udp => Pairing::datagrams(size, self.sockets),
                Protocol::Tcp => Pairing::connections(size, window, self.sockets),
            };
            pairing.one_thread = self.one_thread;
            let values: io::Result<Vec<f64>> = (0..rounds)
                .map(|_| wire::throughput(&pairing, time))
                .collect();
            Ok(median(&mut values?))
        };
        let (over, sizes, windows) = match self.protocol {
            Protocol::Udp => ("payload", PAYLOADS, &WINDOWS[..1]),
            Protocol::Tcp => ("segment", SEGMENTS, WINDOWS),
        };
        let line = |&window: &u32| -> io::Result<Line> {
            let values: io::Result<Vec<f64>> =
                sizes.iter().map(|&size| point(size, window)).collect();
            let name = match self.protocol {
                Protocol::Udp => "UDP".into(),
                Protocol::Tcp => format!("window of {} KiB", window >> 10),
            };
            Ok(Line {
                name,
                values: values?,
            })
        };
        Ok(Drawn {
            number: self.number,
            name: self.name,
            over,
            sizes,
            lines: windows.iter().map(line).collect::<io::Result<_>>()?,
        })
    }
}
