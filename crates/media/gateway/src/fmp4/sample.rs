//! How the samples of a track are coded: sample entries (ISO/IEC 14496-12, clause 8.5.2).

use bytes::Bytes;
use evener_mp4::{Boxes, SampleFormat};

use super::Unsupported;
use crate::payload::{AudioConfig, Codec};
use crate::video::{h264, h265};

/// What a file says of a track.
#[derive(Debug)]
pub struct Description {
    entry: Entry,
    /// Units of time a second.
    pub timescale: u32,
}

#[derive(Debug)]
enum Entry {
    H264(h264::Sequence, Vec<Bytes>),
    H265(h265::Sequence, Vec<Bytes>),
    Aac(AudioConfig),
    Opus(u8),
    /// The name of the entry; channels.
    G711(&'static [u8; 4], u8),
}

impl Description {
    pub fn new(codec: &Codec) -> Result<Description, Unsupported> {
        let rate_is_told = |rate: u32| match u16::try_from(rate) {
            Ok(1..) => Ok(rate),
            _ => Err(Unsupported::Rate(rate)),
        };
        let (entry, timescale) = match codec {
            Codec::H264(sets) => {
                let sequence = sets.iter().find_map(|set| h264::sequence(set));
                let has_picture = sets.iter().any(|set| h264::kind_of(set) == h264::kind::PPS);
                let sequence = sequence
                    .filter(|_| has_picture)
                    .ok_or(Unsupported::NotYet)?;
                (Entry::H264(sequence, sets.clone()), 90_000)
            }
            Codec::H265(sets) => {
                let sequence = sets.iter().find_map(|set| h265::sequence(set));
                let has = |kind| sets.iter().any(|set| h265::kind_of(set) == kind);
                let all = has(h265::kind::VPS) && has(h265::kind::PPS);
                let sequence = sequence.filter(|_| all).ok_or(Unsupported::NotYet)?;
                (Entry::H265(sequence, sets.clone()), 90_000)
            }
            Codec::Aac(config) => (Entry::Aac(config.clone()), config.rate),
            Codec::Opus(channels) => (Entry::Opus(*channels), 48_000),
            Codec::ALaw(channels, rate) => (Entry::G711(b"alaw", *channels), rate_is_told(*rate)?),
            Codec::MuLaw(channels, rate) => (Entry::G711(b"ulaw", *channels), rate_is_told(*rate)?),
        };
        Ok(Description { entry, timescale })
    }

    /// Of pictures, in pixels.
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = |width: u32, height: u32| (width.min(0xffff) as u16, height.min(0xffff) as u16);
        match &self.entry {
            Entry::H264(sequence, _) => Some(size(sequence.width, sequence.height)),
            Entry::H265(sequence, _) => Some(size(sequence.width, sequence.height)),
            _ => None,
        }
    }

    /// How long a sample is, in units of time; `None` for pictures.
    pub fn duration(&self, sample: &[u8]) -> Option<u32> {
        match &self.entry {
            Entry::H264(..) | Entry::H265(..) => None,
            Entry::Aac(config) => Some(config.samples),
            Entry::Opus(_) => Some(opus_duration(sample)),
            Entry::G711(_, channels) => Some(sample.len() as u32 / u32::from(*channels)),
        }
    }

    /// Writes the sample entry.
    pub fn write(&self, boxes: &mut Boxes) {
        match &self.entry {
            // With these names, parameter sets are in the samples as well, and may change.
            Entry::H264(sequence, sets) => self.video(boxes, b"avc3", |entry| {
                avc_configuration(entry, sequence, sets);
            }),
            Entry::H265(sequence, sets) => self.video(boxes, b"hev1", |entry| {
                entry.with(b"hvcC", |record| hevc_configuration(record, sequence, sets));
            }),
            Entry::Aac(config) => self.audio(boxes, b"mp4a", config.channel_count(), |entry| {
                entry.full(b"esds", 0, 0, |record| elementary_stream(record, config));
            }),
            Entry::Opus(channels) => self.audio(boxes, b"Opus", (*channels).into(), |entry| {
                entry.with(b"dOps", |record| {
                    // No samples are to be skipped, no gain, the mapping of mono and stereo.
                    record.u8(0).u8(*channels).u16(0).u32(48_000).u16(0).u8(0);
                });
            }),
            Entry::G711(name, channels) => self.audio(boxes, name, (*channels).into(), |_| {}),
        }
    }

    fn video(&self, boxes: &mut Boxes, name: &[u8; 4], more: impl FnOnce(&mut Boxes)) {
        boxes.visual_sample_entry(name, self.size().unwrap_or_default(), more);
    }

    fn audio(
        &self,
        boxes: &mut Boxes,
        name: &[u8; 4],
        channels: u16,
        more: impl FnOnce(&mut Boxes),
    ) {
        boxes.with(name, |entry| {
            entry
                .zeros(6)
                .u16(1)
                .zeros(8)
                .u16(channels)
                .u16(16)
                .zeros(4);
            // The field has 16 bits of whole hertz; for higher rates the decoder's configuration has it.
            entry.u32(u16::try_from(self.timescale).map_or(0, |rate| u32::from(rate) << 16));
            more(entry);
        });
    }
}

/// Samples at 48 kHz of a packet (RFC 6716, section 3.1).
fn opus_duration(packet: &[u8]) -> u32 {
    let Some(&first) = packet.first() else {
        return 0;
    };
    let frame = match first >> 3 {
        config @ 0..12 => [480, 960, 1920, 2880][usize::from(config % 4)],
        config @ 12..16 => [480, 960][usize::from(config % 2)],
        config => [120, 240, 480, 960][usize::from(config % 4)],
    };
    let count = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(packet.get(1).map_or(0, |second| second & 0x3f)),
    };
    frame * count
}

/// Those of the sets whose NAL units are of a kind.
fn of_kind(sets: &[Bytes], is_kind: impl Fn(&[u8]) -> bool) -> Vec<&[u8]> {
    let sets = sets.iter().map(|set| &set[..]);
    sets.filter(|set| is_kind(set)).collect()
}

fn avc_configuration(entry: &mut Boxes, sequence: &h264::Sequence, sets: &[Bytes]) {
    let of = |kind: u8| of_kind(sets, |set| h264::kind_of(set) == kind);
    let (luma_bits, chroma_bits) = sequence.depth;
    let format = matches!(sequence.profile, 100 | 110 | 122 | 144).then_some(SampleFormat {
        chroma_format: sequence.chroma,
        luma_bits,
        chroma_bits,
    });
    entry.avc_configuration(&of(h264::kind::SPS), &of(h264::kind::PPS), format);
}

/// `HEVCDecoderConfigurationRecord` (ISO/IEC 14496-15, clause 8.3.3.1), with lengths of four bytes.
fn hevc_configuration(record: &mut Boxes, sequence: &h265::Sequence, sets: &[Bytes]) {
    let (luma, chroma) = sequence.depth;
    record.u8(1).bytes(&sequence.profile);
    // Nothing is known of segments and parallelism.
    record.u16(0xf000).u8(0xfc).u8(0xfc | sequence.chroma);
    record.u8(0xf8 | (luma - 8)).u8(0xf8 | (chroma - 8));
    // The rate of pictures is not known.
    record
        .u16(0)
        .u8(sequence.layers << 3 | u8::from(sequence.nested) << 2 | 3);
    let kinds = [h265::kind::VPS, h265::kind::SPS, h265::kind::PPS];
    record.u8(kinds.len() as u8);
    for kind in kinds {
        let sets = of_kind(sets, |set| h265::kind_of(set) == kind);
        // Others of the kind may be in the samples.
        record.u8(kind).u16(sets.len() as u16);
        record.parameter_sets(&sets);
    }
}

/// `ES_Descriptor` (ISO/IEC 14496-1, clause 7.2.6.5) of AAC.
fn elementary_stream(record: &mut Boxes, config: &AudioConfig) {
    // A configuration is 2 to 5 bytes; what is beyond 64 is no decoder's.
    let specific = &config.bytes[..config.bytes.len().min(64)];
    record.descriptor(3, |stream| {
        stream.u16(0).u8(0);
        stream.descriptor(4, |decoder| {
            // MPEG-4 audio; the sizes of buffers and rates are not known.
            decoder.u8(0x40).u8(0x15).zeros(11);
            decoder.descriptor(5, |bytes| {
                bytes.bytes(specific);
            });
        });
        stream.descriptor(6, |sync| {
            sync.u8(2);
        });
    });
}
