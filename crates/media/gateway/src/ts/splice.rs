//! A transport stream that goes on in the place of another one, which ended anywhere.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::marker::{discontinuity, new_clock};
use super::packet::{LEN, NULL, View};
use crate::media::{Chunk, Class, Part};

/// How long a key picture is waited for; then the stream begins with any unit.
const WAIT: Duration = Duration::from_secs(3);
/// How long streams that were not there yet are looked for.
const LOOK: Duration = Duration::from_secs(10);
/// Streams beyond this number begin without a mark.
const MAX_STREAMS: usize = 64;

/// Lets a stream begin at a key picture, after its tables. Each of its streams begins with a whole unit and a packet which
/// says that counters do not go on; the clock with one which says that it is another (H.222.0, clause 2.4.3.5).
#[derive(Debug)]
pub struct Splice {
    since: Instant,
    /// Nothing but tables has gone through.
    waits: bool,
    /// The last time of each clock while it waits.
    clocks: Vec<Clock>,
    /// Streams that have begun.
    begun: Vec<u16>,
}

#[derive(Debug)]
struct Clock {
    pid: u16,
    pcr: u64,
    /// Of the last packet with payload.
    counter: u8,
}

impl Splice {
    /// The stream before has ended.
    pub fn new(now: Instant) -> Splice {
        Splice {
            since: now,
            waits: true,
            clocks: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// Whether chunks can go through without [`Splice::push`] from now on.
    pub fn is_over(&self, now: Instant) -> bool {
        !self.waits && now.saturating_duration_since(self.since) > LOOK
    }

    /// Takes a chunk of whole packets. What is left of it, if anything, with what is to be said before.
    pub fn push(&mut self, chunk: &Chunk, now: Instant) -> Option<Chunk> {
        let late = now.saturating_duration_since(self.since) > WAIT;
        let mut out = Built::default();
        let mut rest = &chunk.bytes[..];
        for part in &chunk.parts {
            let (bytes, after) = rest.split_at_checked(part.len as usize)?;
            rest = after;
            let packets = bytes.as_chunks::<LEN>().0;
            let may_begin = part.begins && (part.class == Class::Key || late);
            if self.waits
                && may_begin
                && let Some(first) = packets.first().and_then(View::new)
            {
                self.begin(first, &mut out);
            }
            for (at, packet) in packets.iter().enumerate() {
                let Some(view) = View::new(packet) else {
                    continue;
                };
                match self.waits && part.class != Class::Table {
                    true => self.note(view),
                    false => {
                        self.packet(view, packet, part.class, part.begins && at == 0, &mut out)
                    }
                }
            }
        }
        out.chunk()
    }

    /// Remembers what time it is.
    fn note(&mut self, packet: View) {
        let (pid, counter) = (packet.pid(), packet.continuity());
        let clock = self.clocks.iter_mut().find(|clock| clock.pid == pid);
        if let Some(clock) = clock {
            clock.pcr = packet.pcr().unwrap_or(clock.pcr);
            clock.counter = counter;
        } else if let Some(pcr) = packet.pcr()
            && self.clocks.len() < MAX_STREAMS
        {
            self.clocks.push(Clock { pid, pcr, counter });
        }
    }

    /// The stream begins with this packet: says what time it is by its clocks.
    fn begin(&mut self, first: View, out: &mut Built) {
        self.waits = false;
        self.note(first);
        for clock in std::mem::take(&mut self.clocks) {
            let counter = match clock.pid == first.pid() {
                true => {
                    self.begun.push(clock.pid);
                    first.continuity().wrapping_sub(1) & 0xf
                }
                false => clock.counter,
            };
            out.push(
                &new_clock(clock.pid, counter, clock.pcr),
                Class::Table,
                false,
            );
        }
    }

    fn packet(
        &mut self,
        view: View,
        packet: &[u8; LEN],
        class: Class,
        begins: bool,
        out: &mut Built,
    ) {
        let pid = view.pid();
        if pid != NULL && view.has_payload() && !self.begun.contains(&pid) {
            // What is left of a unit whose beginning is missing.
            if !view.begins_unit() {
                return;
            }
            if self.begun.len() < MAX_STREAMS {
                self.begun.push(pid);
            }
            let counter = view.continuity().wrapping_sub(1) & 0xf;
            out.push(&discontinuity(pid, counter), Class::Table, false);
        }
        out.push(packet, class, begins);
    }
}

/// Packets of a chunk.
#[derive(Default)]
struct Built {
    bytes: BytesMut,
    parts: Vec<Part>,
}

impl Built {
    fn push(&mut self, packet: &[u8; LEN], class: Class, begins: bool) {
        self.bytes.extend_from_slice(packet);
        match self.parts.last_mut() {
            Some(part) if part.class == class && !begins => part.len += LEN as u32,
            _ => self.parts.push(Part {
                len: LEN as u32,
                class,
                begins,
            }),
        }
    }

    fn chunk(self) -> Option<Chunk> {
        let bytes: Bytes = self.bytes.freeze();
        (!bytes.is_empty()).then_some(Chunk {
            bytes,
            parts: self.parts,
        })
    }
}
