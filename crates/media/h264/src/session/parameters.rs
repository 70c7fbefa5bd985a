//! What a stream says of its pictures: parameter sets by the options and the source.

use evener_image::io::ffmpeg;
use evener_image::{ColourRange, Format, Ratio, Siting, Timing};

use crate::config::Config;
use crate::syntax::{
    self, Demand, Entropy, Hrd, LEVELS, Level, Parameters, Picture, Sequence, SyntaxError, Vui,
};

use super::colour::{chroma_location, colour};

/// How pictures are to be shown, by what the source says of its frames. `format` is that of frames that are ready to be
/// coded, and `centred` whether their chroma was moved to the middle of four luma samples.
pub fn vui(format: &Format, timing: &Timing, tags: Option<&ffmpeg::Colour>, centred: bool) -> Vui {
    let location = match tags {
        _ if centred => Some(1),
        Some(tags) => chroma_location(tags),
        None => Some(match timing.siting {
            Siting::Mpeg2 => 0,
            Siting::Jpeg => 1,
            Siting::PalDv => 2,
        }),
    };
    Vui {
        sample_aspect: timing.aspect.and_then(aspect),
        full_range: format.range == ColourRange::Full,
        colour: tags.and_then(colour),
        chroma_location: location,
        timing: ticks(timing.rate),
        hrd: None,
    }
}

/// Parameter sets of pictures of `format`, and the lowest level that holds them unless one is asked for.
///
/// # Errors
/// No level allows what is asked for, or not the one that is asked for.
pub fn parameters(
    config: &Config,
    format: &Format,
    rate: Ratio,
    vui: Vui,
) -> Result<Parameters, SyntaxError> {
    let (width, height) = (format.width, format.height);
    let level = config.level.unwrap_or(&LEVELS[LEVELS.len() - 1]);
    let fit = level.most_references(width, height).max(1);
    let references = match config.keyint {
        1 => 0,
        _ => config.tools.references.min(fit),
    };
    let demand = Demand {
        profile: config.profile,
        width,
        height,
        references,
        picture_rate: Some((rate.num, rate.den)),
        bit_rate: config.vbv.map(|vbv| vbv.maxrate),
        buffer: config.vbv.map(|vbv| vbv.bufsize),
    };
    let level = match config.level {
        Some(level) => level.allows(&demand).map(|()| level)?,
        None => Level::lowest(&demand)?,
    };
    let parameters = Parameters {
        sequence: Sequence {
            profile: config.profile,
            level,
            width,
            height,
            references,
            frame_num_bits: 8,
            vui: Vui {
                // Removal from the buffer is told in ticks.
                hrd: config.vbv.filter(|_| vui.timing.is_some()).map(|vbv| {
                    Hrd {
                        bit_rate: vbv.maxrate,
                        buffer: vbv.bufsize,
                        constant: false,
                    }
                    .rounded()
                }),
                ..vui
            },
        },
        picture: Picture {
            entropy: match config.tools.cabac {
                true => Entropy::Cabac,
                false => Entropy::Cavlc,
            },
            references: references.max(1),
            deblocking_control: true,
            transform_8x8: config.tools.transform_8x8,
            ..Picture::default()
        },
    };
    parameters.check()?;
    Ok(parameters)
}

/// The duration of a picture, if it can be said.
fn ticks(rate: Ratio) -> Option<syntax::Timing> {
    Some(syntax::Timing {
        units: rate.den,
        scale: rate.num.checked_mul(2)?,
        fixed: true,
    })
}

/// The aspect of a sample in lowest terms, or the closest that 16 bits can say.
fn aspect(of: Ratio) -> Option<(u16, u16)> {
    let (mut a, mut b) = (of.num, of.den);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let (num, den) = (of.num.checked_div(a)?, of.den / a);
    let bits = (num | den).ilog2() + 1;
    let shift = bits.saturating_sub(16);
    let aspect = ((num >> shift) as u16, (den >> shift) as u16);
    (aspect.0 != 0 && aspect.1 != 0).then_some(aspect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Preset, Settings};
    use evener_image::{Chroma, Depth};

    fn format(width: u32, height: u32) -> Format {
        Format {
            width,
            height,
            chroma: Chroma::C420,
            depth: Depth::U8,
            range: ColourRange::Limited,
        }
    }

    fn of(settings: Settings, (width, height): (u32, u32)) -> Result<Parameters, SyntaxError> {
        let config = Config::new(&settings).unwrap();
        let (format, timing) = (format(width, height), Timing::default());
        let vui = vui(&format, &timing, None, false);
        parameters(&config, &format, timing.rate, vui)
    }

    #[test]
    fn the_level_is_the_lowest_that_fits() {
        let level = |size| of(Settings::default(), size).unwrap().sequence.level.name;
        assert_eq!(level((176, 144)), "1.1");
        assert_eq!(level((352, 288)), "1.3");
        assert_eq!(level((1280, 720)), "3.1");
        assert_eq!(level((1920, 1080)), "4");
        let rates = Settings {
            maxrate: Some(31_000_000),
            bufsize: Some(31_000_000),
            ..Settings::default()
        };
        assert_eq!(of(rates, (1920, 1080)).unwrap().sequence.level.name, "4.1");
    }

    #[test]
    fn a_level_that_is_asked_for_limits_references_and_refuses_sizes() {
        let at = |name| Settings {
            preset: Preset::Slow,
            level: Level::named(name),
            ..Settings::default()
        };
        let references = |name, size| of(at(name), size).unwrap().sequence.references;
        assert_eq!(references("5", (1920, 1080)), 4);
        assert_eq!(references("3.1", (1280, 720)), 4);
        assert_eq!(references("2.1", (352, 576)), 4);
        assert!(references("4", (2048, 1024)) < 5);
        let error = of(at("3.1"), (1920, 1080)).unwrap_err().to_string();
        assert!(error.contains("level 3.1"), "{error}");
        assert!(of(Settings::default(), (20_000, 16)).is_err());
    }

    #[test]
    fn key_frames_alone_need_no_reference() {
        let settings = Settings {
            keyint: 1,
            ..Settings::default()
        };
        assert_eq!(of(settings, (64, 48)).unwrap().sequence.references, 0);
    }

    #[test]
    fn aspects_are_in_lowest_terms_and_16_bits() {
        let of = |num, den| aspect(Ratio { num, den });
        assert_eq!(of(1, 1), Some((1, 1)));
        assert_eq!(of(128, 117), Some((128, 117)));
        assert_eq!(of(64, 44), Some((16, 11)));
        assert_eq!(of(u32::MAX, u32::MAX - 1), Some((65535, 65535)));
        assert_eq!(of(u32::MAX, 2), None);
        assert_eq!(of(0, 0), None);
    }

    #[test]
    fn rates_are_ticks_of_half_a_picture() {
        let ntsc = Ratio {
            num: 30000,
            den: 1001,
        };
        let timing = ticks(ntsc).unwrap();
        assert_eq!((timing.units, timing.scale), (1001, 60000));
        assert_eq!(
            ticks(Ratio {
                num: 1 << 31,
                den: 1
            }),
            None
        );
    }
}
