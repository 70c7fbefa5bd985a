//! Presets: points on the curve of speed against bits, by the names that x264 made common.

use crate::syntax::Profile;

/// Coding tools and how deep the encoder looks for the best decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tools {
    /// Pictures that a P picture may refer to, 1 to 16.
    pub references: u8,
    /// How precise vectors are and how their costs are computed, from 0 for full samples to 7.
    pub subpel: u8,
    /// Vectors of a version of half the size that the search goes on from at full size, 1 or 2.
    pub search_starts: u8,
    /// Whether P pictures have intra prediction only where prediction from others is poor.
    pub rare_intra: bool,
    /// Whether P macroblocks are also predicted in partitions of 16x8, 8x16 and 8x8.
    pub partitions: bool,
    /// Whether P pictures also have 4x4 and 8x8 intra prediction.
    pub small_intra: bool,
    /// Whether levels are chosen by rate and distortion.
    pub trellis: bool,
    /// Whether reconstructions are deblocked.
    pub deblocking: bool,
    /// CABAC instead of CAVLC.
    pub cabac: bool,
    /// The 8x8 transform and 8x8 intra prediction.
    pub transform_8x8: bool,
    /// Whether the quantisation parameter follows how busy a macroblock is.
    pub adaptive_qp: bool,
    /// Whether a change of scene begins with a key frame.
    pub scene_cut: bool,
}

impl Tools {
    /// The same without what `profile` lacks.
    #[must_use]
    pub fn within(self, profile: Profile) -> Tools {
        Tools {
            cabac: self.cabac && profile >= Profile::Main,
            transform_8x8: self.transform_8x8 && profile >= Profile::High,
            ..self
        }
    }

    /// The lowest profile that has them.
    pub fn profile(&self) -> Profile {
        match (self.transform_8x8, self.cabac) {
            (true, _) => Profile::High,
            (false, true) => Profile::Main,
            (false, false) => Profile::ConstrainedBaseline,
        }
    }
}

/// How much time is spent on better pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preset {
    /// The fastest.
    Ultrafast,
    /// Faster than `veryfast`.
    Superfast,
    /// Faster than `faster`.
    Veryfast,
    /// Faster than `fast`.
    Faster,
    /// Faster than `medium`.
    Fast,
    /// A good balance.
    #[default]
    Medium,
    /// The best.
    Slow,
}

/// Tools of each preset, fastest first.
const TABLE: [(Preset, &str, Tools); 7] = [
    (
        Preset::Ultrafast,
        "ultrafast",
        Tools {
            references: 1,
            subpel: 3,
            search_starts: 1,
            rare_intra: true,
            partitions: false,
            small_intra: true,
            trellis: false,
            deblocking: true,
            cabac: false,
            transform_8x8: false,
            adaptive_qp: false,
            scene_cut: false,
        },
    ),
    (
        Preset::Superfast,
        "superfast",
        Tools {
            references: 1,
            subpel: 3,
            search_starts: 2,
            rare_intra: false,
            partitions: false,
            small_intra: true,
            trellis: false,
            deblocking: true,
            cabac: true,
            transform_8x8: false,
            adaptive_qp: true,
            scene_cut: true,
        },
    ),
    (
        Preset::Veryfast,
        "veryfast",
        Tools {
            references: 1,
            subpel: 3,
            search_starts: 2,
            rare_intra: false,
            partitions: true,
            small_intra: false,
            trellis: false,
            deblocking: true,
            cabac: true,
            transform_8x8: false,
            adaptive_qp: true,
            scene_cut: true,
        },
    ),
    (
        Preset::Faster,
        "faster",
        Tools {
            references: 1,
            subpel: 5,
            search_starts: 2,
            rare_intra: false,
            partitions: true,
            small_intra: true,
            trellis: false,
            deblocking: true,
            cabac: true,
            transform_8x8: true,
            adaptive_qp: true,
            scene_cut: true,
        },
    ),
    (
        Preset::Fast,
        "fast",
        Tools {
            references: 1,
            subpel: 5,
            search_starts: 2,
            rare_intra: false,
            partitions: true,
            small_intra: true,
            trellis: true,
            deblocking: true,
            cabac: true,
            transform_8x8: true,
            adaptive_qp: true,
            scene_cut: true,
        },
    ),
    (
        Preset::Medium,
        "medium",
        Tools {
            references: 2,
            subpel: 7,
            search_starts: 2,
            rare_intra: false,
            partitions: true,
            small_intra: true,
            trellis: true,
            deblocking: true,
            cabac: true,
            transform_8x8: true,
            adaptive_qp: true,
            scene_cut: true,
        },
    ),
    (
        Preset::Slow,
        "slow",
        Tools {
            references: 4,
            subpel: 7,
            search_starts: 2,
            rare_intra: false,
            partitions: true,
            small_intra: true,
            trellis: true,
            deblocking: true,
            cabac: true,
            transform_8x8: true,
            adaptive_qp: true,
            scene_cut: true,
        },
    ),
];

impl Preset {
    /// All of them, fastest first.
    pub const ALL: [Preset; 7] = [
        Preset::Ultrafast,
        Preset::Superfast,
        Preset::Veryfast,
        Preset::Faster,
        Preset::Fast,
        Preset::Medium,
        Preset::Slow,
    ];

    /// The name on command lines and in reports.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Its tools.
    pub fn tools(self) -> Tools {
        TABLE[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_a_row_in_its_place() {
        for (place, preset) in Preset::ALL.into_iter().enumerate() {
            assert_eq!((TABLE[place].0, preset as usize), (preset, place));
        }
        assert!(TABLE.map(|row| row.1).windows(2).all(|w| w[0] != w[1]));
    }
}
