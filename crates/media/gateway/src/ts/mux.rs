//! Access units as a transport stream.

use bytes::{BufMut, Bytes, BytesMut};

use super::marker::{clock, new_clock, pcr_field};
use super::packet::{LEN, SYNC};
use super::tables::{PAT_PID, Pat, Pmt, Stream, kind};
use crate::media::{Chunk, Class, Part};
use crate::payload::{AccessUnit, AudioConfig, Codec};

const PMT_PID: u16 = 0x1000;
/// Of the first track; others follow.
const FIRST_PID: u16 = 0x100;
/// Tables come again after this, in units of 90 kHz: 100 ms.
const TABLES: i64 = 9000;
/// The clock comes again after this: 40 ms.
const CLOCK: i64 = 3600;
/// The clock is so much behind the times of decoding, 100 ms: what comes may be late by this.
const DELAY: i64 = 9000;
/// All times are later by this: what comes before time 0 does not wrap around.
const BEGIN: i64 = 90_000;

/// Makes a transport stream of one program.
#[derive(Debug)]
pub struct Mux {
    /// By track: `None` if the stream can have none of its coding.
    streams: Vec<Option<Elementary>>,
    pat: Bytes,
    pmt: Bytes,
    table_counters: [u8; 2],
    /// Which of `streams` has the clock.
    with_clock: usize,
    /// When the tables and the clock came last, in times of decoding.
    tables_at: Option<i64>,
    clock_at: Option<i64>,
    /// The version of the PMT.
    version: u8,
    /// The next clock is said to be another.
    joins: bool,
}

#[derive(Debug)]
struct Elementary {
    pid: u16,
    counter: u8,
    codec: Codec,
}

impl Mux {
    /// Of the tracks with these codings, in order. G.711 and Opus have no place in a transport stream that all players
    /// know: their units are left out.
    pub fn new(tracks: &[Codec]) -> Mux {
        let streams: Vec<_> = (FIRST_PID..)
            .zip(tracks)
            .map(|(pid, codec)| {
                let codec = codec.clone();
                stream_type(&codec).map(|_| Elementary {
                    pid,
                    counter: 15,
                    codec,
                })
            })
            .collect();
        let video = streams.iter().position(|stream| is_video(stream.as_ref()));
        let with_clock = video
            .or_else(|| streams.iter().position(Option::is_some))
            .unwrap_or(0);
        let mut mux = Mux {
            pat: Bytes::new(),
            pmt: Bytes::new(),
            streams,
            table_counters: [15; 2],
            with_clock,
            tables_at: None,
            clock_at: None,
            version: 0,
            joins: false,
        };
        mux.write_tables();
        mux
    }

    /// What comes from now on is of another session, whose tracks have these codings. Tables and clock come again with the
    /// next unit, and the clock is said to be another, because packets did not come at its pace. Counters go on.
    pub fn join(&mut self, tracks: &[Codec]) {
        let types = |mux: &Mux| -> Vec<_> {
            let of = |stream: &Elementary| (stream.pid, stream_type(&stream.codec));
            (mux.streams
                .iter()
                .map(Option::as_ref)
                .map(|stream| stream.map(of)))
            .collect()
        };
        let mut next = Mux::new(tracks);
        next.version = match types(self) == types(&next) {
            true => self.version,
            // The number has five bits.
            false => (self.version + 1) & 0x1f,
        };
        next.write_tables();
        next.table_counters = self.table_counters;
        next.joins = true;
        for stream in next.streams.iter_mut().flatten() {
            let mut before = self.streams.iter().flatten();
            if let Some(before) = before.find(|before| before.pid == stream.pid) {
                stream.counter = before.counter;
            }
        }
        *self = next;
    }

    fn write_tables(&mut self) {
        let pat = Pat {
            id: 1,
            programs: vec![(1, PMT_PID)],
        };
        let entry = |stream: &Elementary| {
            Some(Stream {
                kind: stream_type(&stream.codec)?,
                pid: stream.pid,
                descriptors: Vec::new(),
            })
        };
        let pmt = Pmt {
            program: 1,
            pcr_pid: (self.streams.get(self.with_clock))
                .and_then(Option::as_ref)
                .map_or(0x1fff, |stream| stream.pid),
            streams: self.streams.iter().flatten().filter_map(entry).collect(),
        };
        self.pat = pat.section().into();
        self.pmt = pmt.section_of(self.version).into();
    }

    /// Whether units of a track are in the stream.
    pub fn has(&self, track: usize) -> bool {
        self.streams.get(track).is_some_and(Option::is_some)
    }

    /// The packets of one unit, with tables and clock before it where they are due; `None` if its track has no place.
    pub fn push(&mut self, unit: &AccessUnit) -> Option<Chunk> {
        let (pts, dts) = (unit.pts + BEGIN, unit.dts + BEGIN);
        let stream = self.streams.get(unit.track)?.as_ref()?;
        let (pid, is_video) = (stream.pid, stream.codec.is_video());
        let prefix = prefix(&stream.codec, unit)?;
        let header = pes_header(is_video, pts, dts, prefix.len() + length(is_video, unit));
        let mut out = BytesMut::with_capacity(
            (header.len() + prefix.len() + length(is_video, unit)) / 184 * LEN + 6 * LEN,
        );
        let mut parts = Vec::with_capacity(2);
        if unit.class == Class::Key || is_due(self.tables_at, TABLES, dts) {
            self.tables_at = Some(dts);
            self.tables(&mut out);
        }
        let mut pcr = None;
        if is_due(self.clock_at, CLOCK, dts)
            && let Some(Some(of)) = self.streams.get(self.with_clock)
        {
            self.clock_at = Some(dts);
            let time = (dts - DELAY).rem_euclid(1 << 33) as u64 * 300;
            match of.pid == pid {
                _ if std::mem::take(&mut self.joins) => {
                    out.put_slice(&new_clock(of.pid, of.counter, time));
                }
                true => pcr = Some(time),
                false => out.put_slice(&clock(of.pid, of.counter, time)),
            }
        }
        if !out.is_empty() {
            parts.push(Part {
                len: out.len() as u32,
                class: Class::Table,
                begins: false,
            });
        }
        let before = out.len();
        let stream = self.streams.get_mut(unit.track)?.as_mut()?;
        let mut packets = Packets {
            out: &mut out,
            pid,
            counter: &mut stream.counter,
            left: header.len() + prefix.len() + length(is_video, unit),
            room: 0,
            first: Some((is_video && unit.class == Class::Key, pcr)),
        };
        packets.put(&header);
        packets.put(&prefix);
        for nal in &unit.units {
            if is_video {
                packets.put(&[0, 0, 0, 1]);
            }
            packets.put(nal);
        }
        parts.push(Part {
            len: (out.len() - before) as u32,
            class: unit.class,
            begins: true,
        });
        Some(Chunk {
            bytes: out.freeze(),
            parts,
        })
    }

    fn tables(&mut self, out: &mut BytesMut) {
        let tables = [(PAT_PID, &self.pat), (PMT_PID, &self.pmt)];
        for ((pid, section), counter) in tables.into_iter().zip(&mut self.table_counters) {
            // A program of 30 streams has less than 183 bytes.
            *counter = (*counter + 1) & 0xf;
            let [high, low] = pid.to_be_bytes();
            out.put_slice(&[SYNC, 0x40 | high, low, 0x10 | *counter, 0]);
            out.put_slice(section);
            out.put_bytes(0xff, (LEN - 5).saturating_sub(section.len()));
        }
    }
}

/// Whether it is time again for what was last at `last`. Tracks may come a second apart; what is earlier than that begins
/// anew.
fn is_due(last: Option<i64>, after: i64, now: i64) -> bool {
    last.is_none_or(|last| !(last - 90_000..last + after).contains(&now))
}

fn is_video(stream: Option<&Elementary>) -> bool {
    stream.is_some_and(|stream| stream.codec.is_video())
}

fn stream_type(codec: &Codec) -> Option<u8> {
    match codec {
        Codec::H264(_) => Some(kind::H264),
        Codec::H265(_) => Some(kind::H265),
        Codec::Aac(config) if config.rate_index().is_some() => Some(kind::AAC),
        _ => None,
    }
}

/// Bytes of a unit in the stream, without header and prefix.
fn length(is_video: bool, unit: &AccessUnit) -> usize {
    let start = if is_video { 4 } else { 0 };
    unit.units.iter().map(|nal| nal.len() + start).sum()
}

/// What comes before a unit: a delimiter, or a header of ADTS.
fn prefix(codec: &Codec, unit: &AccessUnit) -> Option<Vec<u8>> {
    match codec {
        // Any kind of picture may follow.
        Codec::H264(_) => Some(vec![0, 0, 0, 1, 9, 0xf0]),
        Codec::H265(_) => Some(vec![0, 0, 0, 1, 0x46, 1, 0x50]),
        Codec::Aac(config) => adts(config, length(false, unit)),
        _ => None,
    }
}

/// The header of a frame (ISO/IEC 14496-3, clause 1.A.2.2), without check.
fn adts(config: &AudioConfig, length: usize) -> Option<Vec<u8>> {
    let length = u32::try_from(length + 7)
        .ok()
        .filter(|length| *length < 1 << 13)?;
    let rate = config.rate_index()?;
    let profile = config.object - 1;
    Some(vec![
        0xff,
        0xf1,
        profile << 6 | rate << 2 | config.channels >> 2,
        config.channels << 6 | (length >> 11) as u8,
        (length >> 3) as u8,
        // The rate of bits varies.
        (length << 5) as u8 | 0x1f,
        0xfc,
    ])
}

/// A header with times (H.222.0, clause 2.4.3.6). The length of video is not said: it may be too long for the field.
fn pes_header(is_video: bool, pts: i64, dts: i64, length: usize) -> Vec<u8> {
    let time = |mark: u8, time: i64| {
        let time = time.rem_euclid(1 << 33) as u64;
        let [_, _, _, a, b, c, d, e] = (u64::from(mark) << 36
            | (time >> 30 & 7) << 33
            | 1 << 32
            | (time >> 15 & 0x7fff) << 17
            | 1 << 16
            | (time & 0x7fff) << 1
            | 1)
        .to_be_bytes();
        [a, b, c, d, e]
    };
    let mut times = Vec::with_capacity(10);
    let flags = if pts == dts { 0x80 } else { 0xc0 };
    times.extend(time(flags >> 6, pts));
    if pts != dts {
        times.extend(time(1, dts));
    }
    let length = u16::try_from(3 + times.len() + length)
        .ok()
        .filter(|_| !is_video)
        .unwrap_or(0);
    let [high, low] = length.to_be_bytes();
    // Each unit begins with its header: the data are aligned.
    let mut header = vec![
        0,
        0,
        1,
        if is_video { 0xe0 } else { 0xc0 },
        high,
        low,
        0x84,
        flags,
        times.len() as u8,
    ];
    header.extend(times);
    header
}

/// Cuts a PES packet into packets.
struct Packets<'a> {
    out: &'a mut BytesMut,
    pid: u16,
    counter: &'a mut u8,
    /// Bytes of the PES packet that are to come.
    left: usize,
    /// Bytes that the last packet has room for.
    room: usize,
    /// For the first: whether decoding may begin here, and the clock.
    first: Option<(bool, Option<u64>)>,
}

impl Packets<'_> {
    fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.room == 0 {
                self.begin();
            }
            let (now, later) = bytes.split_at(self.room.min(bytes.len()));
            self.out.put_slice(now);
            self.room -= now.len();
            self.left -= now.len();
            bytes = later;
        }
    }

    /// A header, and as much stuffing as makes the last packet full.
    fn begin(&mut self) {
        *self.counter = (*self.counter + 1) & 0xf;
        let [high, low] = self.pid.to_be_bytes();
        let is_first = self.first.is_some();
        let (entry, pcr) = self.first.take().unwrap_or_default();
        // The length of the field's contents, without stuffing.
        let field = match (entry, pcr) {
            (_, Some(_)) => Some(7),
            (true, None) => Some(1),
            _ => None,
        };
        let used = 4 + field.map_or(0, |field| 1 + field);
        let stuffing = (LEN - used).saturating_sub(self.left);
        let has_field = field.is_some() || stuffing > 0;
        let start = if is_first { 0x40 } else { 0 };
        let control = if has_field { 0x30 } else { 0x10 };
        self.out
            .put_slice(&[SYNC, start | high, low, control | *self.counter]);
        if has_field {
            let length = used - 4 + stuffing - 1;
            self.out.put_u8(length as u8);
            if length > 0 {
                let flags = u8::from(entry) << 6 | u8::from(pcr.is_some()) << 4;
                self.out.put_u8(flags);
                if let Some(pcr) = pcr {
                    self.out.put_slice(&pcr_field(pcr));
                }
                let written = if pcr.is_some() { 7 } else { 1 };
                self.out.put_bytes(0xff, length - written);
            }
        }
        self.room = LEN - used - stuffing;
    }
}
