//! Levels (table A-1).

use super::{Limit, Profile, SyntaxError};

/// The limits of a level.
#[derive(Debug, PartialEq, Eq)]
pub struct Level {
    /// Its name, as "3.1".
    pub name: &'static str,
    /// `level_idc`, 10 times the number; of level 1b that of 1.1.
    number: u8,
    /// The most macroblocks a second (`MaxMBPS`).
    pub rate: u32,
    /// The most macroblocks of a picture (`MaxFS`).
    pub picture: u32,
    /// The most macroblocks of all references (`MaxDpbMbs`).
    pub references: u32,
    /// The bit rate, in 1,000 bits a second in Constrained Baseline and Main before NAL units are packed (`MaxBR`).
    max_bit_rate: u32,
    /// The size of the coded picture buffer, in the same unit (`MaxCPB`).
    max_buffer: u32,
    /// Vertical vectors are at least minus this and less than this, in luma samples (`MaxVmvR`).
    vertical: i16,
    /// How much smaller than its samples a picture must be (`MinCR`).
    pub compression: u8,
    /// The most vectors of two macroblocks in a row (`MaxMvsPer2Mb`), where there is a limit.
    pub vectors: Option<u8>,
}

/// What a stream asks of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The tools.
    pub profile: Profile,
    /// In luma samples.
    pub width: u32,
    /// In luma samples.
    pub height: u32,
    /// Pictures kept as references.
    pub references: u8,
    /// Pictures a second, as a fraction, if it is known.
    pub picture_rate: Option<(u32, u32)>,
    /// The most bits a second that NAL units flow in with, if there is a limit.
    pub bit_rate: Option<u64>,
    /// The size of the buffer that they flow into, in bits, if there is one.
    pub buffer: Option<u64>,
}

impl Level {
    /// The lowest level that allows `demand`.
    pub fn lowest(demand: &Demand) -> Result<&'static Level, SyntaxError> {
        let highest = LEVELS.last().expect("there are levels");
        highest.allows(demand)?;
        Ok(Level::enough(demand).unwrap_or(highest))
    }

    fn enough(demand: &Demand) -> Option<&'static Level> {
        LEVELS.iter().find(|level| level.excess(demand).is_none())
    }

    /// The level of a name, as "3.1", "1b", "4" or "4.0".
    pub fn named(name: &str) -> Option<&'static Level> {
        LEVELS.iter().find(|level| {
            let whole = !level.name.contains('.');
            level.name == name || whole && name.strip_suffix(".0") == Some(level.name)
        })
    }

    /// Whether it allows `demand`; else the first thing that exceeds.
    pub fn allows(&self, demand: &Demand) -> Result<(), SyntaxError> {
        match self.excess(demand) {
            None => Ok(()),
            Some((limit, asked, allowed)) => Err(SyntaxError::Level {
                limit,
                asked,
                allowed,
                level: self.name,
                enough: Level::enough(demand).map(|level| level.name),
            }),
        }
    }

    /// The first thing that exceeds, how much is asked for, and how much is allowed.
    fn excess(&self, demand: &Demand) -> Option<(Limit, u64, u64)> {
        let width = u64::from(demand.width.div_ceil(16));
        let height = u64::from(demand.height.div_ceil(16));
        let picture = width * height;
        let side = u64::from(self.picture * 8).isqrt();
        let references = self.most_references(demand.width, demand.height);
        let (numerator, denominator) = demand.picture_rate.unwrap_or((0, 1));
        let rate = |each: u64| (each * u64::from(numerator)).div_ceil(denominator.max(1).into());
        // The inverse of fR (clause A.3).
        let most = if self.number < 60 { 172 } else { 300 };
        let (bit_rate, buffer) = (self.bit_rate(demand.profile), self.buffer(demand.profile));
        let all = [
            (Limit::Picture, picture, u64::from(self.picture)),
            (Limit::Width, width, side),
            (Limit::Height, height, side),
            (
                Limit::References,
                demand.references.into(),
                references.into(),
            ),
            (Limit::Macroblocks, rate(picture), self.rate.into()),
            (Limit::Pictures, rate(1), most),
            (Limit::BitRate, demand.bit_rate.unwrap_or(0), bit_rate),
            (Limit::Buffer, demand.buffer.unwrap_or(0), buffer),
        ];
        all.into_iter().find(|&(_, asked, allowed)| asked > allowed)
    }

    /// The most pictures of a size that may be kept as references.
    pub fn most_references(&self, width: u32, height: u32) -> u8 {
        let picture = width.div_ceil(16) * height.div_ceil(16);
        (self.references / picture.max(1)).min(16) as u8
    }

    /// The highest bit rate of a byte stream of NAL units (table A-1 and `cpbBrNalFactor` of table A-2), in bits a second.
    pub fn bit_rate(&self, profile: Profile) -> u64 {
        u64::from(self.max_bit_rate) * nal_factor(profile)
    }

    /// The largest coded picture buffer of a byte stream of NAL units, in bits.
    pub fn buffer(&self, profile: Profile) -> u64 {
        u64::from(self.max_buffer) * nal_factor(profile)
    }

    /// The range of vectors in quarter samples, least and most: to the right (clause A.3.1), downwards (`MaxVmvR`).
    pub fn vector_range(&self) -> [(i16, i16); 2] {
        let range = |samples: i16| {
            let quarter_samples = i32::from(samples) * 4;
            (-quarter_samples as i16, (quarter_samples - 1) as i16)
        };
        [range(2048), range(self.vertical)]
    }

    /// `level_idc`, and whether `constraint_set3_flag` says that it is level 1b.
    pub(super) fn idc(&self, profile: Profile) -> (u8, bool) {
        match (self.name, profile) {
            ("1b", Profile::High) => (9, false),
            ("1b", _) => (11, true),
            _ => (self.number, false),
        }
    }
}

/// `cpbBrNalFactor` (table A-2).
fn nal_factor(profile: Profile) -> u64 {
    match profile {
        Profile::ConstrainedBaseline | Profile::Main => 1200,
        Profile::High => 1500,
    }
}

/// A line of table A-1: its name, `level_idc`, and the columns in the order of the table.
const fn line(name: &'static str, columns: [u32; 9]) -> Level {
    let [
        number,
        rate,
        picture,
        references,
        bit_rate,
        buffer,
        vertical,
        compression,
        vectors,
    ] = columns;
    Level {
        name,
        number: number as u8,
        rate,
        picture,
        references,
        max_bit_rate: bit_rate,
        max_buffer: buffer,
        vertical: vertical as i16,
        compression: compression as u8,
        vectors: if vectors == 0 {
            None
        } else {
            Some(vectors as u8)
        },
    }
}

/// All levels, the lowest first (table A-1).
#[rustfmt::skip]
pub static LEVELS: [Level; 20] = [
    line("1", [10, 1_485, 99, 396, 64, 175, 64, 2, 0]),
    line("1b", [11, 1_485, 99, 396, 128, 350, 64, 2, 0]),
    line("1.1", [11, 3_000, 396, 900, 192, 500, 128, 2, 0]),
    line("1.2", [12, 6_000, 396, 2_376, 384, 1_000, 128, 2, 0]),
    line("1.3", [13, 11_880, 396, 2_376, 768, 2_000, 128, 2, 0]),
    line("2", [20, 11_880, 396, 2_376, 2_000, 2_000, 128, 2, 0]),
    line("2.1", [21, 19_800, 792, 4_752, 4_000, 4_000, 256, 2, 0]),
    line("2.2", [22, 20_250, 1_620, 8_100, 4_000, 4_000, 256, 2, 0]),
    line("3", [30, 40_500, 1_620, 8_100, 10_000, 10_000, 256, 2, 32]),
    line("3.1", [31, 108_000, 3_600, 18_000, 14_000, 14_000, 512, 4, 16]),
    line("3.2", [32, 216_000, 5_120, 20_480, 20_000, 20_000, 512, 4, 16]),
    line("4", [40, 245_760, 8_192, 32_768, 20_000, 25_000, 512, 4, 16]),
    line("4.1", [41, 245_760, 8_192, 32_768, 50_000, 62_500, 512, 2, 16]),
    line("4.2", [42, 522_240, 8_704, 34_816, 50_000, 62_500, 512, 2, 16]),
    line("5", [50, 589_824, 22_080, 110_400, 135_000, 135_000, 512, 2, 16]),
    line("5.1", [51, 983_040, 36_864, 184_320, 240_000, 240_000, 512, 2, 16]),
    line("5.2", [52, 2_073_600, 36_864, 184_320, 240_000, 240_000, 512, 2, 16]),
    line("6", [60, 4_177_920, 139_264, 696_320, 240_000, 240_000, 8_192, 2, 16]),
    line("6.1", [61, 8_355_840, 139_264, 696_320, 480_000, 480_000, 8_192, 2, 16]),
    line("6.2", [62, 16_711_680, 139_264, 696_320, 800_000, 800_000, 8_192, 2, 16]),
];

#[cfg(test)]
mod tests;
