//! [`Options`] as a connection keeps them, of which there are many: in a third of the memory.

use std::time::Duration;

use super::congestion::Algorithm;
use super::{KeepAlive, Options};

/// Durations are in milliseconds, up to 49 days; 0 stands for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub congestion: Algorithm,
    pub no_delay: bool,
    pub cork: bool,
    pub timestamps: bool,
    pub sack: bool,
    pub ecn: bool,
    pub syn_retries: u8,
    pub keep_alive_probes: u8,
    mss: u16,
    keep_alive_idle: u32,
    keep_alive_interval: u32,
    user_timeout: u32,
}

fn millis(duration: Duration) -> u32 {
    (duration.as_millis().min(u128::from(u32::MAX)) as u32).max(1)
}

fn duration(millis: u32) -> Option<Duration> {
    (millis != 0).then(|| Duration::from_millis(u64::from(millis)))
}

impl Settings {
    pub fn new(options: &Options) -> Settings {
        let keep_alive = options.keep_alive;
        Settings {
            congestion: options.congestion,
            no_delay: options.no_delay,
            cork: options.cork,
            timestamps: options.timestamps,
            sack: options.sack,
            ecn: options.ecn,
            syn_retries: options.syn_retries,
            keep_alive_probes: keep_alive.map_or(0, |keep| keep.probes),
            mss: options.mss.unwrap_or(0),
            keep_alive_idle: keep_alive.map_or(0, |keep| millis(keep.idle)),
            keep_alive_interval: keep_alive.map_or(0, |keep| millis(keep.interval)),
            user_timeout: options.user_timeout.map_or(0, millis),
        }
    }

    pub fn options(&self) -> Options {
        Options {
            congestion: self.congestion,
            no_delay: self.no_delay,
            cork: self.cork,
            keep_alive: self.keep_alive(),
            user_timeout: self.user_timeout(),
            syn_retries: self.syn_retries,
            mss: (self.mss != 0).then_some(self.mss),
            timestamps: self.timestamps,
            sack: self.sack,
            ecn: self.ecn,
        }
    }

    pub fn keep_alive(&self) -> Option<KeepAlive> {
        Some(KeepAlive {
            idle: duration(self.keep_alive_idle)?,
            interval: duration(self.keep_alive_interval)?,
            probes: self.keep_alive_probes,
        })
    }

    pub fn user_timeout(&self) -> Option<Duration> {
        duration(self.user_timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_back() {
        let some = Options {
            keep_alive: Some(KeepAlive::default()),
            user_timeout: Some(Duration::from_millis(1500)),
            mss: Some(1000),
            cork: true,
            ..Options::default()
        };
        for options in [Options::default(), some] {
            assert_eq!(Settings::new(&options).options(), options);
        }
    }
}
