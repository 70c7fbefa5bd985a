//! Streams of random pictures.

use evener_h264::entropy::SliceWriter;
use evener_h264::syntax::{
    Deblocking, Demand, Entropy, Level, Parameters, Picture, Profile, Sequence, SliceHeader,
    SliceKind, Vui,
};

use crate::common::random::{self, Style};
use crate::common::rng::Rng;

/// Parameter sets of a size that a level allows.
pub fn parameters(
    profile: Profile,
    entropy: Entropy,
    size: (u32, u32),
    references: u8,
) -> Parameters {
    let level = Level::lowest(&Demand {
        profile,
        width: size.0,
        height: size.1,
        references,
        picture_rate: Some((25, 1)),
        bit_rate: None,
        buffer: None,
    });
    let parameters = Parameters {
        sequence: Sequence {
            profile,
            level: level.unwrap(),
            width: size.0,
            height: size.1,
            references,
            frame_num_bits: 4,
            vui: Vui::default(),
        },
        picture: Picture {
            entropy,
            references: 2,
            transform_8x8: profile == Profile::High,
            ..Picture::default()
        },
    };
    parameters.check().unwrap();
    parameters
}

/// A stream of random pictures, and the pictures: one that is intra, then so many that have as many references as there
/// can be.
pub fn stream(
    rng: &mut Rng,
    parameters: &Parameters,
    count: usize,
) -> (Vec<u8>, Vec<random::Picture>) {
    let mut out = Vec::new();
    parameters.write(&mut out);
    let mut writer = SliceWriter::new(parameters);
    let mut pictures = Vec::new();
    for number in 0..count {
        let style = Style::random(rng, parameters);
        let header = header(rng, parameters, number);
        let picture = random::picture(rng, parameters, &header, &style);
        writer.begin(&header);
        for row in &picture.rows {
            writer.row(&row.macroblocks, &row.levels);
        }
        writer.finish(&mut out);
        pictures.push(picture);
    }
    (out, pictures)
}

fn header(rng: &mut Rng, parameters: &Parameters, number: usize) -> SliceHeader {
    let most = usize::from(parameters.sequence.references);
    SliceHeader {
        kind: match number {
            0 => SliceKind::I,
            _ => SliceKind::P,
        },
        idr: (number == 0).then(|| rng.below(65536) as u16),
        reference: 1 + rng.below(3) as u8,
        frame_num: number as u32 % 16,
        references: match number {
            0 => 1,
            _ => 1 + rng.below(number.min(most)) as u8,
        },
        qp: rng.below(52) as u8,
        deblocking: match rng.chance(30) {
            true => Deblocking::Off,
            false => Deblocking::On {
                alpha: rng.within(-6, 6) as i8,
                beta: rng.within(-6, 6) as i8,
            },
        },
        cabac_init: match (number, parameters.picture.entropy) {
            (1.., Entropy::Cabac) => rng.below(3) as u8,
            _ => 0,
        },
    }
}
