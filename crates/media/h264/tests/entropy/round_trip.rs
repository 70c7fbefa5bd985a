//! What is written is read back.

use evener_h264::entropy::most_bits;
use evener_h264::macroblock::{Kind, Macroblock};
use evener_h264::syntax::{Entropy, Parameters, Profile};

use crate::common::random::Picture;
use crate::common::rng::Rng;
use crate::reader::cavlc::Coverage;
use crate::reader::{bits, cabac, macroblock, parameters};
use crate::stream::{self, stream};

/// Reads a stream and compares it with what was written.
pub fn read(stream: &[u8], parameters: &Parameters, pictures: &[Picture], coverage: &mut Coverage) {
    let units = bits::units(stream);
    assert_eq!(units.len(), 2 + pictures.len());
    assert_eq!((units[0].kind, units[0].reference), (7, 3));
    assert_eq!(parameters::sequence(&units[0].payload), parameters.sequence);
    assert_eq!((units[1].kind, units[1].reference), (8, 3));
    assert_eq!(parameters::picture(&units[1].payload), parameters.picture);
    for (number, (unit, expected)) in units[2..].iter().zip(pictures).enumerate() {
        let picture = match parameters.picture.entropy {
            Entropy::Cavlc => macroblock::picture(unit, parameters, coverage),
            Entropy::Cabac => cabac::picture(unit, parameters, coverage),
        };
        assert_eq!(picture.header, expected.header);
        for (y, (row, expected)) in picture.rows.iter().zip(&expected.rows).enumerate() {
            assert_eq!(row.macroblocks.len(), expected.macroblocks.len());
            let pairs = row.macroblocks.iter().zip(&expected.macroblocks);
            for (x, (read, written)) in pairs.enumerate() {
                let place = format!("macroblock {x}, {y} of picture {number}");
                assert_eq!(read, written, "{place}");
                if written.has_levels() {
                    let levels = &row.levels[read.levels as usize];
                    assert_eq!(levels, &expected.levels[written.levels as usize], "{place}");
                }
            }
        }
    }
}

#[test]
fn cavlc_is_read_back_and_every_code_was_written() {
    let mut coverage = Coverage::new();
    let mut rng = Rng::new(1);
    let mut macroblocks: Vec<Macroblock> = Vec::new();
    for round in 0..120 {
        let profile = [Profile::ConstrainedBaseline, Profile::Main, Profile::High][round % 3];
        let size = (
            16 * rng.within(1, 8) as u32 - 2 * (round as u32 % 5),
            16 * rng.within(1, 5) as u32,
        );
        let references = 1 + (round % 5) as u8;
        let parameters = stream::parameters(profile, Entropy::Cavlc, size, references);
        let (stream, pictures) = stream(&mut rng, &parameters, 6);
        read(&stream, &parameters, &pictures, &mut coverage);
        let rows = pictures.iter().flat_map(|picture| &picture.rows);
        macroblocks.extend(rows.flat_map(|row| &row.macroblocks));
    }
    assert_complete(&coverage);
    let kinds = [
        Kind::I4x4,
        Kind::I8x8,
        Kind::I16x16,
        Kind::IPcm,
        Kind::PSkip,
        Kind::P16x16,
        Kind::P16x8,
        Kind::P8x16,
        Kind::P8x8,
    ];
    for kind in kinds {
        let count = macroblocks.iter().filter(|mb| mb.kind == kind).count();
        assert!(count > 100, "{kind:?}");
    }
    for qp in 0..52 {
        assert!(macroblocks.iter().any(|mb| mb.qp == qp));
    }
}

/// Checks that all codes were read that there are.
fn assert_complete(coverage: &Coverage) {
    let all =
        |counts: &[u32], what: &str| assert!(counts.iter().all(|&n| n > 0), "{what}: {counts:?}");
    for (table, counts) in coverage.tokens.iter().enumerate() {
        let most = if table == 4 { 4 } else { 16 };
        for (count, ones) in counts[..=most].iter().enumerate() {
            all(&ones[..=count.min(3)], "trailing ones");
        }
    }
    for (table, counts) in coverage.total_zeros.iter().enumerate() {
        let most = if table == 1 { 4 } else { 16 };
        for (index, zeros) in counts[..most - 1].iter().enumerate() {
            all(&zeros[..most - index], "zeros");
        }
    }
    for (index, runs) in coverage.run_before.iter().enumerate() {
        all(&runs[..if index == 6 { 15 } else { index + 2 }], "runs");
    }
    for prefixes in &coverage.prefixes {
        // Of 2^15, the largest has a prefix of 11 and 8 bits.
        all(&prefixes[..20], "prefixes");
    }
    for patterns in &coverage.patterns {
        all(patterns, "patterns");
    }
}

#[test]
fn no_macroblock_takes_more_bits_than_is_said() {
    let mut rng = Rng::new(4);
    let mut least_over = u32::MAX;
    for round in 0..40 {
        let profile = Profile::ALL[round % 3];
        let parameters = stream::parameters(profile, Entropy::Cavlc, (80, 48), 3);
        let (stream, pictures) = stream(&mut rng, &parameters, 4);
        let mut coverage = Coverage::new();
        read(&stream, &parameters, &pictures, &mut coverage);
        let mut sizes = coverage.sizes.iter();
        for row in pictures.iter().flat_map(|picture| &picture.rows) {
            for mb in row.macroblocks.iter().filter(|mb| mb.kind != Kind::PSkip) {
                let size = *sizes.next().unwrap() as u32;
                if mb.kind != Kind::IPcm && mb.has_levels() {
                    let most = most_bits(mb, &row.levels[mb.levels as usize]);
                    assert!(size <= most, "{size} of {most}: {mb:?}");
                    least_over = least_over.min(most - size);
                }
            }
        }
    }
    assert!(least_over < 320, "{least_over} more than any takes");
}
