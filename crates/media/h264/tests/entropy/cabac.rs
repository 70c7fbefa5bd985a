//! CABAC: what is written is read back, and ffmpeg decodes it to what it decodes from CAVLC.
//!
//! Faults that were planted by hand, and the tests that found each: R is that of reading back, F that of ffmpeg, E those of
//! the arithmetic encoder (`src/entropy/cabac/engine/tests.rs`).
//!
//! | fault | found by |
//! | --- | --- |
//! | rangeTabLPS of state 36 is 33 for 32 | F |
//! | transIdxLPS of state 43 is 31 for 30 | F |
//! | a state stops at 61 | R F E |
//! | valMPS changes in state 1 | R F E |
//! | no carry | R F E |
//! | the last bit is another | R F E |
//! | the first bit is written | R F E |
//! | a terminating bin is not renormalised at 256 | R F E |
//! | states start below 1 | R F |
//! | valMPS at 64 | R F |
//! | mvd_l0 downwards at 46 | R F |
//! | mvd_l0: sums of 3 have ctxIdxInc 0 | R F |
//! | mvd_l0: sums of 32 have ctxIdxInc 2 | R F |
//! | mvd_l0 of the third quarter looks at the upper left neighbour | R F |
//! | mvd_l0 of the right half looks at the upper left neighbour | R F |
//! | ref_idx_l0: later bins | R F |
//! | ref_idx_l0 of the last quarter looks at the first | R F |
//! | mb_qp_delta: later bins | R F |
//! | mb_qp_delta: signs | R F |
//! | coded_block_pattern: chroma AC asks for any chroma | R F |
//! | coded_block_pattern of the second quarter looks at the wrong neighbour | R F |
//! | mb_type in I: the last bin | R F |
//! | mb_type in P: chroma AC | R F |
//! | mb_type: 8x16 written as 16x8 | R F |
//! | intra_chroma_pred_mode without neighbours | R F |
//! | transform_size_8x8_flag counts the upper neighbour twice | R F |
//! | rem_intra4x4_pred_mode from the highest bit | R F |
//! | luma outside counts as not coded | R F |
//! | I_PCM counts as I_NxN | R F |
//! | I_PCM has no chroma AC | R F |
//! | I_PCM has no coded blocks | R F |
//! | blocks outside are coded to inter macroblocks | R F |
//! | blocks outside are not coded to intra macroblocks | R F |
//! | ref_idx_l0: 0 counts as more | R F |
//! | coded_block_flag of AC at 90 | R F |
//! | last_significant_coeff_flag of chroma AC at 214 | R F |
//! | table 9-43: significant_coeff_flag 46 | R F |
//! | table 9-43: last_significant_coeff_flag 39 | R F |
//! | coeff_abs_level_minus1: first bin after more than 1 | R F |
//! | blocks of 8x8 count as not coded | R F |
//! | coded_block_flag: left and above swapped | R F |
//! | mb_qp_delta of 0 counts | R F |
//! | mb_qp_delta: I_PCM keeps what was before | R F |
//! | mb_qp_delta: a skipped macroblock keeps what was before | R F |
//! | the right side has the lower left quarter | R F |
//! | two references are as one | R F |
//! | cabac_alignment_one_bit is 0 | R |
//! | m or n of 13 contexts, of all four tables, off by 1 or 2 | F |
//!
//! Without a difference in what is written, as they should be: chroma DC with ctxIdxInc of other blocks, and
//! intra_chroma_pred_mode of inter macroblocks as a context, since it is 0.

use evener_h264::entropy::SliceWriter;
use evener_h264::macroblock::{Kind, Levels, Macroblock, Mv};
use evener_h264::syntax::{Entropy, Parameters, Profile, SliceHeader, SliceKind};

use crate::common::random::{Picture, Row};
use crate::common::rng::Rng;
use crate::decoder::{decode, has_ffmpeg};
use crate::reader::cavlc::Coverage;
use crate::reader::initial;
use crate::round_trip::read;
use crate::stream::{self, stream};

#[test]
fn cabac_is_read_back_and_every_context_was_used() {
    let mut coverage = Coverage::new();
    let mut rng = Rng::new(4);
    for round in 0..120 {
        let profile = [Profile::Main, Profile::High][round % 2];
        let size = (
            16 * rng.within(1, 8) as u32 - 2 * (round as u32 % 5),
            16 * rng.within(1, 5) as u32,
        );
        let references = 1 + (round % 5) as u8;
        let parameters = stream::parameters(profile, Entropy::Cabac, size, references);
        let (stream, pictures) = stream(&mut rng, &parameters, 6);
        read(&stream, &parameters, &pictures, &mut coverage);
    }
    let tables = [initial::INTRA].into_iter().chain(initial::INTER);
    for (table, (runs, uses)) in tables.zip(&coverage.contexts).enumerate() {
        for (first, values) in runs {
            let used = &uses[*first..first + values.len() / 2];
            for (ctx, uses) in (*first..).zip(used) {
                // sub_mb_type of 8x8 has one bin alone.
                let is_used = ctx != 22 && ctx != 23;
                assert_eq!(*uses > 8, is_used, "{ctx} in table {table}: {uses}");
            }
        }
    }
}

/// The pictures of a stream in CABAC, written in CAVLC.
fn in_cavlc(parameters: &Parameters, pictures: &[Picture]) -> Vec<u8> {
    let mut parameters = parameters.clone();
    parameters.picture.entropy = Entropy::Cavlc;
    let mut out = Vec::new();
    parameters.write(&mut out);
    let mut writer = SliceWriter::new(&parameters);
    for picture in pictures {
        writer.begin(&picture.header);
        for row in &picture.rows {
            writer.row(&row.macroblocks, &row.levels);
        }
        writer.finish(&mut out);
    }
    out
}

#[test]
fn ffmpeg_decodes_the_same_from_cabac_as_from_cavlc() {
    if !has_ffmpeg() {
        return;
    }
    let mut rng = Rng::new(5);
    for round in 0..20 {
        let profile = [Profile::Main, Profile::High][round % 2];
        let size = (16 * rng.within(1, 10) as u32, 16 * rng.within(1, 8) as u32);
        let references = 1 + (round % 4) as u8;
        let parameters = stream::parameters(profile, Entropy::Cabac, size, references);
        let (stream, pictures) = stream(&mut rng, &parameters, 16);
        let (messages, samples) = decode(&stream);
        assert_eq!(messages, "", "round {round}");
        let picture = (size.0 * size.1 * 3 / 2) as usize;
        assert_eq!(samples.len(), picture * pictures.len(), "round {round}");
        let (_, others) = decode(&in_cavlc(&parameters, &pictures));
        assert!(samples == others, "round {round}: the pictures differ");
    }
}

/// The largest differences of vectors that a level allows, and levels of all sizes.
#[test]
fn the_longest_bins_are_read_back() {
    let parameters = stream::parameters(Profile::High, Entropy::Cabac, (32, 16), 1);
    let mut header = SliceHeader::default();
    let mut writer = SliceWriter::new(&parameters);
    let mut out = Vec::new();
    parameters.write(&mut out);
    let mut pictures = Vec::new();
    for exponent in 0..16 {
        header.frame_num = exponent;
        header.idr = (exponent == 0).then_some(0);
        header.kind = SliceKind::P;
        let largest = ((1 << exponent) - 1) as i16;
        let mut levels = Levels::default();
        for (i, level) in levels.luma.as_flattened_mut().iter_mut().enumerate() {
            let size = largest.saturating_sub(i as i16 / 4).max(1);
            *level = if i % 3 == 0 { -size } else { size };
        }
        let vector = |x, y| Mv { x, y };
        let mut first = Macroblock {
            kind: Kind::P16x16,
            qp: header.qp,
            cbp: 15,
            mvs: [vector(largest, -largest); 4],
            ..Macroblock::default()
        };
        first.mvds[0] = first.mvs[0];
        first.nonzero[..16].fill(16);
        let mut second = Macroblock {
            levels: 1,
            transform_8x8: true,
            mvs: [vector(0, 0); 4],
            ..first
        };
        // It is predicted from the first alone.
        second.mvds[0] = vector(-largest, largest);
        let row = Row {
            macroblocks: vec![first, second],
            levels: vec![levels.clone(), levels],
        };
        writer.begin(&header);
        writer.row(&row.macroblocks, &row.levels);
        writer.finish(&mut out);
        pictures.push(Picture {
            header,
            rows: vec![row],
        });
    }
    read(&out, &parameters, &pictures, &mut Coverage::new());
}
