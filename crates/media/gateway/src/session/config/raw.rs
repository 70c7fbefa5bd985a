//! The keys of a file, before what they say is checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A name, or a number.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a number or text")]
pub enum Word {
    Number(i64),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub listen: Option<Spanned<String>>,
    pub metrics: Option<Spanned<String>>,
    #[serde(default)]
    pub host: Vec<Spanned<String>>,
    pub engines: Option<Spanned<Word>>,
    pub lag: Option<Spanned<f64>>,
    #[serde(default, rename = "cross-origin")]
    pub cross_origin: bool,
    #[serde(default)]
    pub allow: Vec<Spanned<String>>,
    #[serde(default)]
    pub origin: BTreeMap<String, Spanned<Origin>>,
    #[serde(default)]
    pub pool: BTreeMap<String, Spanned<Pool>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    pub url: Spanned<String>,
    pub weight: Option<Spanned<i64>>,
    #[serde(default)]
    pub drain: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub origins: Vec<Spanned<String>>,
}
