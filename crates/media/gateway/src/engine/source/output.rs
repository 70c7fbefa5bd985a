//! What clients get of a source: its chunks, in each format that a client has asked for.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::engine::source::join::Join;
use crate::engine::source::recent::Recent;
use crate::fmp4::Fragments;
use crate::media::{Chunk, Class};
use crate::payload::{AccessUnit, Codec};
use crate::ts::{Mux, Splice};

/// A format of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A transport stream.
    #[default]
    Ts,
    /// An MP4 file in fragments.
    Mp4,
}

impl Format {
    /// As HTTP names it.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Ts => "video/mp2t",
            Format::Mp4 => "video/mp4",
        }
    }
}

/// The chunks of a format.
pub struct Output {
    format: Format,
    /// For clients.
    pub recent: Recent,
    muxer: Option<Muxer>,
}

/// What makes chunks of access units.
enum Muxer {
    Ts(Mux),
    Mp4(Fragments),
}

/// The formats of a source.
#[derive(Default)]
pub struct Outputs {
    all: Vec<Output>,
    /// How access units go on after those of another origin.
    join: Join,
    /// How packets of a transport stream do.
    splice: Option<Splice>,
}

impl Outputs {
    /// Chunks are made of a format from now on, and kept for `lag`.
    pub fn open(&mut self, format: Format, lag: Duration) {
        if self.get(format).is_none() {
            self.all.push(Output {
                format,
                recent: Recent::new(lag),
                muxer: None,
            });
        }
    }

    /// A format that was opened.
    pub fn get(&self, format: Format) -> Option<&Output> {
        self.all.iter().find(|output| output.format == format)
    }

    /// The clients of the source have these places in its formats.
    pub fn taken(&mut self, places: &[(Format, u64)]) {
        for output in &mut self.all {
            let of_format = places.iter().filter(|(format, _)| *format == output.format);
            let (clients, first) = of_format
                .fold((0, output.recent.next()), |(count, first), place| {
                    (count + 1, first.min(place.1))
                });
            output.recent.taken(first, clients);
        }
    }

    /// What comes from now on is of another session, at the same origin or at another. For clients it goes on after what
    /// was there before.
    pub fn join(&mut self, now: Instant) {
        self.join.begin(now);
        self.splice = (self.pushed() > 0).then(|| Splice::new(now));
    }

    /// Adds a chunk of a transport stream that goes on as it came.
    pub fn transport(&mut self, chunk: Chunk, now: Instant) {
        self.splice = self.splice.take().filter(|splice| !splice.is_over(now));
        let chunk = match &mut self.splice {
            Some(splice) => splice.push(&chunk, now),
            None => Some(chunk),
        };
        let mut all = self.all.iter_mut();
        if let (Some(chunk), Some(output)) = (chunk, all.find(|output| output.format == Format::Ts))
        {
            output.recent.push(chunk, now);
        }
    }

    /// Adds an access unit to each format. `codecs` says how the tracks are coded.
    pub fn unit(&mut self, unit: AccessUnit, codecs: impl Fn() -> Vec<Codec>, now: Instant) {
        let is_key =
            |unit: &AccessUnit| unit.class == Class::Key || !codecs().iter().any(Codec::is_video);
        let Some((unit, is_first)) = self.join.place(unit, is_key, now) else {
            return;
        };
        for output in &mut self.all {
            let Output {
                format,
                recent,
                muxer,
            } = output;
            if muxer.is_none() {
                *muxer = match format {
                    Format::Ts => Some(Muxer::Ts(Mux::new(&codecs()))),
                    Format::Mp4 => first_fragment(&unit, &codecs()).map(Muxer::Mp4),
                };
            }
            if is_first && let Some(Muxer::Ts(mux)) = muxer {
                mux.join(&codecs());
            }
            let chunk = match muxer {
                Some(Muxer::Ts(mux)) => mux.push(&unit),
                Some(Muxer::Mp4(fragments)) => fragments.push(&unit),
                None => None,
            };
            if let Some(chunk) = chunk {
                recent.push(chunk, now);
            }
        }
    }

    /// How many chunks there were, of all formats.
    pub fn pushed(&self) -> u64 {
        self.all.iter().map(|output| output.recent.next()).sum()
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.all.iter().map(|output| output.recent.bytes()).sum()
    }
}

impl Output {
    /// What each client gets first of a file.
    pub fn beginning(&self) -> Option<Bytes> {
        match &self.muxer {
            Some(Muxer::Mp4(fragments)) => Some(fragments.beginning()),
            _ => None,
        }
    }
}

/// A file begins with a key picture, whose parameter sets it needs; with sound only if there are no pictures.
fn first_fragment(unit: &AccessUnit, codecs: &[Codec]) -> Option<Fragments> {
    let begins = unit.class == Class::Key || !codecs.iter().any(Codec::is_video);
    begins.then(|| Fragments::new(codecs).ok()).flatten()
}
