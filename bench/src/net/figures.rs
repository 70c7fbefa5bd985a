//! What is measured, with whom.

use std::io;
use std::time::Duration;

use evener_net::tcp::congestion::Algorithm;

use super::{loss, tun, veth, wire};

/// Runs a contestant for a time and returns what it reached.
pub(super) type Run = fn(Duration) -> io::Result<f64>;

/// A figure: the contestants take turns, evener is the first.
pub struct Figure {
    /// Its name: the device, what happens over it.
    pub name: &'static str,
    /// Of its values.
    pub unit: &'static str,
    pub(super) contestants: &'static [(&'static str, Run)],
}

/// All figures, in the order they are measured.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: "tun offload receive",
        unit: "Gbit/s",
        contestants: &[
            ("evener", |time| {
                tun::receive(tun::Stack::Evener, true, time)
            }),
            ("bare loop", |time| {
                tun::receive(tun::Stack::Bare, true, time)
            }),
        ],
    },
    Figure {
        name: "tun offload send",
        unit: "Gbit/s",
        contestants: &[
            ("evener", |time| tun::send(tun::Stack::Evener, true, time)),
            ("bare loop", |time| tun::send(tun::Stack::Bare, true, time)),
        ],
    },
    Figure {
        name: "tun 1500 receive",
        unit: "Gbit/s",
        contestants: &[
            ("evener", |time| {
                tun::receive(tun::Stack::Evener, false, time)
            }),
            ("bare loop", |time| {
                tun::receive(tun::Stack::Bare, false, time)
            }),
            ("smoltcp", |time| {
                tun::receive(tun::Stack::Smoltcp, false, time)
            }),
        ],
    },
    Figure {
        name: "tun 1500 send",
        unit: "Gbit/s",
        contestants: &[
            ("evener", |time| tun::send(tun::Stack::Evener, false, time)),
            ("bare loop", |time| tun::send(tun::Stack::Bare, false, time)),
            ("smoltcp", |time| {
                tun::send(tun::Stack::Smoltcp, false, time)
            }),
        ],
    },
    Figure {
        name: "tun request and response",
        unit: "thousand/s",
        contestants: &[
            ("evener", |time| tun::requests(tun::Stack::Evener, time)),
            ("evener net exec", tun::requests_to_program),
            ("bare loop", |time| tun::requests(tun::Stack::Bare, time)),
            ("smoltcp", |time| tun::requests(tun::Stack::Smoltcp, time)),
            ("kernel over veth", veth::requests),
        ],
    },
    Figure {
        name: "tun datagrams of 64 bytes send by USO",
        unit: "thousand/s",
        contestants: &[
            ("evener", |time| {
                tun::send_datagrams(tun::Stack::Evener, 64, time)
            }),
            ("bare loop", |time| {
                tun::send_datagrams(tun::Stack::Bare, 64, time)
            }),
        ],
    },
    Figure {
        name: "tun datagrams of 64 bytes send",
        unit: "thousand/s",
        contestants: &[
            ("evener", |time| {
                tun::send_datagrams(tun::Stack::Evener, 1, time)
            }),
            ("bare loop", |time| {
                tun::send_datagrams(tun::Stack::Bare, 1, time)
            }),
            ("kernel over veth", |time| veth::datagrams(64, time)),
        ],
    },
    Figure {
        name: "tun datagrams of 64 bytes receive",
        unit: "thousand/s",
        contestants: &[
            ("evener", |time| {
                tun::receive_datagrams(tun::Stack::Evener, time)
            }),
            ("bare loop", |time| {
                tun::receive_datagrams(tun::Stack::Bare, time)
            }),
        ],
    },
    Figure {
        name: "wire 1500 bulk",
        unit: "Gbit/s",
        contestants: &[
            ("1 flow", |time| wire::bulk(1, false, time)),
            ("10,000 flows", |time| wire::bulk(10_000, false, time)),
        ],
    },
    Figure {
        name: "wire offload bulk",
        unit: "Gbit/s",
        contestants: &[
            ("1 flow", |time| wire::bulk(1, true, time)),
            ("10,000 flows", |time| wire::bulk(10_000, true, time)),
        ],
    },
    Figure {
        name: "wire datagrams of 64 bytes",
        unit: "thousand/s",
        contestants: &[("evener", wire::datagrams)],
    },
    Figure {
        name: "wire round trip",
        unit: "µs, median",
        contestants: &[("evener", wire::round_trip)],
    },
    Figure {
        name: "link of 10 ms and 1 % loss cubic",
        unit: "Mbit/s",
        contestants: &[
            ("evener", |time| loss::engines(Algorithm::Cubic, time)),
            ("kernel", |time| loss::kernels(Algorithm::Cubic, time)),
        ],
    },
    Figure {
        name: "link of 10 ms and 1 % loss bbr",
        unit: "Mbit/s",
        contestants: &[
            ("evener", |time| loss::engines(Algorithm::Bbr, time)),
            ("kernel", |time| loss::kernels(Algorithm::Bbr, time)),
        ],
    },
];
