//! What keeps a transport stream valid for a client that does not get all of it.

use bytes::Bytes;

use super::marker::{clock, discontinuity};
use super::packet::{LEN, NULL, View};

/// Streams beyond this number lose packets without a mark.
const MAX_STREAMS: usize = 64;
/// How many packets are looked at for streams that begin, after something is not known of them.
const LOOKED_AT: u32 = 2048;

/// What a client gets of packets that are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// A packet of a unit that it has the beginning of.
    Rest(Bytes),
    /// A packet that says what time it is.
    Clock(Bytes),
}

/// For one client: units, which are PES packets and sections, go to it whole or not at all, and a packet says where some are
/// missing. While nothing is left out it needs to see no packet.
#[derive(Debug)]
pub struct Resume {
    /// Streams that lost units which nothing has said yet.
    broken: Vec<Broken>,
    unknown: Option<Unknown>,
}

/// A stream of which the client gets nothing until a unit begins.
#[derive(Clone, Copy, Debug)]
struct Broken {
    pid: u16,
    /// Of the last packet that it got, if that is known.
    counter: Option<u8>,
    /// A packet says that something is missing.
    marks: bool,
}

/// After packets that were not seen, all streams are broken.
#[derive(Debug)]
struct Unknown {
    /// But for these, which have been seen since.
    seen: Vec<u16>,
    marks: bool,
    /// Packets that are still looked at.
    packets: u32,
}

impl Default for Resume {
    fn default() -> Resume {
        Resume::new()
    }
}

impl Resume {
    /// The client has nothing so far, and gets each stream from where a unit begins.
    pub fn new() -> Resume {
        Resume {
            broken: Vec::new(),
            unknown: Some(Unknown::new(false)),
        }
    }

    /// The client has these packets, which come from another place of the stream, and then gets each stream from where a
    /// unit begins.
    pub fn after(packets: &[u8]) -> Resume {
        let mut resume = Resume::new();
        for (_, packet) in views(packets) {
            let counter = Some(packet.continuity());
            resume.broken.retain(|broken| broken.pid != packet.pid());
            resume.broken.push(Broken {
                pid: packet.pid(),
                counter,
                marks: true,
            });
        }
        resume
    }

    /// Packets are lost that [`leave_out`](Resume::leave_out) has not seen.
    pub fn lose(&mut self) {
        self.unknown = Some(Unknown::new(true));
    }

    /// Whether all that was left out has been marked; then packets may go to the client without [`Resume::send`].
    pub fn is_whole(&self) -> bool {
        self.broken.is_empty() && self.unknown.is_none()
    }

    /// The client does not get the units that begin in these packets. What is to be sent in their place is given to `out`.
    pub fn leave_out(&mut self, packets: Bytes, mut out: impl FnMut(Instead)) {
        for (at, packet) in views(&packets) {
            let pid = packet.pid();
            if pid == NULL {
                continue;
            }
            let counter = match self.broken(pid) {
                Some(broken) => {
                    self.set_broken(broken);
                    broken.counter
                }
                None if packet.has_payload() && !packet.begins_unit() => {
                    out(Instead::Rest(packets.slice(at..at + LEN)));
                    continue;
                }
                None => {
                    let counter = Some(before(packet));
                    // A mark that is left out has to be made up for.
                    if packet.has_payload() || packet.is_discontinuous() {
                        self.set_broken(Broken {
                            pid,
                            counter,
                            marks: true,
                        });
                    }
                    counter
                }
            };
            if let (Some(pcr), Some(counter)) = (packet.pcr(), counter) {
                let packet = Bytes::copy_from_slice(&clock(pid, counter, pcr));
                out(Instead::Clock(packet));
            }
        }
    }

    /// The client gets these packets: gives them to `out`, but for the rest of units that it has no beginning of, with a
    /// packet before the first unit of each stream that lost some.
    pub fn send(&mut self, mut packets: Bytes, mut out: impl FnMut(Bytes)) {
        let mut at = 0;
        while !self.is_whole()
            && let Some(bytes) = packets.get(at..).and_then(<[u8]>::first_chunk::<LEN>)
            && let Some(packet) = View::new(bytes)
        {
            let pid = packet.pid();
            let broken = self.broken(pid).filter(|_| pid != NULL);
            self.look();
            let Some(broken) = broken else {
                at += LEN;
                continue;
            };
            let begins = packet.begins_unit();
            // A multiple of 16 may have been left out, which the counter does not show.
            let marker = (begins && broken.marks).then(|| discontinuity(pid, before(packet)));
            let clock = || Some(clock(pid, broken.counter?, packet.pcr()?));
            let instead = if begins { marker } else { clock() };
            match begins {
                true => self.mend(pid),
                false => self.set_broken(broken),
            }
            if begins && instead.is_none() {
                at += LEN;
                continue;
            }
            if at > 0 {
                out(packets.split_to(at));
            }
            if let Some(instead) = instead {
                out(Bytes::copy_from_slice(&instead));
            }
            at = if begins { LEN } else { 0 };
            if !begins {
                let _ = packets.split_to(LEN);
            }
        }
        if !packets.is_empty() {
            out(packets);
        }
    }

    /// What is missing of a stream, if anything is.
    fn broken(&self, pid: u16) -> Option<Broken> {
        let broken = self.broken.iter().find(|broken| broken.pid == pid);
        let unknown = self.unknown.as_ref();
        broken.copied().or_else(|| {
            let unknown = unknown.filter(|unknown| !unknown.seen.contains(&pid))?;
            Some(Broken {
                pid,
                counter: None,
                marks: unknown.marks,
            })
        })
    }

    fn set_broken(&mut self, broken: Broken) {
        let known = self.broken.iter().any(|other| other.pid == broken.pid);
        if !known && self.broken.len() < MAX_STREAMS {
            self.broken.push(broken);
        }
        self.see(broken.pid);
    }

    /// The stream's next unit goes to the client.
    fn mend(&mut self, pid: u16) {
        self.broken.retain(|broken| broken.pid != pid);
        self.see(pid);
    }

    fn see(&mut self, pid: u16) {
        if let Some(unknown) = &mut self.unknown
            && !unknown.seen.contains(&pid)
        {
            unknown.seen.push(pid);
        }
    }

    /// A packet was looked at.
    fn look(&mut self) {
        if let Some(unknown) = &mut self.unknown {
            unknown.packets -= 1;
            if unknown.packets == 0 || unknown.seen.len() >= MAX_STREAMS {
                self.unknown = None;
            }
        }
    }
}

impl Unknown {
    fn new(marks: bool) -> Unknown {
        Unknown {
            seen: Vec::new(),
            marks,
            packets: LOOKED_AT,
        }
    }
}

/// The counter of the packet with payload before this one.
fn before(packet: View) -> u8 {
    packet
        .continuity()
        .wrapping_sub(u8::from(packet.has_payload()))
        & 0xf
}

fn views(packets: &[u8]) -> impl Iterator<Item = (usize, View<'_>)> {
    let views = packets.as_chunks::<LEN>().0.iter().map_while(View::new);
    views.enumerate().map(|(at, view)| (at * LEN, view))
}
