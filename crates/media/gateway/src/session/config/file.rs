//! A gateway's set-up as a file of TOML.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use evener_files::{error_text, one_line};
use evener_sockets::Address;
use toml::Spanned;

use super::raw::{self, Word};
use super::{Config, Engines, Origin, Pool, listen_address, origin_url, weight};

/// Bytes of a file at most.
const MOST_BYTES: u64 = 1 << 20;
/// Seconds that a client may be late.
const LAGS: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// Words of messages that are those of code, and what users get.
const WORDS: [(&str, &str); 9] = [
    ("unknown field", "unknown key"),
    ("missing field", "there is no key"),
    ("expected f64", "expected a number"),
    ("expected i64", "expected a whole number"),
    ("a sequence", "a list"),
    ("sequence", "a list"),
    (
        "expected struct Origin",
        "expected a table, as [origin.NAME]",
    ),
    ("expected struct Pool", "expected a table, as [pool.NAME]"),
    ("a map", "a table"),
];

/// What is wrong with a file. `Display` is one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{file}: {reason}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// It says something wrong.
    #[error("{file}:{line}:{column}: {what}")]
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or says something wrong.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let file = one_line(&path.display().to_string());
        let failed = |reason: String| ConfigError::Read {
            file: file.clone(),
            reason,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|opened| opened.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error: io::Error| failed(error_text(&error)))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(failed("it is larger than 1 MiB".into()));
        }
        let text = String::from_utf8(bytes).map_err(|_| failed("it is not text".into()))?;
        Config::parse(&file, &text)
    }

    /// Reads the text of a file that is called `file` in messages.
    ///
    /// # Errors
    /// It says something wrong.
    pub fn parse(file: &str, text: &str) -> Result<Config, ConfigError> {
        let text = Text { file, text };
        let raw: raw::File = toml::from_str(text.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = WORDS
                .iter()
                .fold(error.message().to_owned(), |what, (of_code, plain)| {
                    what.replace(of_code, plain)
                });
            text.wrong(at, what)
        })?;
        let defaults = Config::default();
        let origins = raw
            .origin
            .iter()
            .map(|(name, origin)| text.origin(name, origin));
        let origins: Vec<Origin> = origins.collect::<Result<_, _>>()?;
        let pools = raw.pool.iter();
        let pools = pools.map(|(name, pool)| text.pool(name, pool, &origins));
        Ok(Config {
            listen: text.each(&raw.listen, |value| listen_address(value))?,
            metrics: text.each(&raw.metrics, |value| metrics_address(value))?,
            hosts: text.list(&raw.host)?,
            engines: text
                .each(&raw.engines, engines)?
                .unwrap_or(defaults.engines),
            lag: text.each(&raw.lag, lag)?.unwrap_or(defaults.lag),
            cross_origin: raw.cross_origin,
            allow: text.list(&raw.allow)?,
            pools: pools.collect::<Result<_, _>>()?,
            origins,
        })
    }
}

/// Where collectors of metrics come to: `HOST:PORT`.
///
/// # Errors
/// It is something else.
pub fn metrics_address(text: &str) -> Result<Address, String> {
    let wrong = || format!("'{text}': not a host and a port, as in 127.0.0.1:9100");
    match text.starts_with("tcp:") {
        true => Err(wrong()),
        false => format!("tcp:{text}").parse().map_err(|_| wrong()),
    }
}

fn engines(word: &Word) -> Result<Engines, String> {
    match word {
        Word::Number(number) => number.to_string().parse(),
        Word::Text(text) => text.parse(),
    }
}

fn lag(seconds: &f64) -> Result<Duration, String> {
    match LAGS.contains(seconds) {
        true => Ok(Duration::from_secs_f64(*seconds)),
        false => Err(format!(
            "lag: {seconds} is not {} to {} seconds",
            LAGS.start(),
            LAGS.end()
        )),
    }
}

/// A text and its name.
#[derive(Clone, Copy)]
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn wrong(self, at: usize, what: impl AsRef<str>) -> ConfigError {
        let before = self.text.get(..at).unwrap_or_default();
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        ConfigError::File {
            file: self.file.to_owned(),
            line: 1 + before.matches('\n').count(),
            column: 1 + before[begin..].chars().count(),
            what: one_line(&what.as_ref().replace('\n', "; ")),
        }
    }

    /// Checks a value that may be there.
    fn each<R, T>(
        self,
        value: &Option<Spanned<R>>,
        check: impl Fn(&R) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let checked = value.as_ref().map(|value| {
            check(value.get_ref()).map_err(|what| self.wrong(value.span().start, what))
        });
        checked.transpose()
    }

    /// Checks the words of a list.
    fn list<T: FromStr<Err: ToString>>(
        self,
        words: &[Spanned<String>],
    ) -> Result<Vec<T>, ConfigError> {
        let parse = |word: &Spanned<String>| {
            let parsed: Result<T, _> = word.get_ref().parse();
            parsed.map_err(|error| self.wrong(word.span().start, error.to_string()))
        };
        words.iter().map(parse).collect()
    }

    fn origin(self, name: &str, origin: &Spanned<raw::Origin>) -> Result<Origin, ConfigError> {
        self.name(name, origin.span().start)?;
        let raw = origin.get_ref();
        let url = origin_url(raw.url.get_ref())
            .map_err(|what| self.wrong(raw.url.span().start, format!("origin '{name}': {what}")))?;
        let weight = |number: &i64| {
            weight(&number.to_string()).map_err(|what| format!("origin '{name}': {what}"))
        };
        Ok(Origin {
            name: name.to_owned(),
            url,
            weight: self.each(&raw.weight, weight)?.unwrap_or(1),
            drain: raw.drain,
        })
    }

    fn pool(
        self,
        name: &str,
        pool: &Spanned<raw::Pool>,
        origins: &[Origin],
    ) -> Result<Pool, ConfigError> {
        self.name(name, pool.span().start)?;
        let mut members: Vec<usize> = Vec::new();
        for member in &pool.get_ref().origins {
            let wanted = member.get_ref();
            let at = origins.iter().position(|origin| origin.name == *wanted);
            let what = match at {
                Some(at) if !members.contains(&at) => {
                    members.push(at);
                    continue;
                }
                Some(_) => format!("pool '{name}': '{wanted}' is named twice; leave one out"),
                None => {
                    format!("pool '{name}': there is no [origin.{wanted}] in this file; add it")
                }
            };
            return Err(self.wrong(member.span().start, what));
        }
        if members.is_empty() {
            let what = format!("pool '{name}': it has no origins; name one or more");
            return Err(self.wrong(pool.span().start, what));
        }
        Ok(Pool {
            name: name.to_owned(),
            origins: members,
        })
    }

    /// A name that can be part of the path of a request.
    fn name(self, name: &str, at: usize) -> Result<(), ConfigError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
            return Ok(());
        }
        let what = format!(
            "'{name}' cannot be the name of an origin or a pool; 1 to 64 letters, digits and _ . - can"
        );
        Err(self.wrong(at, what))
    }
}
