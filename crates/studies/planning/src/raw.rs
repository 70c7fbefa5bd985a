//! An element file as it is written, before anything in it is checked.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub baseline: Option<Spanned<String>>,
    pub stages: Option<Spanned<Vec<i64>>>,
    pub units: Option<Spanned<f64>>,
    #[serde(default)]
    pub kind: Vec<Spanned<Kind>>,
    #[serde(default)]
    pub mapping: Vec<Spanned<Given>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub name: Spanned<String>,
    pub measured: Option<Spanned<String>>,
    pub speed: Option<Spanned<f64>>,
    pub cycles: Option<Spanned<Cycles>>,
    pub mhz: Option<Spanned<f64>>,
    pub area: Spanned<f64>,
    pub power: Spanned<f64>,
    pub number: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    pub name: Spanned<String>,
    pub runs: Spanned<String>,
}

/// A number for all stages together, or one for each.
pub enum Cycles {
    Whole(f64),
    Each(Vec<f64>),
}

impl<'de> Deserialize<'de> for Cycles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cycles, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Cycles;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of cycles, or a list with one for each stage")
            }

            fn visit_f64<E>(self, cycles: f64) -> Result<Cycles, E> {
                Ok(Cycles::Whole(cycles))
            }

            fn visit_i64<E>(self, cycles: i64) -> Result<Cycles, E> {
                Ok(Cycles::Whole(cycles as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Cycles, A::Error> {
                let mut each = Vec::new();
                while let Some(cycles) = all.next_element()? {
                    each.push(cycles);
                }
                Ok(Cycles::Each(each))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
