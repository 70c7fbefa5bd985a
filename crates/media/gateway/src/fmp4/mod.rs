//! Access units as a fragmented MP4 file (ISO/IEC 14496-12, clause 8.8): a fragment a unit.

mod sample;

use bytes::Bytes;
use evener_mp4::Boxes;

use crate::media::{Chunk, Class, Part};
use crate::payload::{AccessUnit, Codec};
use sample::Description;

/// Why a track cannot be in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// No parameter sets have come yet: they come with the first key picture.
    #[error("no parameter sets yet")]
    NotYet,
    /// So many samples a second.
    #[error("audio with {0} samples per second")]
    Rate(u32),
}

/// All times are later by this, in units of 90 kHz: what comes before time 0 has a time of its own.
const BEGIN: i64 = 90_000;
/// How long a picture is taken to be before another has come: 40 ms.
const PICTURE: u32 = 3600;

/// Makes a file that has no end.
#[derive(Debug)]
pub struct Fragments {
    tracks: Vec<Track>,
    sequence: u32,
}

#[derive(Debug)]
struct Track {
    description: Description,
    /// When the next unit is expected to be decoded, and how long the last was; in units of the track.
    next: Option<(i64, u32)>,
}

impl Fragments {
    /// A file of the tracks with these codings, in order.
    ///
    /// # Errors
    /// [`Unsupported`] if one of them cannot be in a file, or not yet.
    pub fn new(tracks: &[Codec]) -> Result<Fragments, Unsupported> {
        let track = |codec| {
            Ok(Track {
                description: Description::new(codec)?,
                next: None,
            })
        };
        Ok(Fragments {
            tracks: tracks.iter().map(track).collect::<Result<_, _>>()?,
            sequence: 0,
        })
    }

    /// What the file begins with, for each client.
    pub fn beginning(&self) -> Bytes {
        let mut boxes = Boxes::default();
        boxes.file_type(b"iso5", b"iso5iso6mp41");
        boxes.with(b"moov", |moov| {
            moov.full(b"mvhd", 0, 0, |header| {
                header.zeros(8).u32(1000).u32(0);
                header.presentation(self.tracks.len() as u32 + 1);
            });
            for (number, track) in (1..).zip(&self.tracks) {
                moov.with(b"trak", |trak| track.write(trak, number));
            }
            moov.with(b"mvex", |extends| {
                for number in 1..=self.tracks.len() as u32 {
                    extends.full(b"trex", 0, 0, |defaults| {
                        defaults.u32(number).u32(1).zeros(12);
                    });
                }
            });
        });
        boxes.into_bytes().into()
    }

    /// The fragment of one unit; `None` if there is no such track.
    pub fn push(&mut self, unit: &AccessUnit) -> Option<Chunk> {
        let track = self.tracks.get_mut(unit.track)?;
        let is_video = track.description.size().is_some();
        let prefix = if is_video { 4 } else { 0 };
        let size: usize = unit.units.iter().map(|nal| prefix + nal.len()).sum();
        let (time, duration) = track.place(unit);
        self.sequence = self.sequence.wrapping_add(1);
        let mut boxes = Boxes::with_capacity(size + 128);
        boxes.with(b"moof", |moof| {
            moof.full(b"mfhd", 0, 0, |header| {
                header.u32(self.sequence);
            });
            moof.with(b"traf", |traf| {
                // Places count from the beginning of this fragment.
                traf.full(b"tfhd", 0, 0x2_0000, |header| {
                    header.u32(unit.track as u32 + 1);
                });
                traf.full(b"tfdt", 1, 0, |decode| {
                    decode.u64(time.max(0) as u64);
                });
                // One sample with its place, duration, size, flags and how much later it is shown.
                traf.full(b"trun", 1, 0xf01, |run| {
                    let data_at = run.position() + 24 + 8;
                    run.u32(1).u32(data_at as u32);
                    run.u32(duration).u32(size as u32).u32(flags(unit.class));
                    run.u32((unit.pts - unit.dts) as i32 as u32);
                });
            });
        });
        boxes.with(b"mdat", |data| {
            for nal in &unit.units {
                if is_video {
                    data.u32(nal.len() as u32);
                }
                data.bytes(nal);
            }
        });
        let bytes = Bytes::from(boxes.into_bytes());
        let parts = vec![Part {
            len: bytes.len() as u32,
            class: unit.class,
            begins: true,
        }];
        Some(Chunk { bytes, parts })
    }
}

/// Flags of a sample (clause 8.8.3.1): what it depends on, whether others depend on it, whether it is no key.
fn flags(class: Class) -> u32 {
    match class {
        Class::Key | Class::Sound | Class::Table => 0x0200_0000,
        Class::Reference => 0x0101_0000,
        Class::Disposable => 0x0181_0000,
    }
}

impl Track {
    /// When a unit is decoded, and how long it is.
    fn place(&mut self, unit: &AccessUnit) -> (i64, u32) {
        let scale = i64::from(self.description.timescale);
        let mut time = (i128::from(unit.dts + BEGIN) * i128::from(scale)).div_euclid(90_000) as i64;
        let sample = unit.units.first().map_or(&[][..], |bytes| bytes);
        let duration = match (self.description.duration(sample), self.next) {
            (Some(duration), expected) => {
                // Sound has no gap where only rounding makes one.
                if let Some((expected, _)) = expected
                    && (expected - time).abs() <= scale / 500
                {
                    time = expected;
                }
                duration
            }
            // A picture is as long as the one before was. Times in the fragments correct what is wrong with that.
            (None, Some((expected, last))) => {
                let was = time - (expected - i64::from(last));
                u32::try_from(was)
                    .ok()
                    .filter(|was| (1..=90_000).contains(was))
                    .unwrap_or(last)
            }
            (None, None) => PICTURE,
        };
        self.next = Some((time + i64::from(duration), duration));
        (time, duration)
    }

    fn write(&self, trak: &mut Boxes, number: u32) {
        let size = self.description.size();
        // The track is enabled and in the presentation.
        trak.full(b"tkhd", 0, 3, |header| {
            header.zeros(8).u32(number).zeros(8);
            header
                .zeros(12)
                .u16(if size.is_some() { 0 } else { 0x100 })
                .u16(0)
                .identity();
            let (width, height) = size.unwrap_or_default();
            header
                .u32(u32::from(width) << 16)
                .u32(u32::from(height) << 16);
        });
        trak.with(b"mdia", |media| {
            media.full(b"mdhd", 0, 0, |header| {
                // The duration is not known.
                header.zeros(8).u32(self.description.timescale).u32(0);
                header.undetermined_language();
            });
            match size {
                Some(_) => media.handler(b"vide", b"Video\0"),
                None => media.handler(b"soun", b"Sound\0"),
            }
            media.with(b"minf", |info| {
                match size {
                    Some(_) => info.video_header(),
                    None => info.full(b"smhd", 0, 0, |header| {
                        header.zeros(4);
                    }),
                }
                info.data_information();
                info.with(b"stbl", |table| {
                    table.full(b"stsd", 0, 0, |entries| {
                        entries.u32(1);
                        self.description.write(entries);
                    });
                    // All samples are in fragments.
                    for name in [b"stts", b"stsc", b"stco"] {
                        table.full(name, 0, 0, |list| {
                            list.u32(0);
                        });
                    }
                    table.full(b"stsz", 0, 0, |sizes| {
                        sizes.u32(0).u32(0);
                    });
                });
            });
        });
    }
}
