//! How a gateway is set up: plain data, by a file or by a command line.

mod file;
mod raw;

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use evener_files::one_line;
use evener_sockets::{Address, HostName};

use crate::access::Target;
use crate::pool::Member;
use crate::rtsp::{Url, UrlError};

pub use file::{ConfigError, metrics_address};

/// The pool of origins that a command line names.
pub const DEFAULT_POOL: &str = "default";
/// Engines at most.
const MOST_ENGINES: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// Shares that an origin may have.
const WEIGHTS: RangeInclusive<u32> = 1..=1000;
/// How late a client may be before pictures are left out for it.
pub const LAG: Duration = Duration::from_secs(2);

/// All that can be set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where clients come to.
    pub listen: Option<Address>,
    /// Where collectors of metrics come to.
    pub metrics: Option<Address>,
    /// Names of this machine that clients may use, beside those that [`Hosts`](evener_sockets::Hosts) has.
    pub hosts: Vec<HostName>,
    /// How many engines there are.
    pub engines: Engines,
    /// How late a client may be before pictures are left out for it.
    pub lag: Duration,
    /// Pages of other sites may ask, and read what is served (`Access-Control-Allow-Origin: *`).
    pub cross_origin: bool,
    /// What clients may ask for beside what is always allowed; see [`Access`](crate::access::Access).
    pub allow: Vec<Target>,
    /// Servers of RTSP. Names differ.
    pub origins: Vec<Origin>,
    /// Pools of them. Names differ.
    pub pools: Vec<Pool>,
}

/// How many engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engines {
    /// As many as the load asks for.
    #[default]
    Auto,
    /// So many.
    Count(NonZeroUsize),
}

/// A server of RTSP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// What pools call it.
    pub name: String,
    /// What paths are appended to.
    pub url: Url,
    /// Its share of the sessions, relative to others; 1 or more.
    pub weight: u32,
    /// It takes no new sessions; those that it has go on.
    pub drain: bool,
}

/// Servers that have the same streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// What clients ask for, as `/pool/NAME/PATH`.
    pub name: String,
    /// Indexes into [`Config::origins`]; one or more, each once.
    pub origins: Vec<usize>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: None,
            metrics: None,
            hosts: Vec::new(),
            engines: Engines::Auto,
            lag: LAG,
            cross_origin: false,
            allow: Vec::new(),
            origins: Vec::new(),
            pools: Vec::new(),
        }
    }
}

impl Config {
    /// The pool of that name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == name)
    }

    /// The origins of each pool, by its name.
    pub fn members(&self) -> Vec<(String, Vec<Member>)> {
        let member = |at: &usize| {
            let origin = self.origins.get(*at)?;
            Some(Member {
                name: origin.name.clone(),
                url: origin.url.clone(),
                weight: origin.weight.into(),
                drains: origin.drain,
            })
        };
        let of = |pool: &Pool| {
            let members = pool.origins.iter().filter_map(member).collect();
            (pool.name.clone(), members)
        };
        self.pools.iter().map(of).collect()
    }

    /// Adds an origin to [`DEFAULT_POOL`], which is made if it is not there.
    pub fn add_origin(&mut self, url: Url, weight: u32) {
        let number = self.origins.len();
        let mut name = url.host().to_owned();
        if self.origins.iter().any(|origin| origin.name == name) {
            name = format!("{name}-{number}");
        }
        self.origins.push(Origin {
            name,
            url,
            weight,
            drain: false,
        });
        match self.pools.iter_mut().find(|pool| pool.name == DEFAULT_POOL) {
            Some(pool) => pool.origins.push(number),
            None => self.pools.push(Pool {
                name: DEFAULT_POOL.to_owned(),
                origins: vec![number],
            }),
        }
    }
}

impl FromStr for Engines {
    type Err = String;

    fn from_str(text: &str) -> Result<Engines, String> {
        match text {
            "auto" => Ok(Engines::Auto),
            _ => match text.parse() {
                Ok(count) if count <= MOST_ENGINES => Ok(Engines::Count(count)),
                _ => Err(format!(
                    "'{text}': how many engines there are is auto, or 1 to {MOST_ENGINES}"
                )),
            },
        }
    }
}

impl fmt::Display for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engines::Auto => f.write_str("auto"),
            Engines::Count(count) => count.fmt(f),
        }
    }
}

/// Reads the share of an origin, as on a command line.
///
/// # Errors
/// It is no number from 1 to 1000.
pub fn weight(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(weight) if WEIGHTS.contains(&weight) => Ok(weight),
        _ => Err(format!(
            "weight={text}: a weight is {} to {}",
            WEIGHTS.start(),
            WEIGHTS.end()
        )),
    }
}

/// Where clients come to: `tcp:HOST:PORT`.
///
/// # Errors
/// It is something else.
pub fn listen_address(text: &str) -> Result<Address, String> {
    match text.parse() {
        Ok(address @ Address::Tcp(_)) => Ok(address),
        _ => Err(format!(
            "'{text}': clients of HTTP come to tcp:HOST:PORT, as in tcp:127.0.0.1:8080"
        )),
    }
}

/// Reads `rtsp://HOST/PATH`, as in a file or on a command line.
///
/// # Errors
/// It is something else.
pub fn origin_url(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|error| match error {
        UrlError::Scheme => format!(
            "'{}': the address of an origin begins with rtsp://",
            one_line(text)
        ),
        error => error.to_string(),
    })
}

#[cfg(test)]
mod tests;
