//! Supplemental enhancement information (clauses 7.3.2.3 and D.1) and access unit delimiters (clause 7.3.2.4).

use crate::bits::{BitWriter, NalType, write_nal_unit};

use super::{Hrd, SliceKind};

/// When the first picture of a period leaves the coded picture buffer (`buffering_period`, clause D.2.2). It is written
/// before each IDR picture of a stream with an [`Hrd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferingPeriod {
    /// How long it stays there, from the arrival of its first bit on, in 1/90,000 s; not 0, and at most as long as the
    /// buffer takes to fill.
    pub delay: u32,
    /// What makes the delay up to the same sum in all periods.
    pub offset: u32,
}

/// When a picture leaves the coded picture buffer and is shown (`pic_timing`, clause D.2.3). It is written before each
/// picture of a stream with an [`Hrd`]. In ticks, of which a picture lasts two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureTiming {
    /// From the removal of the last picture before it that began a period. Written modulo 2^[`Hrd::DELAY_BITS`].
    pub removal: u32,
    /// From its removal on.
    pub output: u32,
}

/// Appends what is said before a picture of a stream with an [`Hrd`] as a NAL unit of a byte stream.
pub fn write_timing(out: &mut Vec<u8>, period: Option<BufferingPeriod>, timing: PictureTiming) {
    const LENGTH: u32 = Hrd::DELAY_BITS;
    let mut messages = BitWriter::new();
    if let Some(BufferingPeriod { delay, offset }) = period {
        write_message(&mut messages, 0, |bits| {
            bits.ue(0); // seq_parameter_set_id
            bits.put(delay, LENGTH); // initial_cpb_removal_delay
            bits.put(offset, LENGTH); // initial_cpb_removal_delay_offset
        });
    }
    write_message(&mut messages, 1, |bits| {
        bits.put(timing.removal & ((1 << LENGTH) - 1), LENGTH); // cpb_removal_delay
        bits.put(timing.output, LENGTH); // dpb_output_delay
    });
    messages.trailing_bits();
    write_nal_unit(out, 0, NalType::Sei, messages.bytes());
}

/// A message of fewer than 255 bytes.
fn write_message(messages: &mut BitWriter, kind: u32, write: impl FnOnce(&mut BitWriter)) {
    let mut bits = BitWriter::new();
    write(&mut bits);
    if !bits.is_aligned() {
        bits.trailing_bits(); // bit_equal_to_one, bit_equal_to_zero
    }
    let payload = bits.bytes();
    messages.put(kind, 8); // last_payload_type_byte
    messages.put(payload.len() as u32, 8); // last_payload_size_byte
    messages.bytes().extend_from_slice(payload);
}

/// Appends an access unit delimiter, which comes before all else of a picture.
pub fn write_delimiter(out: &mut Vec<u8>, kind: SliceKind) {
    let mut bits = BitWriter::new();
    // primary_pic_type: which slices there may be (table 7-5).
    bits.put(
        match kind {
            SliceKind::I => 0,
            SliceKind::P => 1,
        },
        3,
    );
    bits.trailing_bits();
    write_nal_unit(out, 0, NalType::Delimiter, bits.bytes());
}
