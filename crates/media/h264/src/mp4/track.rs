//! What an MP4 file says of its track.

use evener_image::Ratio;

use crate::syntax::{Colour, Sequence};

use super::boxes::Boxes;
use super::index::Index;

/// The size of pictures, how they are to be shown, and how long.
#[derive(Clone, Debug)]
pub struct Track {
    size: (u16, u16),
    aspect: Option<(u16, u16)>,
    colour: Option<Colour>,
    full_range: bool,
    rate: Ratio,
}

/// The box that a file begins with.
pub fn file_type() -> Vec<u8> {
    let mut boxes = Boxes::default();
    boxes.with(b"ftyp", |ftyp| {
        ftyp.bytes(b"isom").u32(0x200).bytes(b"isomiso2avc1mp41");
    });
    boxes.0
}

impl Track {
    /// The track of a sequence of `rate` pictures a second.
    pub fn new(sequence: &Sequence, rate: Ratio) -> Track {
        let vui = &sequence.vui;
        Track {
            // No level allows larger pictures.
            size: (sequence.width as u16, sequence.height as u16),
            aspect: vui.sample_aspect,
            colour: vui.colour,
            full_range: vui.full_range,
            rate,
        }
    }

    /// Writes the `moov` box; `parameters` are the sets of the sequence and of its pictures.
    pub(super) fn describe(&self, boxes: &mut Boxes, parameters: [&[u8]; 2], index: &Index) {
        let duration = index.pictures() * u64::from(self.rate.den);
        boxes.with(b"moov", |moov| {
            moov.full(b"mvhd", (1, 0), |header| {
                self.times(header, duration);
                header.u32(0x1_0000).u16(0x100).zeros(10).identity();
                header.zeros(24).u32(2);
            });
            moov.with(b"trak", |trak| {
                // The track is enabled and in the presentation.
                trak.full(b"tkhd", (1, 3), |header| {
                    header.u64(0).u64(0).u32(1).u32(0).u64(duration);
                    header.zeros(16).identity();
                    let (width, height) = self.shown();
                    header.u32(width).u32(height);
                });
                trak.with(b"mdia", |media| {
                    media.full(b"mdhd", (1, 0), |header| {
                        self.times(header, duration);
                        // The language is undetermined.
                        header.u16(0x55c4).u16(0);
                    });
                    media.full(b"hdlr", (0, 0), |handler| {
                        handler.u32(0).bytes(b"vide").zeros(12);
                        handler.bytes(b"VideoHandler\0");
                    });
                    media.with(b"minf", |info| self.media(info, parameters, index));
                });
            });
        });
    }

    /// Times of making and changing, which are left open so that files are a function of their input; units of time a
    /// second; the duration.
    fn times(&self, header: &mut Boxes, duration: u64) {
        header.u64(0).u64(0).u32(self.rate.num).u64(duration);
    }

    /// Width and height as shown, with 16 bits of fraction.
    fn shown(&self) -> (u32, u32) {
        let (across, down) = self.aspect.unwrap_or((1, 1));
        let (width, height) = (u64::from(self.size.0), u64::from(self.size.1));
        let shown = ((width << 16) * u64::from(across)).div_ceil(u64::from(down));
        (shown.min(u32::MAX.into()) as u32, (height << 16) as u32)
    }

    fn media(&self, info: &mut Boxes, parameters: [&[u8]; 2], index: &Index) {
        info.full(b"vmhd", (0, 1), |header| {
            header.zeros(8);
        });
        info.with(b"dinf", |places| {
            places.full(b"dref", (0, 0), |list| {
                // The data are in this file.
                list.u32(1).full(b"url ", (0, 1), |_| {});
            });
        });
        info.with(b"stbl", |table| {
            table.full(b"stsd", (0, 0), |entries| {
                entries.u32(1);
                entries.with(b"avc1", |entry| self.entry(entry, parameters));
            });
            index.write(table, self.rate.den);
        });
    }

    fn entry(&self, entry: &mut Boxes, parameters: [&[u8]; 2]) {
        entry.zeros(6).u16(1).zeros(16);
        entry.u16(self.size.0).u16(self.size.1);
        // 72 dots an inch; one frame a sample; no name; 24 bits.
        entry.u32(72 << 16).u32(72 << 16).u32(0).u16(1).zeros(32);
        entry.u16(24).u16(0xffff);
        entry.with(b"avcC", |decoder| configuration(decoder, parameters));
        if self.colour.is_some() || self.full_range {
            let unspecified = Colour {
                primaries: 2,
                transfer: 2,
                matrix: 2,
            };
            let colour = self.colour.unwrap_or(unspecified);
            entry.with(b"colr", |boxes| {
                boxes.bytes(b"nclx").u16(colour.primaries.into());
                boxes.u16(colour.transfer.into()).u16(colour.matrix.into());
                boxes.u8(u8::from(self.full_range) << 7);
            });
        }
        if let Some((across, down)) = self.aspect {
            entry.with(b"pasp", |boxes| {
                boxes.u32(across.into()).u32(down.into());
            });
        }
    }
}

/// `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, clause 5.3.3.1), with lengths of four bytes.
fn configuration(record: &mut Boxes, [sequence, picture]: [&[u8]; 2]) {
    // Profile, constraints and level follow the header of the NAL unit. No start code is emulated there.
    let profile = sequence.get(1..4).unwrap_or(&[0; 3]);
    record.u8(1).bytes(profile).u8(0xff).u8(0xe1);
    record.u16(sequence.len() as u16).bytes(sequence);
    record.u8(1).u16(picture.len() as u16).bytes(picture);
    if profile[0] == 100 {
        // 4:2:0, 8 bits of luma and of chroma, no extension of the sequence.
        record.bytes(&[0xfd, 0xf8, 0xf8, 0]);
    }
}
