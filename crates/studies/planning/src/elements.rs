//! The element file: kinds of elements with speed, area, power and number, and mappings to compare.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use evener_files::{error_text, one_line};
use evener_runtime::Simd;
use toml::Spanned;

use crate::error::Error;
use crate::raw::{self, Cycles};

/// The most kinds of elements in a file.
pub const MOST_KINDS: usize = 10;
/// The most elements of a kind.
pub const MOST_ELEMENTS: u32 = 4096;
/// The most stages.
pub const MOST_STAGES: usize = 256;
/// The most mappings to compare.
const MOST_MAPPINGS: usize = 100;
/// The most bytes of a file.
const MOST_BYTES: u64 = 1 << 20;
/// Numbers that may be areas, powers, speeds and frequencies.
const AMOUNTS: RangeInclusive<f64> = 1e-9..=1e9;
/// Numbers that may be cycles.
const CYCLES: RangeInclusive<f64> = 1e-9..=1e18;

/// What an element file says. Whether its stages are those of a workload is checked when it is planned.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The file, for messages.
    pub(crate) file: String,
    /// The kind that gains are relative to, as an index.
    pub(crate) baseline: usize,
    /// Line of the baseline, or of the first kind.
    pub(crate) baseline_line: usize,
    /// How many steps each stage has, and the line that says so.
    pub(crate) stages: Option<(Vec<u32>, usize)>,
    /// Units that the cycles of the file are for.
    pub(crate) units: f64,
    pub(crate) kinds: Vec<Kind>,
    /// Names, texts and lines of mappings to compare.
    pub(crate) given: Vec<(String, String, usize)>,
}

/// A kind of element.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// What steps cost on it.
    pub speed: Speed,
    /// Square millimetres of one.
    pub area: f64,
    /// Watts of one.
    pub power: f64,
    /// How many there can be.
    pub number: u32,
    /// Its line in the file.
    pub(crate) line: usize,
}

/// What steps cost on an element of a kind.
#[derive(Clone, Debug)]
pub struct Speed {
    /// Where costs are from.
    pub costs: Costs,
    /// So many times as fast.
    pub factor: f64,
}

/// Where the costs of a kind are from.
#[derive(Clone, Debug)]
pub enum Costs {
    /// Measured on this machine at a SIMD level.
    Measured(Simd),
    /// Seconds of all stages together: such an element runs whole units only.
    Whole(f64),
    /// Seconds of each stage. A stage that it cannot run is infinite.
    Each(Vec<f64>),
}

impl Elements {
    /// Reads a file; `-` is the standard input.
    ///
    /// # Errors
    /// It cannot be read, or says something wrong.
    pub fn read(file: &Path) -> Result<Elements, Error> {
        let name = one_line(&file.display().to_string());
        let failed = |error: std::io::Error| Error::Read {
            file: name.clone(),
            reason: error_text(&error),
        };
        let mut text = Vec::new();
        let limit = MOST_BYTES + 1;
        if file == Path::new("-") {
            std::io::stdin().take(limit).read_to_end(&mut text)
        } else {
            File::open(file).and_then(|file| file.take(limit).read_to_end(&mut text))
        }
        .map_err(failed)?;
        let wrong = |reason: &str| Error::Read {
            file: name.clone(),
            reason: reason.to_owned(),
        };
        if text.len() as u64 > MOST_BYTES {
            return Err(wrong("it is larger than 1 MiB"));
        }
        let text = String::from_utf8(text).map_err(|_| wrong("it is not text"))?;
        Elements::parse(&name, &text)
    }

    /// Reads the text of a file that is called `file` in messages.
    ///
    /// # Errors
    /// It says something wrong.
    pub fn parse(file: &str, text: &str) -> Result<Elements, Error> {
        let text = Text { file, text };
        let raw: raw::File = toml::from_str(text.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            text.wrong(at, error.message())
        })?;
        let mut kinds: Vec<Kind> = Vec::new();
        for kind in &raw.kind {
            if kinds.len() == MOST_KINDS {
                let what = format!("more than {MOST_KINDS} kinds");
                return Err(text.wrong(kind.span().start, &what));
            }
            let kind = text.kind(kind)?;
            if kinds.iter().any(|other| other.name == kind.name) {
                let what = format!("a second kind '{}'; names must differ", kind.name);
                return Err(text.at_line(kind.line, &what));
            }
            kinds.push(kind);
        }
        let Some(first) = kinds.first() else {
            return Err(text.wrong(0, "there is no kind of element; write [[kind]]"));
        };
        let (baseline, baseline_line) = match &raw.baseline {
            None => (0, first.line),
            Some(name) => {
                let at = kinds.iter().position(|kind| kind.name == *name.get_ref());
                let what = || {
                    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
                    format!(
                        "baseline: no kind '{}'; there are {}",
                        name.get_ref(),
                        names.join(", ")
                    )
                };
                let start = name.span().start;
                (
                    at.ok_or_else(|| text.wrong(start, &what()))?,
                    text.line(start),
                )
            }
        };
        let stages = raw.stages.as_ref().map(|stages| text.stages(stages));
        let units = raw
            .units
            .as_ref()
            .map(|units| text.amount("units", units, AMOUNTS));
        Ok(Elements {
            file: file.to_owned(),
            baseline,
            baseline_line,
            stages: stages.transpose()?,
            units: units.transpose()?.unwrap_or(1.0),
            given: text.given(&raw.mapping)?,
            kinds,
        })
    }

    /// The kinds, in the order of the file.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The error that something is wrong with a line.
    pub(crate) fn wrong(&self, line: usize, what: impl ToString) -> Error {
        Error::File {
            file: self.file.clone(),
            line,
            what: what.to_string(),
        }
    }

    /// The SIMD levels that have to be measured, each once.
    pub fn levels(&self) -> Vec<Simd> {
        let mut levels = Vec::new();
        for kind in &self.kinds {
            if let Costs::Measured(level) = kind.speed.costs
                && !levels.contains(&level)
            {
                levels.push(level);
            }
        }
        levels
    }
}

/// A text and its name.
#[derive(Clone, Copy)]
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn line(self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|&&byte| byte == b'\n').count()
    }

    fn wrong(self, at: usize, what: &str) -> Error {
        self.at_line(self.line(at), what)
    }

    fn at_line(self, line: usize, what: &str) -> Error {
        Error::File {
            file: self.file.to_owned(),
            line,
            what: one_line(&what.replace('\n', "; ")),
        }
    }

    fn amount(
        self,
        name: &str,
        value: &Spanned<f64>,
        range: RangeInclusive<f64>,
    ) -> Result<f64, Error> {
        let given = *value.get_ref();
        if range.contains(&given) {
            return Ok(given);
        }
        let (low, high) = (range.start(), range.end());
        let what = format!("{name}: {given:?} is not a number from {low:e} to {high:e}");
        Err(self.wrong(value.span().start, &what))
    }

    fn kind(self, kind: &Spanned<raw::Kind>) -> Result<Kind, Error> {
        let raw = kind.get_ref();
        let name = raw.name.get_ref().clone();
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || name.len() > 24 || !name.chars().all(fits) || name == "all" {
            let what = format!(
                "name: '{name}' cannot be the name of a kind; 1 to 24 letters, digits and _ . - can"
            );
            return Err(self.wrong(raw.name.span().start, &what));
        }
        let of = |what: &str| format!("kind '{name}', {what}");
        let number = match &raw.number {
            None => 1,
            Some(number) => match u32::try_from(*number.get_ref()) {
                Ok(n @ 1..=MOST_ELEMENTS) => n,
                _ => {
                    let what = format!(
                        "{} is not a number from 1 to {MOST_ELEMENTS}",
                        number.get_ref()
                    );
                    return Err(self.wrong(number.span().start, &of(&format!("number: {what}"))));
                }
            },
        };
        let factor = raw
            .speed
            .as_ref()
            .map(|speed| self.amount(&of("speed"), speed, AMOUNTS));
        Ok(Kind {
            line: self.line(kind.span().start),
            speed: Speed {
                costs: self.costs(kind, &name)?,
                factor: factor.transpose()?.unwrap_or(1.0),
            },
            area: self.amount(&of("area"), &raw.area, AMOUNTS)?,
            power: self.amount(&of("power"), &raw.power, AMOUNTS)?,
            number,
            name,
        })
    }

    fn costs(self, kind: &Spanned<raw::Kind>, name: &str) -> Result<Costs, Error> {
        let raw = kind.get_ref();
        let of = |at: usize, what: &str| self.wrong(at, &format!("kind '{name}', {what}"));
        let cycles = match (&raw.cycles, &raw.mhz, &raw.measured) {
            (Some(_), _, Some(measured)) => {
                let what = "measured: it has cycles as well; leave one of them out";
                return Err(of(measured.span().start, what));
            }
            (None, Some(mhz), _) => {
                return Err(of(
                    mhz.span().start,
                    "mhz: there are no cycles that it is for",
                ));
            }
            (Some(cycles), None, None) => {
                return Err(of(cycles.span().start, "cycles: mhz is missing"));
            }
            (None, None, measured) => return self.level(measured.as_ref(), name),
            (Some(cycles), Some(_), None) => cycles,
        };
        let hertz = raw
            .mhz
            .as_ref()
            .map(|mhz| self.amount(&format!("kind '{name}', mhz"), mhz, AMOUNTS));
        let hertz = hertz.transpose()?.unwrap_or(1.0) * 1e6;
        let seconds = |given: f64, can_lack: bool| {
            if CYCLES.contains(&given) || (can_lack && given == f64::INFINITY) {
                return Ok(given / hertz);
            }
            let what = format!("cycles: {given:?} is not a number from 1e-9 to 1e18");
            let or = if can_lack {
                ", or inf for a stage that it cannot run"
            } else {
                ""
            };
            Err(of(cycles.span().start, &(what + or)))
        };
        match cycles.get_ref() {
            Cycles::Whole(given) => Ok(Costs::Whole(seconds(*given, false)?)),
            Cycles::Each(all) => {
                let all: Result<Vec<f64>, Error> = all.iter().map(|&c| seconds(c, true)).collect();
                Ok(Costs::Each(all?))
            }
        }
    }

    /// The level that a kind is measured at: that of this machine unless it names one.
    fn level(self, measured: Option<&Spanned<String>>, name: &str) -> Result<Costs, Error> {
        let levels = Simd::levels();
        let Some(measured) = measured else {
            return Ok(Costs::Measured(Simd::detect()));
        };
        let found = levels
            .iter()
            .find(|level| level.name() == measured.get_ref());
        let wrong = || {
            let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
            let what = format!(
                "kind '{name}', measured: '{}' cannot be measured on this machine; {} can",
                measured.get_ref(),
                names.join(", ")
            );
            self.wrong(measured.span().start, &what)
        };
        found.copied().map(Costs::Measured).ok_or_else(wrong)
    }

    fn stages(self, stages: &Spanned<Vec<i64>>) -> Result<(Vec<u32>, usize), Error> {
        let at = stages.span().start;
        let all = stages.get_ref();
        if all.is_empty() || all.len() > MOST_STAGES {
            return Err(self.wrong(at, &format!("stages: there can be 1 to {MOST_STAGES}")));
        }
        let steps = all.iter().map(|&steps| match u32::try_from(steps) {
            Ok(n @ 1..=1_000_000) => Ok(n),
            _ => Err(self.wrong(at, &format!("stages: {steps} is not a number of steps"))),
        });
        Ok((steps.collect::<Result<_, _>>()?, self.line(at)))
    }

    fn given(self, given: &[Spanned<raw::Given>]) -> Result<Vec<(String, String, usize)>, Error> {
        let mut names = HashSet::new();
        let mut all = Vec::new();
        for one in given {
            let (raw, at) = (one.get_ref(), one.span().start);
            let name = one_line(raw.name.get_ref());
            if name.is_empty() || name.chars().count() > 40 {
                return Err(self.wrong(at, "mapping: a name has 1 to 40 characters"));
            }
            if !names.insert(name.clone()) {
                return Err(
                    self.wrong(at, &format!("a second mapping '{name}'; names must differ"))
                );
            }
            if all.len() == MOST_MAPPINGS {
                return Err(self.wrong(at, &format!("more than {MOST_MAPPINGS} mappings")));
            }
            let line = self.line(raw.runs.span().start);
            all.push((name, raw.runs.get_ref().clone(), line));
        }
        Ok(all)
    }
}
