//! What an MP4 file says of its track.

use evener_image::Ratio;
use evener_mp4::{Boxes, SampleFormat};

use crate::syntax::{Colour, Profile, Sequence};

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
            moov.full(b"mvhd", 1, 0, |header| {
                self.times(header, duration);
                header.presentation(2);
            });
            moov.with(b"trak", |trak| {
                // The track is enabled and in the presentation.
                trak.full(b"tkhd", 1, 3, |header| {
                    header.u64(0).u64(0).u32(1).u32(0).u64(duration);
                    header.zeros(16).identity();
                    let (width, height) = self.shown();
                    header.u32(width).u32(height);
                });
                trak.with(b"mdia", |media| {
                    media.full(b"mdhd", 1, 0, |header| {
                        self.times(header, duration);
                        header.undetermined_language();
                    });
                    media.handler(b"vide", b"VideoHandler\0");
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
        info.video_header();
        info.data_information();
        info.with(b"stbl", |table| {
            table.full(b"stsd", 0, 0, |entries| {
                entries.u32(1);
                entries.visual_sample_entry(b"avc1", self.size, |entry| {
                    self.describe_samples(entry, parameters);
                });
            });
            index.write(table, self.rate.den);
        });
    }

    fn describe_samples(&self, entry: &mut Boxes, [sequence, picture]: [&[u8]; 2]) {
        let profile = sequence.get(1);
        let format = (profile == Some(&Profile::High.idc())).then_some(SampleFormat {
            chroma_format: 1,
            luma_bits: 8,
            chroma_bits: 8,
        });
        entry.avc_configuration(&[sequence], &[picture], format);
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
