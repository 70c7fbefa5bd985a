//! What each packet of a transport stream is for.

use bytes::{Bytes, BytesMut};

use super::marker::discontinuity;
use super::packet::{LEN, NULL, View};
use super::tables::{PAT_PID, Pat, Pmt, Sections, kind};
use crate::media::{Chunk, Class, Part};
use crate::video::{h264, h265, mpeg2, units};

/// Streams beyond this number are taken for sound.
const MAX_STREAMS: usize = 64;

/// Divides the packets of a transport stream into parts, by the tables and the pictures' headers in it. Packets go
/// through at once and are not copied.
#[derive(Debug, Default)]
pub struct Classify {
    streams: Vec<Stream>,
    /// Where in `streams` the last packet's is.
    last: usize,
    /// Of the PAT and of each PMT, the packets of the last.
    tables: Vec<(u16, BytesMut)>,
    gaps: u64,
    damaged: u64,
}

#[derive(Debug)]
struct Stream {
    pid: u16,
    content: Content,
    /// Of the last packet with payload.
    counter: Option<u8>,
    /// Of the last unit that began, and so of what goes on with it.
    class: Class,
}

#[derive(Debug)]
enum Content {
    Pat(Sections),
    Pmt(Sections),
    H264,
    /// With the highest temporal layer so far.
    H265(u8),
    Mpeg2,
    Other,
}

impl Classify {
    /// Nothing is known of the stream yet.
    pub fn new() -> Classify {
        Classify::default()
    }

    /// Where packets were missing in a stream, by their counters.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Packets that came with an error marked, or without sync byte.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The packets of the last PAT and PMTs: what a client needs first that begins at a picture.
    pub fn tables(&self) -> Bytes {
        let mut all = BytesMut::new();
        self.tables
            .iter()
            .for_each(|(_, packets)| all.extend_from_slice(packets));
        all.freeze()
    }

    /// Whether key pictures are to be expected: there are pictures of a known coding, or no PMT has come that says what
    /// there is.
    pub fn may_have_keys(&self) -> bool {
        let is_video = |stream: &Stream| {
            matches!(
                stream.content,
                Content::H264 | Content::H265(_) | Content::Mpeg2
            )
        };
        let is_pmt = |(pid, packets): &(u16, BytesMut)| *pid != PAT_PID && !packets.is_empty();
        self.streams.iter().any(is_video) || !self.tables.iter().any(is_pmt)
    }

    /// Takes whole packets, and gives `out` what clients get: them as they are, and before a packet that does not
    /// follow on the last of its stream, one that says so. What is after the last whole packet is cut off.
    pub fn push(&mut self, packets: Bytes, mut out: impl FnMut(Chunk)) {
        let mut parts: Vec<Part> = Vec::new();
        let mut begin = 0;
        let mut end = 0;
        for packet in packets.as_chunks::<LEN>().0 {
            let Some(view) = View::new(packet) else {
                self.damaged += 1;
                break;
            };
            if let Some(marker) = self.check(view) {
                if begin < end {
                    let parts = std::mem::take(&mut parts);
                    let bytes = packets.slice(begin..end);
                    out(Chunk { bytes, parts });
                    begin = end;
                }
                out(Chunk {
                    bytes: Bytes::copy_from_slice(&marker),
                    parts: vec![Part {
                        len: LEN as u32,
                        class: Class::Table,
                        begins: false,
                    }],
                });
            }
            let (class, begins) = self.class(view, packet);
            match parts.last_mut() {
                Some(part) if part.class == class && !begins => part.len += LEN as u32,
                _ => parts.push(Part {
                    len: LEN as u32,
                    class,
                    begins,
                }),
            }
            end += LEN;
        }
        if begin < end {
            let bytes = packets.slice(begin..end);
            out(Chunk { bytes, parts });
        }
    }

    fn stream(&mut self, pid: u16) -> Option<&mut Stream> {
        if self
            .streams
            .get(self.last)
            .is_none_or(|stream| stream.pid != pid)
        {
            let at = self.streams.iter().position(|stream| stream.pid == pid);
            self.last = match at {
                Some(at) => at,
                None if self.streams.len() < MAX_STREAMS => {
                    let content = match pid {
                        PAT_PID => Content::Pat(Sections::default()),
                        _ => Content::Other,
                    };
                    self.streams.push(Stream::new(pid, content));
                    self.streams.len() - 1
                }
                None => return None,
            };
        }
        self.streams.get_mut(self.last)
    }

    /// Counts what is missing before a packet, and makes one that says so.
    fn check(&mut self, packet: View) -> Option<[u8; LEN]> {
        self.damaged += u64::from(packet.has_error());
        if packet.pid() == NULL || !packet.has_payload() && !packet.is_discontinuous() {
            return None;
        }
        let stream = self.stream(packet.pid())?;
        if !packet.has_payload() {
            // The next need not follow.
            stream.counter = None;
            return None;
        }
        let counter = packet.continuity();
        let last = stream.counter.replace(counter)?;
        // A packet may be sent twice.
        if last == counter || (last + 1) & 0xf == counter || packet.is_discontinuous() {
            return None;
        }
        // What remains of this unit may be of another picture.
        if matches!(
            stream.content,
            Content::H264 | Content::H265(_) | Content::Mpeg2
        ) {
            stream.class = Class::Reference;
        }
        self.gaps += 1;
        Some(discontinuity(packet.pid(), counter.wrapping_sub(1) & 0xf))
    }

    /// What a packet is for, and whether a unit begins with it.
    fn class(&mut self, view: View, packet: &[u8]) -> (Class, bool) {
        let pid = view.pid();
        if pid == NULL {
            return (Class::Disposable, false);
        }
        let Some(stream) = self.stream(pid) else {
            return (Class::Sound, view.begins_unit());
        };
        let mut found = Vec::new();
        match &mut stream.content {
            Content::Pat(sections) => sections.push(view, |section| {
                if let Ok(pat) = Pat::parse(section) {
                    found.extend(
                        pat.programs
                            .iter()
                            .map(|&(_, pid)| (pid, Content::Pmt(Sections::default()))),
                    );
                }
            }),
            Content::Pmt(sections) => sections.push(view, |section| {
                if let Ok(pmt) = Pmt::parse(section) {
                    found.extend(
                        pmt.streams
                            .iter()
                            .map(|stream| (stream.pid, Content::of(stream.kind))),
                    );
                }
            }),
            content if view.begins_unit() => {
                stream.class = content.picture(view).unwrap_or(stream.class);
                return (stream.class, true);
            }
            _ => return (stream.class, false),
        }
        for (pid, content) in found {
            self.learn(pid, content);
        }
        self.keep(pid, view.begins_unit(), packet);
        (Class::Table, false)
    }

    fn learn(&mut self, pid: u16, content: Content) {
        if pid == PAT_PID || pid == NULL {
            return;
        }
        if let Some(stream) = self.stream(pid)
            && std::mem::discriminant(&stream.content) != std::mem::discriminant(&content)
        {
            let counter = stream.counter;
            *stream = Stream::new(pid, content);
            stream.counter = counter;
        }
    }

    fn keep(&mut self, pid: u16, begins: bool, packet: &[u8]) {
        let at = self.tables.iter().position(|&(of, _)| of == pid);
        let at = at.unwrap_or_else(|| {
            self.tables.push((pid, BytesMut::new()));
            self.tables.len() - 1
        });
        let kept = &mut self.tables[at].1;
        if begins {
            kept.clear();
        }
        // The longest section has six packets.
        if (begins || !kept.is_empty()) && kept.len() < 8 * LEN {
            kept.extend_from_slice(packet);
        }
    }
}

impl Stream {
    fn new(pid: u16, content: Content) -> Stream {
        let class = match content {
            Content::Pat(_) | Content::Pmt(_) => Class::Table,
            Content::Other => Class::Sound,
            _ => Class::Reference,
        };
        Stream {
            pid,
            content,
            counter: None,
            class,
        }
    }
}

impl Content {
    fn of(stream_type: u8) -> Content {
        match stream_type {
            kind::H264 => Content::H264,
            kind::H265 => Content::H265(0),
            kind::MPEG1 | kind::MPEG2 => Content::Mpeg2,
            _ => Content::Other,
        }
    }

    /// The class of a picture by the packet with which it begins; `None` if the content is no picture.
    fn picture(&mut self, packet: View) -> Option<Class> {
        let entry = packet.is_random_access();
        let header = match packet.is_scrambled() {
            true => &[],
            false => after_pes_header(packet.payload()),
        };
        match self {
            Content::H264 => {
                let mut seen = h264::Seen::default();
                units(header).for_each(|unit| seen.unit(unit));
                Some(seen.class(entry))
            }
            Content::H265(highest) => {
                let mut seen = h265::Seen::default();
                units(header).for_each(|unit| seen.unit(unit, highest));
                Some(seen.class(entry))
            }
            Content::Mpeg2 => {
                let mut seen = mpeg2::Seen::default();
                units(header).for_each(|unit| seen.unit(unit));
                Some(seen.class(entry))
            }
            _ => None,
        }
    }
}

/// What a PES packet of video has after its header (H.222.0, clause 2.4.3.6); empty if there is none.
fn after_pes_header(payload: &[u8]) -> &[u8] {
    match payload {
        [0, 0, 1, 0xe0..=0xef, _, _, _, _, length, rest @ ..] => {
            rest.get(usize::from(*length)..).unwrap_or(&[])
        }
        _ => &[],
    }
}
