//! The stream header: one line of tags.

use evener_files::one_line;

use crate::format::{Chroma, ColourRange, Depth, Format, Ratio, Siting, Timing};

/// Longest header line, and longest `FRAME` line, in bytes.
pub const MAX_LINE: usize = 2048;

/// Largest width and height in luma samples.
pub const MAX_SIDE: u32 = 65536;

/// Largest frame in bytes: 4 GiB.
pub const MAX_FRAME_BYTES: u64 = 1 << 32;

/// The beginning of every frame. Most frames have no parameters, so a newline follows.
pub(super) const FRAME: &[u8] = b"FRAME";

const MAGIC: &[u8] = b"YUV4MPEG2";

const SUPPORTED: &str = "mono, 420jpeg, 420mpeg2, 420paldv, 420, 422, 444, and of 10, 12 or 16 bits \
     mono10, 420p10, 422p10, 444p10";

/// What a stream header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Size, chroma layout, depth and range of every frame.
    pub format: Format,
    /// Rate, aspect, siting and interlacing.
    pub timing: Timing,
}

/// Why a stream header cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// It does not begin with `YUV4MPEG2`.
    #[error(
        "is not YUV4MPEG2; convert it, for example: ffmpeg -i INPUT -f yuv4mpegpipe -strict -1 -"
    )]
    Magic,
    /// No newline within [`MAX_LINE`] bytes.
    #[error("the header is longer than {MAX_LINE} bytes; the file is damaged or not YUV4MPEG2")]
    TooLong,
    /// The input ends inside the header.
    #[error("{}", ends(.0))]
    Ends(usize),
    /// Width or height is missing.
    #[error("the header has no {0} tag; the file is damaged")]
    Missing(char),
    /// A tag that must stand once stands twice.
    #[error("the header has two {0} tags; the file is damaged")]
    Twice(char),
    /// A letter that no tag has.
    #[error("the header has an unknown tag '{0}'; the known ones are W, H, F, I, A, C and X")]
    Unknown(String),
    /// A value that is not of the tag's kind.
    #[error("the header's tag '{0}' is not {1}; the file is damaged")]
    Value(String, &'static str),
    /// A chroma layout or depth that is not supported.
    #[error("frames of C{0} are not supported, convert them to one of: {SUPPORTED}")]
    Chroma(String),
    /// Frames of which some are interlaced.
    #[error(
        "frames of mixed interlacing (Im) are not supported; make it again from its source, \
         for example: ffmpeg -i SOURCE -vf yadif -f yuv4mpegpipe -strict -1 -"
    )]
    Mixed,
    /// A frame beyond [`MAX_SIDE`] or [`MAX_FRAME_BYTES`].
    #[error(
        "frames of {0}x{1} are too large; the limits are {MAX_SIDE} samples a side and 4 GiB a frame"
    )]
    TooLarge(u64, u64),
}

impl Header {
    /// Reads a header line, given without its newline.
    ///
    /// Tags: `W` and `H` (required), `F` (25:1 if absent or unknown), `I` (`?` if absent), `A` (none if absent or unknown),
    /// `C` (`420jpeg` if absent) and `X` comments. Of these `XCOLORRANGE` is the range; if absent it is full for mono and
    /// limited for others, as FFmpeg assumes. `XYSCSS`, an older tag for the layout, counts if `C` is absent.
    ///
    /// # Errors
    /// All other tags and values are refused: see [`HeaderError`]. No input panics.
    pub fn parse(line: &[u8]) -> Result<Header, HeaderError> {
        let tags = match line.strip_prefix(MAGIC) {
            Some(tags) if tags.is_empty() || tags[0] == b' ' => tags,
            _ => return Err(HeaderError::Magic),
        };
        if line.len() > MAX_LINE {
            return Err(HeaderError::TooLong);
        }
        let mut found = Tags::default();
        for tag in tags.split(|&b| b == b' ').filter(|t| !t.is_empty()) {
            found.add(tag)?;
        }
        found.header()
    }

    /// The header line with its newline; `None` for frames of floats or of red, green and blue, for which y4m
    /// has no name.
    pub fn line(&self) -> Option<String> {
        let Header { format, timing } = self;
        let plain = format.depth == Depth::U8;
        let name = match format.chroma {
            Chroma::Rgb => return None,
            Chroma::Mono => "mono",
            Chroma::C420 if plain => match timing.siting {
                Siting::Jpeg => "420jpeg",
                Siting::Mpeg2 => "420mpeg2",
                Siting::PalDv => "420paldv",
            },
            Chroma::C420 => "420",
            Chroma::C422 => "422",
            Chroma::C444 => "444",
        };
        let layout = match (format.depth.bits()?, format.chroma) {
            (8, _) => name.to_owned(),
            (bits, Chroma::Mono) => format!("{name}{bits}"),
            (bits, _) => format!("{name}p{bits}"),
        };
        let aspect = timing.aspect.unwrap_or(Ratio { num: 0, den: 0 });
        let assumed = format.range == format.chroma.usual_range();
        let range = match format.range {
            _ if assumed && !timing.range_named => "",
            ColourRange::Full => " XCOLORRANGE=FULL",
            ColourRange::Limited => " XCOLORRANGE=LIMITED",
        };
        Some(format!(
            "YUV4MPEG2 W{} H{} F{}:{} I{} A{}:{} C{layout}{range}\n",
            format.width,
            format.height,
            timing.rate.num,
            timing.rate.den,
            timing.interlace,
            aspect.num,
            aspect.den,
        ))
    }
}

/// The chroma layout, depth and siting of a `C` tag's value, `None` if it is not supported.
pub(crate) fn layout(name: &str) -> Option<(Chroma, Depth, Siting)> {
    let of_8_bits = |chroma, siting| Some((chroma, Depth::U8, siting));
    match name {
        "mono" => return of_8_bits(Chroma::Mono, Siting::Jpeg),
        "420" | "420jpeg" => return of_8_bits(Chroma::C420, Siting::Jpeg),
        "420mpeg2" => return of_8_bits(Chroma::C420, Siting::Mpeg2),
        "420paldv" => return of_8_bits(Chroma::C420, Siting::PalDv),
        "422" => return of_8_bits(Chroma::C422, Siting::Jpeg),
        "444" => return of_8_bits(Chroma::C444, Siting::Jpeg),
        _ => {}
    }
    let (chroma, bits) = match name.strip_prefix("mono") {
        Some(bits) => (Chroma::Mono, bits),
        None => match name.split_once('p')? {
            ("420", bits) => (Chroma::C420, bits),
            ("422", bits) => (Chroma::C422, bits),
            ("444", bits) => (Chroma::C444, bits),
            _ => return None,
        },
    };
    let depth = match bits {
        "10" => Depth::U10,
        "12" => Depth::U12,
        "16" => Depth::U16,
        _ => return None,
    };
    Some((chroma, depth, Siting::Jpeg))
}

/// Tags seen so far.
#[derive(Default)]
struct Tags {
    width: Option<u64>,
    height: Option<u64>,
    rate: Option<Ratio>,
    interlace: Option<char>,
    aspect: Option<Ratio>,
    layout: Option<(Chroma, Depth, Siting)>,
    /// The value of `XYSCSS`, read only if there is no `C`.
    old_layout: Option<String>,
    range: Option<ColourRange>,
}

impl Tags {
    fn add(&mut self, tag: &[u8]) -> Result<(), HeaderError> {
        let text = String::from_utf8_lossy(tag);
        let wrong = |what| HeaderError::Value(shown(&text), what);
        let value = &tag[1..];
        match tag[0] {
            b'W' => once(
                &mut self.width,
                'W',
                number(value).ok_or_else(|| wrong("a number"))?,
            ),
            b'H' => once(
                &mut self.height,
                'H',
                number(value).ok_or_else(|| wrong("a number"))?,
            ),
            b'F' => {
                let rate = ratio(value).ok_or_else(|| wrong("a fraction, as F25:1"))?;
                match (rate.num, rate.den) {
                    (0, 0) => once(&mut self.rate, 'F', Timing::default().rate),
                    (0, _) | (_, 0) => Err(wrong("a frame rate")),
                    _ => once(&mut self.rate, 'F', rate),
                }
            }
            b'A' => {
                let aspect = ratio(value).ok_or_else(|| wrong("a fraction, as A1:1"))?;
                once(&mut self.aspect, 'A', aspect)
            }
            b'I' => match value {
                [c @ (b'?' | b'p' | b't' | b'b')] => once(&mut self.interlace, 'I', char::from(*c)),
                b"m" => Err(HeaderError::Mixed),
                _ => Err(wrong("one of I?, Ip, It, Ib")),
            },
            b'C' => {
                let name = &text[1..];
                let layout = layout(name).ok_or_else(|| HeaderError::Chroma(shown(name)))?;
                once(&mut self.layout, 'C', layout)
            }
            b'X' => {
                match value {
                    b"COLORRANGE=FULL" => self.range = Some(ColourRange::Full),
                    b"COLORRANGE=LIMITED" => self.range = Some(ColourRange::Limited),
                    _ => {
                        if let Some(name) = text.strip_prefix("XYSCSS=") {
                            self.old_layout = Some(name.to_ascii_lowercase());
                        }
                    }
                }
                Ok(())
            }
            _ => Err(HeaderError::Unknown(shown(&text))),
        }
    }

    fn header(self) -> Result<Header, HeaderError> {
        let width = self.width.ok_or(HeaderError::Missing('W'))?;
        let height = self.height.ok_or(HeaderError::Missing('H'))?;
        let (chroma, depth, siting) = match (self.layout, self.old_layout) {
            (Some(layout), _) => layout,
            (None, Some(name)) => layout(&name).ok_or_else(|| HeaderError::Chroma(shown(&name)))?,
            (None, None) => (Chroma::C420, Depth::U8, Siting::Jpeg),
        };
        for (tag, side) in [('W', width), ('H', height)] {
            if side == 0 {
                return Err(HeaderError::Value(format!("{tag}0"), "a size of 1 or more"));
            }
        }
        let side = |n: u64| u32::try_from(n).ok().filter(|&n| n <= MAX_SIDE);
        let (Some(w), Some(h)) = (side(width), side(height)) else {
            return Err(HeaderError::TooLarge(width, height));
        };
        // At most 2^32 samples of 4 bytes in each of 3 planes, so 64 bits do not overflow.
        let (sx, sy) = chroma.subsampling();
        let chroma_planes = chroma.planes() as u64 - 1;
        let samples =
            width * height + chroma_planes * u64::from(w.div_ceil(sx)) * u64::from(h.div_ceil(sy));
        let bytes = samples * depth.bytes() as u64;
        if bytes > MAX_FRAME_BYTES || isize::try_from(bytes).is_err() {
            return Err(HeaderError::TooLarge(width, height));
        }
        Ok(Header {
            format: Format {
                width: w,
                height: h,
                chroma,
                depth,
                range: self.range.unwrap_or(chroma.usual_range()),
            },
            timing: Timing {
                rate: self.rate.unwrap_or(Timing::default().rate),
                aspect: self.aspect.filter(|a| a.num != 0 && a.den != 0),
                range_named: self.range.is_some(),
                siting,
                interlace: self.interlace.unwrap_or('?'),
            },
        })
    }
}

fn ends(bytes: &usize) -> String {
    match bytes {
        0 => "is empty; look at the program that it comes from".to_owned(),
        n => {
            format!("ends inside the header, after {n} bytes; the file is cut off or not YUV4MPEG2")
        }
    }
}

fn once<T>(slot: &mut Option<T>, tag: char, value: T) -> Result<(), HeaderError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(HeaderError::Twice(tag)),
    }
}

/// Decimal digits and nothing else; `str::parse` would also take a sign.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &d| {
        let digit = d.is_ascii_digit().then(|| u64::from(d - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

fn ratio(value: &[u8]) -> Option<Ratio> {
    let colon = value.iter().position(|&b| b == b':')?;
    let part = |digits| number(digits).and_then(|n| u32::try_from(n).ok());
    Some(Ratio {
        num: part(&value[..colon])?,
        den: part(&value[colon + 1..])?,
    })
}

/// A value from the file as a message shows it.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    one_line(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tags: &str) -> Result<Header, HeaderError> {
        Header::parse(format!("YUV4MPEG2 {tags}").as_bytes())
    }

    #[test]
    fn a_short_header_gets_the_defaults() {
        let header = parse("W5 H3").unwrap();
        let format = Format {
            width: 5,
            height: 3,
            chroma: Chroma::C420,
            depth: Depth::U8,
            range: ColourRange::Limited,
        };
        assert_eq!(header.format, format);
        assert_eq!(
            header.timing,
            Timing {
                interlace: '?',
                ..Timing::default()
            }
        );
    }

    #[test]
    fn every_tag_is_kept() {
        let header =
            parse("W352 H288 F30000:1001 It A128:117 C420paldv XCOLORRANGE=LIMITED Xsome").unwrap();
        assert_eq!(
            header.timing,
            Timing {
                rate: Ratio {
                    num: 30000,
                    den: 1001
                },
                aspect: Some(Ratio { num: 128, den: 117 }),
                range_named: true,
                siting: Siting::PalDv,
                interlace: 't',
            }
        );
    }

    const LAYOUTS: &str = "mono 420jpeg 420mpeg2 420paldv 420 422 444 mono10 420p10 422p10 444p10 \
                           mono12 420p12 422p12 444p12 mono16 420p16 422p16 444p16";

    #[test]
    fn every_layout_survives_a_round_trip() {
        for name in LAYOUTS.split(' ') {
            let header = parse(&format!("W5 H3 F25:1 Ip A1:1 C{name} XCOLORRANGE=FULL")).unwrap();
            let line = header.line().unwrap();
            assert_eq!(
                Header::parse(line.trim_end().as_bytes()),
                Ok(header),
                "{name}"
            );
            let written = if name == "420" {
                "C420jpeg "
            } else {
                &format!("C{name} ")
            };
            assert!(line.contains(written), "{line}");
        }
    }

    #[test]
    fn a_range_is_written_where_it_was_named_or_is_not_what_readers_assume() {
        for (tags, range, written) in [
            ("C420jpeg", ColourRange::Limited, ""),
            ("Cmono", ColourRange::Full, ""),
            ("C444p10 XCOLORRANGE=FULL", ColourRange::Full, "FULL"),
            ("C422 XCOLORRANGE=LIMITED", ColourRange::Limited, "LIMITED"),
            ("Cmono XCOLORRANGE=FULL", ColourRange::Full, "FULL"),
            (
                "Cmono10 XCOLORRANGE=LIMITED",
                ColourRange::Limited,
                "LIMITED",
            ),
        ] {
            let header = parse(&format!("W5 H3 {tags}")).unwrap();
            assert_eq!(header.format.range, range, "{tags}");
            let line = header.line().unwrap();
            let said = line.trim_end().split_once(" XCOLORRANGE=");
            assert_eq!(said.map_or("", |(_, said)| said), written, "{tags}");
        }
        // Luma alone of video whose range nothing named.
        let mut header = parse("W5 H3 C420jpeg").unwrap();
        header.format.chroma = Chroma::Mono;
        assert!(
            header
                .line()
                .unwrap()
                .ends_with("Cmono XCOLORRANGE=LIMITED\n")
        );
    }

    #[test]
    fn unknown_rate_and_aspect_are_allowed() {
        let timing = parse("W5 H3 F0:0 A0:0").unwrap().timing;
        assert_eq!(
            (timing.rate, timing.aspect),
            (Ratio { num: 25, den: 1 }, None)
        );
        assert_eq!(parse("W5 H3 A0:1").unwrap().timing.aspect, None);
    }

    #[test]
    fn the_old_layout_tag_counts_only_without_the_new_one() {
        assert_eq!(
            parse("W5 H3 XYSCSS=444").unwrap().format.chroma,
            Chroma::C444
        );
        assert_eq!(
            parse("W5 H3 XYSCSS=420MPEG2").unwrap().timing.siting,
            Siting::Mpeg2
        );
        assert_eq!(
            parse("W5 H3 XYSCSS=411 C422").unwrap().format.chroma,
            Chroma::C422
        );
        assert_eq!(
            parse("W5 H3 XYSCSS=411"),
            Err(HeaderError::Chroma("411".into()))
        );
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        use HeaderError::{Chroma, Missing, TooLarge, Twice, Unknown, Value};
        let value = |tag: &str, what| Err(Value(tag.to_owned(), what));
        for (tags, expected) in [
            ("", Err(Missing('W'))),
            ("W5", Err(Missing('H'))),
            ("W5 H3 W5", Err(Twice('W'))),
            ("W5 H3 Q7", Err(Unknown("Q7".into()))),
            ("W5 H3 C411", Err(Chroma("411".into()))),
            ("W5 H3 C444alpha", Err(Chroma("444alpha".into()))),
            ("W5 H3 C420p14", Err(Chroma("420p14".into()))),
            ("W5 H3 Cmono8", Err(Chroma("mono8".into()))),
            ("W5 H3 C\x1b[2J", Err(Chroma("\\u{1b}[2J".into()))),
            ("W5 H3 Ix", value("Ix", "one of I?, Ip, It, Ib")),
            ("W5 H3 Im", Err(HeaderError::Mixed)),
            ("W+5 H3", value("W+5", "a number")),
            ("W5 H", value("H", "a number")),
            (
                "W5 H99999999999999999999",
                value("H99999999999999999999", "a number"),
            ),
            ("W5 H0", value("H0", "a size of 1 or more")),
            ("W5 H3 F25", value("F25", "a fraction, as F25:1")),
            ("W5 H3 F25:0", value("F25:0", "a frame rate")),
            (
                "W5 H3 F4294967296:1",
                value("F4294967296:1", "a fraction, as F25:1"),
            ),
            ("W5 H3 A1:1:1", value("A1:1:1", "a fraction, as A1:1")),
            ("W65537 H1", Err(TooLarge(65537, 1))),
            ("W65536 H65536", Err(TooLarge(65536, 65536))),
            ("W65536 H32768 C444", Err(TooLarge(65536, 32768))),
            ("W18446744073709551615 H1", Err(TooLarge(u64::MAX, 1))),
        ] {
            assert_eq!(parse(tags), expected, "{tags:?}");
        }
        assert_eq!(Header::parse(b"YUV4MPEG W5 H3"), Err(HeaderError::Magic));
        assert_eq!(Header::parse(b"YUV4MPEG2W5 H3"), Err(HeaderError::Magic));
    }

    #[test]
    fn the_largest_frame_is_exactly_four_gibibytes() {
        assert!(parse("W65536 H65536 Cmono").is_ok());
        assert!(parse("W65536 H65536 Cmono10").is_err());
    }

    #[test]
    fn floats_have_no_name() {
        let format = Format {
            width: 1,
            height: 1,
            chroma: Chroma::Mono,
            depth: Depth::F32,
            range: ColourRange::Full,
        };
        assert_eq!(
            Header {
                format,
                timing: Timing::default()
            }
            .line(),
            None
        );
    }
}
