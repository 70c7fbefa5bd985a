//! Kinds of values that few filters have: sets of planes, colours with alpha, expressions with names of their own.

use super::args::{ArgError, Args, Problem};
use super::colour::Colour;
use super::expression::{Expression, Functions, Names};
use super::text::{nearest, quoted};
use crate::stage::{Component, Plane};

/// Some of the planes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Luma, Cb and Cr.
    yuv: [bool; 3],
    /// Red, green and blue.
    rgb: [bool; 3],
}

impl Chosen {
    /// Whether `plane` is among them.
    ///
    /// # Errors
    /// It is one of red, green and blue, whose order is not known, and not all of these are chosen alike.
    pub fn has(self, plane: &Plane) -> Result<bool, String> {
        let [y, u, v] = self.yuv;
        match plane.component {
            Component::Luma => Ok(y),
            Component::Cb => Ok(u),
            Component::Cr => Ok(v),
            Component::Rgb if self.rgb.iter().all(|&c| c == self.rgb[0]) => Ok(self.rgb[0]),
            Component::Rgb => Err("of red, green and blue choose all or none".to_owned()),
        }
    }
}

impl Args<'_> {
    /// Planes by their letters, joined by `+`: `y+u`.
    ///
    /// # Errors
    /// A letter is none of y, u, v, r, g and b.
    pub fn components(&self, name: &str) -> Result<Chosen, ArgError> {
        const LETTERS: [&str; 6] = ["y", "u", "v", "r", "g", "b"];
        let (arg, text, column) = self.value(name)?;
        let mut chosen = [false; 6];
        for letter in text.split(['+', '|']) {
            let Some(at) = LETTERS.iter().position(|l| *l == letter) else {
                let problem = Problem::NotAChoice {
                    name: arg.name,
                    value: quoted(&text),
                    hint: "join some of y, u, v by `+`".to_owned(),
                };
                return Err(ArgError { column, problem });
            };
            chosen[at] = true;
        }
        let [y, u, v, r, g, b] = chosen;
        Ok(Chosen {
            yuv: [y, u, v],
            rgb: [r, g, b],
        })
    }

    /// Planes as a sum of 1 for the first, 2 for the second, 4 for the third and 8 for alpha.
    ///
    /// # Errors
    /// It is no whole number from 0 to 15.
    pub fn planes(&self, name: &str) -> Result<Chosen, ArgError> {
        let bits = self.integer(name, 0..=15)?;
        let chosen = [1, 2, 4].map(|bit| bits & bit != 0);
        Ok(Chosen {
            yuv: chosen,
            rgb: chosen,
        })
    }

    /// A colour and its opacity: `red@0.5`, `#RRGGBBAA`.
    ///
    /// # Errors
    /// It is none.
    pub fn translucent(&self, name: &str) -> Result<(Colour, f32), ArgError> {
        let (arg, text, column) = self.value(name)?;
        Colour::with_opacity(&text).ok_or_else(|| ArgError {
            column,
            problem: Problem::NotAColour {
                name: arg.name,
                value: quoted(&text),
            },
        })
    }

    /// An expression of `names`, with functions of its own.
    ///
    /// # Errors
    /// It is none.
    pub fn expression(
        &self,
        name: &str,
        names: Names,
        own: Functions,
    ) -> Result<Expression, ArgError> {
        let (arg, text, column) = self.value(name)?;
        Expression::with_functions(&text, names, own).map_err(|wrong| ArgError {
            column,
            problem: Problem::NotAnExpression {
                name: arg.name,
                value: quoted(&text),
                reason: wrong.to_string(),
            },
        })
    }

    /// Which of the groups of equal `choices` the value is one of.
    ///
    /// # Errors
    /// It is none of them.
    pub fn choice_of(&self, name: &str, choices: &[&[&str]]) -> Result<usize, ArgError> {
        let (arg, text, column) = self.value(name)?;
        let found = choices.iter().position(|group| group.contains(&&*text));
        found.ok_or_else(|| {
            let names = || choices.iter().filter_map(|group| group.first().copied());
            let hint = match nearest(&text, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("give one of: {}", names().collect::<Vec<_>>().join(", ")),
            };
            ArgError {
                column,
                problem: Problem::NotAChoice {
                    name: arg.name,
                    value: quoted(&text),
                    hint,
                },
            }
        })
    }
}
