//! A device whose packets go through rules.

use std::io;
use std::os::fd::BorrowedFd;

use super::fields::Fields;
use super::{Action, Rule, Rules, Way};
use crate::device::{Capabilities, Count, Device, Direction, Medium, Recorder};
use crate::packet::{Offload, Outgoing};

/// A device, and rules between it and what uses it. A packet that is dropped on its way out counts as sent.
pub struct Filtered {
    device: Box<dyn Device>,
    filter: Filter,
}

struct Filter {
    medium: Medium,
    rules: Vec<Counted>,
    /// Fragments that were dropped because they hide what a rule asks for.
    hidden: u64,
}

/// What rules say of a packet.
#[derive(Clone, Copy)]
enum Verdict {
    /// The first rule that matches it decides.
    Rule(usize),
    /// None matches it.
    Pass,
    /// It hides whether a rule matches it.
    Hidden,
}

/// A rule, and the packets that it matched. Segments of super-segments count each.
struct Counted {
    rule: Rule,
    packets: u64,
    bytes: u64,
    mirror: Option<Recorder>,
}

impl Filtered {
    /// Applies rules to what passes `device`, and makes the files that they mirror to.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn new(device: Box<dyn Device>, rules: &Rules) -> io::Result<Filtered> {
        let medium = device.capabilities().medium;
        let counted = |rule: &Rule| {
            let mirror = match &rule.action {
                Action::Mirror(path) => {
                    let named = |error: io::Error| {
                        let message = format!("{}: {error}", path.display());
                        io::Error::new(error.kind(), message)
                    };
                    Some(Recorder::new(path, medium).map_err(named)?)
                }
                _ => None,
            };
            Ok(Counted {
                rule: rule.clone(),
                packets: 0,
                bytes: 0,
                mirror,
            })
        };
        let rules = rules.0.iter().map(counted).collect::<io::Result<_>>()?;
        Ok(Filtered {
            device,
            filter: Filter {
                medium,
                rules,
                hidden: 0,
            },
        })
    }
}

impl Filter {
    /// What the rules say of a packet, whose headers are at the front of `header`. Counting is left to `count`, as a device
    /// that is full gets the packet again.
    fn find(&self, way: Way, header: &[u8]) -> (Verdict, Fields) {
        let fields = Fields::of(header, self.medium);
        for (at, counted) in self.rules.iter().enumerate() {
            match counted.rule.matches.takes(way, &fields) {
                Some(true) => return (Verdict::Rule(at), fields),
                Some(false) => {}
                None => return (Verdict::Hidden, fields),
            }
        }
        (Verdict::Pass, fields)
    }

    fn drops(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Rule(at) => self.rules[at].rule.action == Action::Drop,
            Verdict::Pass => false,
            Verdict::Hidden => true,
        }
    }

    /// Counts a packet, and mirrors it.
    fn count(
        &mut self,
        (verdict, fields): (Verdict, Fields),
        len: usize,
        segment: u16,
        direction: Direction,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let counted = match verdict {
            Verdict::Rule(at) => &mut self.rules[at],
            Verdict::Pass => return,
            Verdict::Hidden => {
                self.hidden += 1;
                return;
            }
        };
        let payload = fields.payload.map_or(0, |at| len.saturating_sub(at));
        let segments = match segment {
            0 => 1,
            size => payload.div_ceil(usize::from(size)).max(1),
        };
        counted.packets += segments as u64;
        counted.bytes += len as u64;
        if let Some(mirror) = &mut counted.mirror {
            mirror.record(direction, len, fill);
        }
    }
}

impl Device for Filtered {
    fn capabilities(&self) -> Capabilities {
        self.device.capabilities()
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        let Filtered { device, filter } = self;
        device.receive(limit, &mut |bytes, offload| {
            let found = filter.find(Way::In, bytes);
            let fill = |to: &mut [u8]| to.copy_from_slice(bytes);
            filter.count(
                found,
                bytes.len(),
                offload.segment,
                Direction::Inbound,
                fill,
            );
            if !filter.drops(found.0) {
                each(bytes, offload);
            }
        })
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let found = self.filter.find(Way::Out, packet.header);
        if !self.filter.drops(found.0) && !self.device.send(packet)? {
            return Ok(false);
        }
        let fill = |to: &mut [u8]| packet.copy_to(to);
        let segment = packet.offload.segment;
        (self.filter).count(found, packet.len(), segment, Direction::Outbound, fill);
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.device.flush()
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.device.readable()
    }

    fn before_wait(&mut self) -> bool {
        for counted in &mut self.filter.rules {
            if let Some(mirror) = &mut counted.mirror {
                mirror.flush();
            }
        }
        self.device.before_wait()
    }

    fn counts(&self, to: &mut Vec<Count>) {
        self.device.counts(to);
        let rules = || self.filter.rules.iter().enumerate();
        let of = |number: usize, counted: &Counted| {
            Some(format!("rule {}: {}", number + 1, counted.rule.text))
        };
        to.extend(rules().map(|(number, counted)| Count {
            name: "filter_packets_total",
            about: "Packets that a rule of the filter matched.",
            of: of(number, counted),
            value: counted.packets,
        }));
        to.extend(rules().map(|(number, counted)| Count {
            name: "filter_bytes_total",
            about: "Bytes of packets that a rule of the filter matched, headers included.",
            of: of(number, counted),
            value: counted.bytes,
        }));
        to.push(Count {
            name: "filter_hidden_total",
            about: "Fragments that were dropped, as they hide what a rule of the filter asks for.",
            of: None,
            value: self.filter.hidden,
        });
    }
}
