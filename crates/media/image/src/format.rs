//! The format of frames (size, chroma layout, depth, range), and the timing of a stream of them.

use std::fmt;

/// Width and height in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Samples in a row.
    pub w: u32,
    /// Rows.
    pub h: u32,
}

impl Size {
    /// Number of samples.
    pub fn area(self) -> usize {
        self.w as usize * self.h as usize
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.w, self.h)
    }
}

/// Which planes a frame has and how the chroma planes are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chroma {
    /// Luma alone.
    Mono,
    /// Chroma halved in both directions.
    C420,
    /// Chroma halved horizontally.
    C422,
    /// Chroma at full size.
    C444,
    /// Red, green and blue, in no particular order: three planes without chroma, each as luma is. Frames in memory only.
    Rgb,
}

impl Chroma {
    /// Luma samples per chroma sample, horizontally and vertically.
    pub fn subsampling(self) -> (u32, u32) {
        match self {
            Chroma::Mono | Chroma::C444 | Chroma::Rgb => (1, 1),
            Chroma::C420 => (2, 2),
            Chroma::C422 => (2, 1),
        }
    }

    /// Planes of a frame: 1 or 3.
    pub fn planes(self) -> usize {
        if self == Chroma::Mono { 1 } else { 3 }
    }

    /// The range of a stream that does not name one, as FFmpeg assumes it.
    pub fn usual_range(self) -> ColourRange {
        match self {
            Chroma::Mono | Chroma::Rgb => ColourRange::Full,
            Chroma::C420 | Chroma::C422 | Chroma::C444 => ColourRange::Limited,
        }
    }
}

/// Which codes stand for black, white and full colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColourRange {
    /// All codes, as in pictures: of 8 bits black is 0 and white 255.
    Full,
    /// With room below black and above white, as in most video: of 8 bits black is 16 and white 235.
    Limited,
}

/// How a sample is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// One byte, codes 0 to 255.
    U8,
    /// Two bytes in the machine's order, codes 0 to 1023.
    U10,
    /// Two bytes, codes 0 to 4095.
    U12,
    /// Two bytes, codes 0 to 65535.
    U16,
    /// 32-bit float, 0 for black and 1 for white; used by benchmarks, not in files.
    F32,
}

impl Depth {
    /// Bits of a code, `None` for floats.
    pub fn bits(self) -> Option<u32> {
        match self {
            Depth::U8 => Some(8),
            Depth::U10 => Some(10),
            Depth::U12 => Some(12),
            Depth::U16 => Some(16),
            Depth::F32 => None,
        }
    }

    /// The largest code, `None` for floats.
    pub fn maximum(self) -> Option<u32> {
        Some((1 << self.bits()?) - 1)
    }

    /// Bytes of one sample.
    pub fn bytes(self) -> usize {
        match self {
            Depth::U8 => 1,
            Depth::U10 | Depth::U12 | Depth::U16 => 2,
            Depth::F32 => 4,
        }
    }
}

/// What the codes of a plane mean: v = (code − zero) / span. Luma is 0 for black and 1 for white, chroma ½ for grey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Codes {
    /// Sample type.
    pub depth: Depth,
    /// Range of the codes.
    pub range: ColourRange,
    /// Whether the plane is of chroma.
    pub chroma: bool,
}

impl Codes {
    /// Codes from one of 8 bits to the next.
    fn step(self) -> f32 {
        let bits = self.depth.bits().unwrap_or(8);
        (1 << (bits - 8)) as f32
    }

    /// The code of value 0. For chroma of full range it is between two codes, so that grey is half of the number of codes.
    pub fn zero(self) -> f32 {
        match (self.range, self.chroma) {
            _ if self.depth == Depth::F32 => 0.0,
            (ColourRange::Full, false) => 0.0,
            (ColourRange::Full, true) => 0.5,
            (ColourRange::Limited, _) => 16.0 * self.step(),
        }
    }

    /// The difference of the codes of values 1 and 0.
    pub fn span(self) -> f32 {
        match (self.depth.maximum(), self.range, self.chroma) {
            (None, ..) => 1.0,
            (Some(maximum), ColourRange::Full, _) => maximum as f32,
            (Some(_), ColourRange::Limited, false) => 219.0 * self.step(),
            (Some(_), ColourRange::Limited, true) => 224.0 * self.step(),
        }
    }

    /// The difference of values that is one code of 8 bits.
    pub fn of_8_bits(self) -> f32 {
        match self.depth {
            Depth::F32 => 1.0 / 255.0,
            _ => self.step() / self.span(),
        }
    }
}

/// Size, chroma layout, depth and range of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Luma samples in a row.
    pub width: u32,
    /// Luma rows.
    pub height: u32,
    /// Chroma layout.
    pub chroma: Chroma,
    /// Sample type.
    pub depth: Depth,
    /// Range of codes; without meaning for floats.
    pub range: ColourRange,
}

impl Format {
    /// Number of planes.
    pub fn planes(&self) -> usize {
        self.chroma.planes()
    }

    /// Size of a plane; chroma sizes are rounded up.
    pub fn plane_size(&self, plane: usize) -> Size {
        let (sx, sy) = if plane == 0 {
            (1, 1)
        } else {
            self.chroma.subsampling()
        };
        Size {
            w: self.width.div_ceil(sx),
            h: self.height.div_ceil(sy),
        }
    }

    /// Whether a plane is of chroma.
    pub fn is_chroma(&self, plane: usize) -> bool {
        plane > 0 && self.chroma != Chroma::Rgb
    }

    /// What the codes of a plane mean.
    pub fn codes(&self, plane: usize) -> Codes {
        Codes {
            depth: self.depth,
            range: self.range,
            chroma: self.is_chroma(plane),
        }
    }

    /// Bytes of all planes together.
    pub fn frame_bytes(&self) -> usize {
        (0..self.planes())
            .map(|p| self.plane_size(p).area() * self.depth.bytes())
            .sum()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chroma = match self.chroma {
            Chroma::Mono => "mono",
            Chroma::C420 => "4:2:0",
            Chroma::C422 => "4:2:2",
            Chroma::C444 => "4:4:4",
            Chroma::Rgb => "rgb",
        };
        let depth = match self.depth.bits() {
            Some(bits) => format!("{bits} bits"),
            None => "f32".to_owned(),
        };
        write!(f, "{}x{} {chroma} {depth}", self.width, self.height)?;
        // The range that readers assume is not shown.
        match self.range {
            _ if self.depth == Depth::F32 || self.range == self.chroma.usual_range() => Ok(()),
            ColourRange::Full => f.write_str(" full range"),
            ColourRange::Limited => f.write_str(" limited range"),
        }
    }
}

/// A fraction, as frame rates and aspects are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    /// Numerator.
    pub num: u32,
    /// Denominator.
    pub den: u32,
}

impl Ratio {
    /// The fraction in lowest terms, if both parts fit.
    pub fn of(num: u64, den: u64) -> Option<Ratio> {
        let (mut a, mut b) = (num, den);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        let part = |v: u64| u32::try_from(v.checked_div(a)?).ok();
        Some(Ratio {
            num: part(num)?,
            den: part(den)?,
        })
    }

    /// In lowest terms.
    #[must_use]
    pub fn reduced(self) -> Ratio {
        Ratio::of(self.num.into(), self.den.into()).unwrap_or(self)
    }
}

/// Where 4:2:0 chroma samples sit, kept from input to output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Siting {
    /// Centred between four luma samples.
    #[default]
    Jpeg,
    /// On the left luma column.
    Mpeg2,
    /// As DV in PAL countries.
    PalDv,
}

/// Properties of a stream of frames besides their format; kept from input to output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Frames per second.
    pub rate: Ratio,
    /// Aspect of a sample, if the stream names one.
    pub aspect: Option<Ratio>,
    /// Whether the stream names its range; otherwise readers assume one.
    pub range_named: bool,
    /// Chroma siting of 4:2:0.
    pub siting: Siting,
    /// Interlacing as y4m names it: `p`, `t`, `b`, `m` or `?`.
    pub interlace: char,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            rate: Ratio { num: 25, den: 1 },
            aspect: None,
            range_named: false,
            siting: Siting::default(),
            interlace: 'p',
        }
    }
}

/// A stream of frames: their format, and everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    /// Size, chroma layout, depth and range.
    pub format: Format,
    /// Rate, aspect and the like.
    pub timing: Timing,
}
