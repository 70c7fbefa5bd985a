//! How samples are coded: sample entries (ISO/IEC 14496-12, clause 8.5.2).

use super::Boxes;

/// How samples of pictures are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleFormat {
    /// `chroma_format_idc`: 1 is 4:2:0.
    pub chroma_format: u8,
    /// Bits of a luma sample, from 8 on.
    pub luma_bits: u8,
    /// Bits of a chroma sample, from 8 on.
    pub chroma_bits: u8,
}

impl Boxes {
    /// `VisualSampleEntry` (clause 12.1.3) of pictures of `size`, with the boxes that `more` writes.
    pub fn visual_sample_entry(
        &mut self,
        name: &[u8; 4],
        (width, height): (u16, u16),
        more: impl FnOnce(&mut Boxes),
    ) {
        self.with(name, |entry| {
            entry.zeros(6).u16(1).zeros(16).u16(width).u16(height);
            // 72 dots an inch; one frame a sample; no name; 24 bits.
            entry.u32(72 << 16).u32(72 << 16).u32(0).u16(1).zeros(32);
            entry.u16(24).u16(0xffff);
            more(entry);
        });
    }

    /// `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, clause 5.3.3.1), with lengths of four bytes: parameter sets of
    /// sequences and of pictures, as NAL units without start codes. Records of High profiles say how samples are stored.
    pub fn avc_configuration(
        &mut self,
        sequences: &[&[u8]],
        pictures: &[&[u8]],
        format: Option<SampleFormat>,
    ) {
        self.with(b"avcC", |record| {
            // Profile, constraints and level follow the header of the NAL unit. No start code is emulated there.
            let profile = sequences.iter().find_map(|set| set.get(1..4));
            record.u8(1).bytes(profile.unwrap_or(&[0; 3])).u8(0xff);
            record.u8(0xe0 | sequences.len() as u8);
            record.parameter_sets(sequences);
            record.u8(pictures.len() as u8);
            record.parameter_sets(pictures);
            if let Some(format) = format {
                record.u8(0xfc | format.chroma_format);
                record.u8(0xf8 | (format.luma_bits - 8));
                record.u8(0xf8 | (format.chroma_bits - 8));
                // No sets of extensions.
                record.u8(0);
            }
        });
    }

    /// Parameter sets, each after its length.
    pub fn parameter_sets(&mut self, sets: &[&[u8]]) {
        for set in sets {
            self.u16(set.len() as u16).bytes(set);
        }
    }
}
