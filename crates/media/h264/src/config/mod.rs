//! What an encode is asked for: all options, checked, with their defaults.
//!
//! ```
//! use evener_h264::config::{Config, Preset, Rate, Settings};
//!
//! let config = Config::new(&Settings {
//!     preset: Preset::Fast,
//!     rate: Rate::Crf(20.0),
//!     ..Settings::default()
//! })?;
//! assert!(config.tools.partitions);
//! # Ok::<(), evener_h264::config::ConfigError>(())
//! ```

mod error;
mod named;
mod preset;
mod rate;

pub use error::ConfigError;
pub use named::{Tune, parse_level};
pub use preset::{Preset, Tools};
pub use rate::{Rate, Vbv, parse_bits};

use crate::syntax::{Level, Profile};

/// The longest distance of key frames where none is asked for, in frames.
pub const KEYINT: u32 = 250;

/// Options as they are given, not checked together.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How much time is spent on better pictures.
    pub preset: Preset,
    /// What decides the size of the stream.
    pub rate: Rate,
    /// The highest rate at which a decoder takes the stream, in bits per second.
    pub maxrate: Option<u64>,
    /// Bits that the decoder's buffer holds.
    pub bufsize: Option<u64>,
    /// The highest profile the stream may need; `None` for what the preset needs.
    pub profile: Option<Profile>,
    /// The level the stream has to keep to; `None` for the lowest that fits.
    pub level: Option<&'static Level>,
    /// Frames from one key frame to the next, at most.
    pub keyint: u32,
    /// Frames that have to be key frames beside those, by their numbers from 0 on.
    pub keys: Vec<u64>,
    /// What the stream is optimised for.
    pub tune: Option<Tune>,
    /// Whether PSNR is computed.
    pub psnr: bool,
    /// Whether SSIM is computed.
    pub ssim: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            preset: Preset::default(),
            rate: Rate::default(),
            maxrate: None,
            bufsize: None,
            profile: None,
            level: None,
            keyint: KEYINT,
            keys: Vec::new(),
            tune: None,
            psnr: false,
            ssim: false,
        }
    }
}

/// All that an encoder is told, apart from the frames' own properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The preset that the tools are from.
    pub preset: Preset,
    /// Coding tools and depth of search: the preset's, less what profile, rate and tune exclude.
    pub tools: Tools,
    /// What decides the size of the stream.
    pub rate: Rate,
    /// The decoder's buffer, where the stream has to keep to one.
    pub vbv: Option<Vbv>,
    /// The lowest profile that has the tools.
    pub profile: Profile,
    /// The level the stream has to keep to; `None` for the lowest that fits.
    pub level: Option<&'static Level>,
    /// Frames from one key frame to the next, at most; at least 1.
    pub keyint: u32,
    /// Frames that have to be key frames beside those, in rising order.
    pub keys: Vec<u64>,
    /// Whether PSNR is computed.
    pub psnr: bool,
    /// Whether SSIM is computed.
    pub ssim: bool,
}

impl Default for Config {
    /// The configuration of default [`Settings`].
    fn default() -> Config {
        Config::of(&Settings::default(), None)
    }
}

impl Config {
    /// Checks settings and works out the tools.
    ///
    /// # Errors
    /// A value is out of its range, or two contradict each other.
    pub fn new(settings: &Settings) -> Result<Config, ConfigError> {
        settings.rate.check()?;
        if settings.keyint == 0 {
            return Err(ConfigError::Keyint);
        }
        let vbv = Vbv::of(settings.rate, settings.maxrate, settings.bufsize)?;
        Ok(Config::of(settings, vbv))
    }

    fn of(settings: &Settings, vbv: Option<Vbv>) -> Config {
        let mut tools = settings.preset.tools();
        if matches!(settings.rate, Rate::Qp(_)) {
            // Every macroblock has the QP that was asked for.
            tools.adaptive_qp = false;
        }
        match settings.tune {
            Some(Tune::Psnr) => tools.adaptive_qp = false,
            Some(Tune::Ssim) => tools.adaptive_qp = !matches!(settings.rate, Rate::Qp(_)),
            // No frame waits for later ones in any case.
            Some(Tune::ZeroLatency) | None => {}
        }
        if let Some(profile) = settings.profile {
            tools = tools.within(profile);
        }
        let mut keys = settings.keys.clone();
        keys.sort_unstable();
        Config {
            preset: settings.preset,
            tools,
            rate: settings.rate,
            vbv,
            profile: tools.profile(),
            level: settings.level,
            keyint: settings.keyint,
            keys,
            psnr: settings.psnr,
            ssim: settings.ssim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        let checked = Config::new(&Settings::default()).unwrap();
        assert_eq!(checked, Config::default());
        assert_eq!(checked.rate, Rate::Crf(23.0));
    }

    #[test]
    fn a_profile_takes_away_what_it_does_not_have() {
        for preset in Preset::ALL {
            let of = |profile| {
                Config::new(&Settings {
                    preset,
                    profile,
                    ..Settings::default()
                })
                .unwrap()
            };
            for profile in Profile::ALL {
                let config = of(Some(profile));
                assert!(config.profile <= profile, "{preset:?} {profile:?}");
                assert!(config.profile <= of(None).profile);
            }
            let baseline = of(Some(Profile::ConstrainedBaseline)).tools;
            assert!(!baseline.cabac && !baseline.transform_8x8);
            assert!(!of(Some(Profile::Main)).tools.transform_8x8);
        }
    }

    #[test]
    fn a_constant_qp_is_constant_whatever_it_is_tuned_for() {
        for tune in [None, Some(Tune::Psnr), Some(Tune::Ssim)] {
            let config = Config::new(&Settings {
                rate: Rate::Qp(30),
                tune,
                ..Settings::default()
            });
            assert!(!config.unwrap().tools.adaptive_qp, "{tune:?}");
        }
    }

    #[test]
    fn there_is_a_key_frame_somewhere() {
        let settings = Settings {
            keyint: 0,
            ..Settings::default()
        };
        assert_eq!(Config::new(&settings), Err(ConfigError::Keyint));
    }
}
