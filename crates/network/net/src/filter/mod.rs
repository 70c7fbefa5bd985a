//! A filter of packets beside the stack: rules that drop, count or mirror what passes a device.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `rules.rs` | rules as they are written |
//! | `fields.rs` | what rules look at in a packet |
//! | `device.rs` | a device whose packets go through rules |
//!
//! A rule costs a few comparisons, and all rules of a packet less than handing it to another worker would. So the thread
//! that has the device applies them, between the device and the engine.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::device::Prefix;

mod device;
mod fields;
mod rules;

pub use device::Filtered;
pub use rules::RuleError;

use fields::Fields;

/// Rules in their order. The first that matches a packet decides, and a packet that none matches passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

/// Which packets, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// As it was written.
    text: String,
    action: Action,
    matches: Match,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// It passes. Each rule counts.
    Pass,
    Drop,
    /// It passes, and is recorded in a file.
    Mirror(PathBuf),
}

/// Which way a packet goes: from the device to the stack, or from the stack to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// What a packet must have. What is not said may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Match {
    way: Option<Way>,
    protocol: Option<Protocol>,
    source: Option<Prefix>,
    destination: Option<Prefix>,
    source_port: Option<RangeInclusive<u16>>,
    destination_port: Option<RangeInclusive<u16>>,
    /// Flags of TCP that must be set, and that must not.
    flags: Option<(u8, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Arp,
    /// Of IP, by its number; ICMP is that of either version.
    Number(u8),
    Icmp,
}

impl Match {
    /// None if what must be known for that is hidden in another fragment.
    fn takes(&self, way: Way, packet: &Fields) -> Option<bool> {
        let within = |prefix: &Option<Prefix>, address: Option<IpAddr>| match prefix {
            Some(prefix) => address.is_some_and(|address| prefix.contains(address)),
            None => true,
        };
        let among = |range: &Option<RangeInclusive<u16>>, port: Option<u16>| match range {
            Some(range) => port.is_some_and(|port| range.contains(&port)),
            None => true,
        };
        if self.way.is_some_and(|wanted| wanted != way)
            || !within(&self.source, packet.source)
            || !within(&self.destination, packet.destination)
        {
            return Some(false);
        }
        if let Some(protocol) = self.protocol
            && !packet.is(protocol)
        {
            return (!packet.hides || packet.has_protocol()).then_some(false);
        }
        let has_ports = self.source_port.is_some() || self.destination_port.is_some();
        if packet.hides && (has_ports || self.flags.is_some()) {
            return None;
        }
        Some(
            among(&self.source_port, packet.source_port)
                && among(&self.destination_port, packet.destination_port)
                && self.flags.is_none_or(|(set, clear)| {
                    (packet.flags).is_some_and(|flags| flags & set == set && flags & clear == 0)
                }),
        )
    }
}
