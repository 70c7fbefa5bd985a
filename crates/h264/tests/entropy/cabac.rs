//! CABAC: what is written is read back, and ffmpeg decodes it to what it decodes from CAVLC.

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
            for ctx in *first..first + values.len() / 2 {
                // sub_mb_type of 8x8 has one bin alone.
                let is_used = ctx != 22 && ctx != 23;
                assert_eq!(
                    uses[ctx] > 8,
                    is_used,
                    "{ctx} in table {table}: {}",
                    uses[ctx]
                );
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
