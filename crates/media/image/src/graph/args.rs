//! The arguments of a filter, with defaults, and checked.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::ops::RangeInclusive;

use super::colour::Colour;
use super::expression::{Expression, Names};
use super::length::{Length, Range};
use crate::io::ffmpeg::{Picture, Tools};

use super::text::{Span, nearest, quoted, requoted, unquoted};

/// An argument of a filter.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Name in `name=value`.
    pub name: &'static str,
    /// Other names, those of FFmpeg.
    pub also: &'static [&'static str],
    /// Shown as the default, `None` where one must be given.
    pub default: Option<&'static str>,
    /// What it is, for a listing and for errors.
    pub about: &'static str,
    /// It excludes every other argument, and takes a value without a name only where that is the only value.
    pub alone: bool,
    /// It may be an [`Expression`] of the sizes of frames.
    pub expression: bool,
}

impl Arg {
    /// One that must be given.
    pub const fn required(name: &'static str, about: &'static str) -> Arg {
        Arg {
            name,
            also: &[],
            default: None,
            about,
            alone: false,
            expression: false,
        }
    }

    /// One with a default.
    pub const fn optional(name: &'static str, default: &'static str, about: &'static str) -> Arg {
        Arg {
            name,
            also: &[],
            default: Some(default),
            about,
            alone: false,
            expression: false,
        }
    }

    /// One that may be an expression of the sizes of frames; without a default it must be given.
    pub const fn length(
        name: &'static str,
        default: Option<&'static str>,
        about: &'static str,
    ) -> Arg {
        Arg {
            name,
            also: &[],
            default,
            about,
            alone: false,
            expression: true,
        }
    }

    /// With other names.
    #[must_use]
    pub const fn also(self, also: &'static [&'static str]) -> Arg {
        Arg { also, ..self }
    }

    /// One with a default that excludes the others.
    pub const fn alone(name: &'static str, default: &'static str, about: &'static str) -> Arg {
        Arg {
            name,
            also: &[],
            default: Some(default),
            about,
            alone: true,
            expression: false,
        }
    }
}

/// An argument that its filter refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct ArgError {
    /// Column of the argument, or of the filter if it is missing. Counts characters from 1.
    pub column: usize,
    /// What is wrong and what to do.
    pub problem: Problem,
}

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The messages say it.
pub enum Problem {
    #[error("unknown argument `{name}`; {hint}")]
    Unknown { name: String, hint: String },
    #[error("argument `{name}` is missing; give `{name}=` {about}")]
    Missing {
        name: &'static str,
        about: &'static str,
    },
    #[error("argument `{name}` is given twice; remove one")]
    Repeated { name: &'static str },
    #[error("{}", too_many(*most))]
    TooMany { most: usize },
    #[error("there is no value here; give one or remove the separator")]
    Empty,
    #[error("a value without a name follows one with a name; name it too")]
    Unnamed,
    #[error("argument `{name}` cannot be combined with others; give it alone or not at all")]
    NotAlone { name: &'static str },
    #[error("`{value}` is not a number; `{name}` is {about}, e.g. `{name}={example}`")]
    NotANumber {
        name: &'static str,
        value: String,
        about: &'static str,
        example: String,
    },
    #[error("`{value}` is not a finite number; give `{name}` a value that is one")]
    NotFinite { name: &'static str, value: String },
    #[error("`{name}` is {value}; it must be {expected}")]
    OutOfRange {
        name: &'static str,
        value: String,
        expected: String,
    },
    #[error("`{value}` cannot be `{name}`: {reason}")]
    NotAnExpression {
        name: &'static str,
        value: String,
        reason: String,
    },
    #[error(
        "`{value}` looks like radians, which FFmpeg turns clockwise; \
         `{name}` is in degrees counter-clockwise: write `{name}={degrees}`"
    )]
    Radians {
        name: &'static str,
        value: String,
        degrees: String,
    },
    #[error(
        "`{value}` must be a fraction of both sides, more than 0 and at most 1; for a width write `w={value}`"
    )]
    NoShare { value: String },
    #[error(
        "`{value}` is not a colour; `{name}` is black, white, red, …, #RRGGBB, or a grey from 0 to 1"
    )]
    NotAColour { name: &'static str, value: String },
    #[error("`{name}` cannot be read: {reason}")]
    NoPicture { name: &'static str, reason: String },
    #[error("`{value}` is not a value of `{name}`; {hint}")]
    NotAChoice {
        name: &'static str,
        value: String,
        hint: String,
    },
}

/// The arguments of a filter as [`Entry::build`](crate::filters::Entry::build) reads them. Their number and names have
/// been checked.
pub struct Args<'a> {
    args: &'static [Arg],
    /// Column of the filter.
    column: usize,
    /// What was given for each of `args`.
    given: Vec<Option<Span<'a>>>,
    /// When the filter is at work, which every filter takes.
    enable: Option<Span<'a>>,
}

impl<'a> Args<'a> {
    /// Sorts the values of `list`, e.g. `0.5:keep=below`, to the arguments `known`.
    pub(super) fn new(
        known: &'static [Arg],
        column: usize,
        list: Option<Span<'a>>,
    ) -> Result<Self, ArgError> {
        let mut args = Args {
            args: known,
            column,
            given: vec![None; known.len()],
            enable: None,
        };
        let Some(list) = list else {
            return args.complete();
        };
        let list = list.without_end(':');
        let only = list.cut(':').is_none();
        let mut unnamed = (0..known.len()).filter(|&i| only || !known[i].alone);
        let most = known.iter().filter(|a| !a.alone).count();
        let mut named = false;
        for part in list.split(':') {
            let refuse = |problem| {
                Err(ArgError {
                    column: part.column(),
                    problem,
                })
            };
            let (slot, value) = match part.cut('=') {
                Some((name, value)) if name.trim().text() == "enable" => {
                    args.enable = Some(value.trim());
                    continue;
                }
                Some((name, value)) => {
                    named = true;
                    (args.slot(name.trim())?, value.trim())
                }
                None if part.text().is_empty() => return refuse(Problem::Empty),
                None if named => return refuse(Problem::Unnamed),
                None => match unnamed.next() {
                    Some(slot) => (slot, part),
                    None => return refuse(Problem::TooMany { most }),
                },
            };
            if unquoted(value.text()).is_empty() {
                return refuse(Problem::Empty);
            }
            if args.given[slot].replace(value).is_some() {
                return refuse(Problem::Repeated {
                    name: known[slot].name,
                });
            }
        }
        args.complete()
    }

    fn slot(&self, name: Span<'_>) -> Result<usize, ArgError> {
        let known = || self.args.iter().map(|a| a.name);
        let is = |arg: &Arg| arg.name == name.text() || arg.also.contains(&name.text());
        self.args.iter().position(is).ok_or_else(|| {
            let others = self.args.iter().flat_map(|a| a.also).copied();
            let hint = match nearest(name.text(), known().chain(others)) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.args.is_empty() => "this filter takes none".to_owned(),
                None => format!("there are: {}", known().collect::<Vec<_>>().join(", ")),
            };
            let problem = Problem::Unknown {
                name: quoted(name.text()),
                hint,
            };
            ArgError {
                column: name.column(),
                problem,
            }
        })
    }

    /// Refuses arguments that exclude each other and those missing without a default.
    fn complete(self) -> Result<Self, ArgError> {
        let all = || self.args.iter().zip(&self.given);
        let count = all().filter(|(_, given)| given.is_some()).count();
        for (arg, given) in all() {
            if let (true, Some(value), 2..) = (arg.alone, given, count) {
                let problem = Problem::NotAlone { name: arg.name };
                return Err(ArgError {
                    column: value.column(),
                    problem,
                });
            }
        }
        for (arg, given) in all() {
            if given.is_none() && arg.default.is_none() && !self.excluded(arg) {
                return Err(self.missing(arg));
            }
        }
        Ok(self)
    }

    /// Whether other arguments exclude `arg`.
    fn excluded(&self, arg: &Arg) -> bool {
        let alone = self.args.iter().any(|a| a.alone);
        alone && arg.alone != self.alone()
    }

    /// Whether all given arguments are of the kind that stands alone.
    fn alone(&self) -> bool {
        let mut pairs = self.args.iter().zip(&self.given);
        pairs.all(|(arg, given)| arg.alone || given.is_none())
    }

    fn missing(&self, arg: &Arg) -> ArgError {
        let problem = Problem::Missing {
            name: arg.name,
            about: arg.about,
        };
        ArgError {
            column: self.column,
            problem,
        }
    }

    /// An argument, the text of its value, and the column that errors name.
    pub(super) fn value(
        &self,
        name: &str,
    ) -> Result<(&'static Arg, Cow<'a, str>, usize), ArgError> {
        let unknown = || {
            let problem = Problem::Unknown {
                name: quoted(name),
                hint: "no such one".to_owned(),
            };
            ArgError {
                column: self.column,
                problem,
            }
        };
        let slot = self
            .args
            .iter()
            .position(|a| a.name == name)
            .ok_or_else(unknown)?;
        let arg = &self.args[slot];
        match (self.given[slot], arg.default) {
            (Some(span), _) => Ok((arg, unquoted(span.text()), span.column())),
            (None, Some(default)) => Ok((arg, Cow::Borrowed(default), self.column)),
            (None, None) => Err(self.missing(arg)),
        }
    }

    /// Whether the argument was given rather than defaulted.
    pub fn given(&self, name: &str) -> bool {
        let mut pairs = self.args.iter().zip(&self.given);
        pairs.any(|(arg, given)| arg.name == name && given.is_some())
    }

    /// A finite number that an `f32` can hold, or arithmetic that gives one.
    ///
    /// # Errors
    /// The value is no number, or not finite.
    pub fn number(&self, name: &str) -> Result<f64, ArgError> {
        let (arg, text, column) = self.value(name)?;
        let refuse = |problem| Err(ArgError { column, problem });
        let number = || match text.parse::<f64>() {
            Ok(v) => Ok(v),
            Err(_) => Expression::parse(&text, &[]).map(|e| e.value(&[])),
        };
        match number() {
            Ok(v) if (v as f32).is_finite() => Ok(v),
            Ok(_) => refuse(Problem::NotFinite {
                name: arg.name,
                value: quoted(&text),
            }),
            Err(_) => {
                let value = quoted(&text);
                refuse(Problem::NotANumber {
                    name: arg.name,
                    value,
                    about: arg.about,
                    example: example(arg, &text),
                })
            }
        }
    }

    /// A number that satisfies `test`; `expected` says in words what that asks.
    ///
    /// # Errors
    /// As [`Args::number`], or the test fails.
    pub fn number_where(
        &self,
        name: &str,
        test: impl FnOnce(f64) -> bool,
        expected: &str,
    ) -> Result<f64, ArgError> {
        let number = self.number(name)?;
        if test(number) {
            return Ok(number);
        }
        let (arg, text, column) = self.value(name)?;
        let (value, expected) = (quoted(&text), expected.to_owned());
        Err(ArgError {
            column,
            problem: Problem::OutOfRange {
                name: arg.name,
                value,
                expected,
            },
        })
    }

    /// An angle in degrees, counter-clockwise.
    ///
    /// # Errors
    /// As [`Args::number`]; or it names `PI` and is at most two turns in radians, as FFmpeg has angles.
    pub fn degrees(&self, name: &str) -> Result<f64, ArgError> {
        let degrees = self.number(name)?;
        let (arg, text, column) = self.value(name)?;
        if !text.contains("PI") || degrees.abs() > 4.0 * std::f64::consts::PI {
            return Ok(degrees);
        }
        // Zero has no sign.
        let meant = (-degrees.to_degrees() * 1e6).round() / 1e6 + 0.0;
        Err(ArgError {
            column,
            problem: Problem::Radians {
                name: arg.name,
                value: quoted(&text),
                degrees: meant.to_string(),
            },
        })
    }

    /// A share of both sides, which a value without a name is where FFmpeg has a width.
    ///
    /// # Errors
    /// It is none.
    pub fn share(&self, name: &str) -> Result<f64, ArgError> {
        let share = |f| f > 0.0 && f <= 1.0;
        let number = self.number_where(name, share, "more than 0 and at most 1");
        number.map_err(|error| match error.problem {
            Problem::NotANumber { value, .. } => ArgError {
                problem: Problem::NoShare { value },
                ..error
            },
            Problem::OutOfRange { value, .. } if !value.starts_with(['-', '0']) => ArgError {
                problem: Problem::NoShare { value },
                ..error
            },
            problem => ArgError { problem, ..error },
        })
    }

    /// A whole number in `range`.
    ///
    /// # Errors
    /// As [`Args::number`], or it is not whole or not in the range.
    pub fn integer(&self, name: &str, range: RangeInclusive<u32>) -> Result<u32, ArgError> {
        let (low, high) = (range.start(), range.end());
        let inside = |v: f64| v.fract() == 0.0 && v >= f64::from(*low) && v <= f64::from(*high);
        let expected = format!("a whole number from {low} to {high}");
        Ok(self.number_where(name, inside, &expected)? as u32)
    }

    /// A length or a position in samples, which may depend on `names`. A plain number is checked now.
    ///
    /// # Errors
    /// The value is no expression, or a plain number that is not in the range.
    pub fn length(&self, name: &str, names: Names, range: Range) -> Result<Length, ArgError> {
        let (arg, text, column) = self.value(name)?;
        self.length_of(arg, &text, column, names, range)
    }

    /// Width and height in samples: of the value of `name`, if that is written as 1280x720.
    ///
    /// # Errors
    /// A number is not in the range.
    pub fn size(&self, name: &str, range: Range) -> Result<Option<(Length, Length)>, ArgError> {
        let (arg, text, column) = self.value(name)?;
        let is_number = |side: &str| !side.is_empty() && side.bytes().all(|b| b.is_ascii_digit());
        match text.split_once('x') {
            Some((w, h)) if is_number(w) && is_number(h) => {
                let side = |text| self.length_of(arg, text, column, &[], range);
                Ok(Some((side(w)?, side(h)?)))
            }
            _ => Ok(None),
        }
    }

    fn length_of(
        &self,
        arg: &Arg,
        text: &str,
        column: usize,
        names: Names,
        range: Range,
    ) -> Result<Length, ArgError> {
        let refuse = |problem| Err(ArgError { column, problem });
        let expression = match Expression::parse(text, names) {
            Ok(expression) => expression,
            Err(wrong) => {
                return refuse(Problem::NotAnExpression {
                    name: arg.name,
                    value: quoted(text),
                    reason: wrong.to_string(),
                });
            }
        };
        if let Some(number) = expression.literal()
            && !(range.holds(number) && number.fract() == 0.0)
        {
            return refuse(Problem::OutOfRange {
                name: arg.name,
                value: quoted(text),
                expected: range.to_string(),
            });
        }
        Ok(Length {
            name: arg.name,
            text: quoted(text),
            expression,
            range,
        })
    }

    /// What `read` makes of the value; it says in a part of a sentence why it is wrong.
    ///
    /// # Errors
    /// It is wrong.
    pub fn parsed<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ArgError> {
        let (arg, text, column) = self.value(name)?;
        read(&text).map_err(|reason| ArgError {
            column,
            problem: Problem::NotAnExpression {
                name: arg.name,
                value: quoted(&text),
                reason,
            },
        })
    }

    /// An argument whose default is `none`, by `read`; `None` if that is its value.
    ///
    /// # Errors
    /// It is wrong.
    pub fn maybe<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ArgError> {
        self.parsed(name, |text| match text {
            "none" => Ok(None),
            text => read(text).map(Some),
        })
    }

    /// When the filter is at work, if that is not always.
    ///
    /// # Errors
    /// It is no expression of `names`.
    pub(super) fn enable(&self, names: Names) -> Result<Option<Expression>, ArgError> {
        let Some(span) = self.enable else {
            return Ok(None);
        };
        let text = unquoted(span.text());
        match Expression::parse(&text, names) {
            Ok(expression) => Ok(Some(expression)),
            Err(wrong) => Err(ArgError {
                column: span.column(),
                problem: Problem::NotAnExpression {
                    name: "enable",
                    value: quoted(&text),
                    reason: wrong.to_string(),
                },
            }),
        }
    }

    /// A picture by the name of its file, which is read now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn picture(&self, name: &str) -> Result<Picture, ArgError> {
        let (arg, text, column) = self.value(name)?;
        Picture::read(&Tools::default(), OsStr::new(&*text)).map_err(|error| ArgError {
            column,
            problem: Problem::NoPicture {
                name: arg.name,
                reason: error.to_string(),
            },
        })
    }

    /// A colour.
    ///
    /// # Errors
    /// It is none.
    pub fn colour(&self, name: &str) -> Result<Colour, ArgError> {
        let (arg, text, column) = self.value(name)?;
        Colour::parse(&text).ok_or_else(|| ArgError {
            column,
            problem: Problem::NotAColour {
                name: arg.name,
                value: quoted(&text),
            },
        })
    }

    /// Which of `choices` the value is.
    ///
    /// # Errors
    /// It is none of them.
    pub fn choice(&self, name: &str, choices: &[&str]) -> Result<usize, ArgError> {
        let (arg, text, column) = self.value(name)?;
        choice(arg, &text, column, choices)
    }

    /// The indices in `choices` of values that `separator` joins.
    ///
    /// # Errors
    /// One is none of `choices`.
    pub fn choices(
        &self,
        name: &str,
        separator: char,
        choices: &[&str],
    ) -> Result<Vec<usize>, ArgError> {
        let (arg, text, column) = self.value(name)?;
        let each = text.split(separator);
        let each = each.map(|text| choice(arg, text.trim(), column, choices));
        each.collect()
    }

    /// Every argument that is not excluded, with its value, in the order of the table: `t=0.5:keep=above`.
    pub(super) fn canonical(&self) -> String {
        let mut parts = Vec::new();
        for (arg, given) in self.args.iter().zip(&self.given) {
            let given = given.map(|span| unquoted(span.text()));
            let text = given.or(arg.default.map(Cow::Borrowed));
            if let (Some(text), false) = (text, self.excluded(arg)) {
                // Numbers in their shortest form, so that equal graphs have equal texts.
                let shown = text
                    .parse::<f64>()
                    .map_or_else(|_| requoted(&text).into_owned(), |v| v.to_string());
                parts.push(format!("{}={shown}", arg.name));
            }
        }
        if let Some(span) = self.enable {
            parts.push(format!("enable={}", requoted(&unquoted(span.text()))));
        }
        parts.join(":")
    }
}

/// What `of` makes of the arguments in `text`, as after a filter's `=`.
#[cfg(test)]
pub(crate) fn parsed<T>(
    known: &'static [Arg],
    text: &str,
    of: impl FnOnce(&Args<'_>) -> Result<T, ArgError>,
) -> Result<T, ArgError> {
    of(&Args::new(known, 1, Some(Span::new(text)))?)
}

/// A value for an argument that was given `text`: what a percentage means, or one that differs from the default of 0.
fn example(arg: &Arg, text: &str) -> String {
    let percent = text.strip_suffix('%').and_then(|t| t.parse::<f64>().ok());
    match (percent, arg.default) {
        (Some(percent), _) if percent.is_finite() => (percent / 100.0).to_string(),
        (_, Some("0")) => "0.1".to_owned(),
        (_, Some(default)) => default.to_owned(),
        (_, None) => "1".to_owned(),
    }
}

/// Where `text`, a part of the value of `arg`, is in `choices`.
fn choice(arg: &Arg, text: &str, column: usize, choices: &[&str]) -> Result<usize, ArgError> {
    choices.iter().position(|c| *c == text).ok_or_else(|| {
        let hint = match nearest(text, choices.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("give one of: {}", choices.join(", ")),
        };
        let value = quoted(text);
        ArgError {
            column,
            problem: Problem::NotAChoice {
                name: arg.name,
                value,
                hint,
            },
        }
    })
}

fn too_many(most: usize) -> String {
    match most {
        0 => "takes no argument; leave it out".to_owned(),
        most => format!("one argument too many; at most {most} can be given without a name"),
    }
}
