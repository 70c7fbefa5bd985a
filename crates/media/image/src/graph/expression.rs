//! Arithmetic in arguments, as FFmpeg writes it: numbers, names of sizes, `PI`, `+ - * /`, parentheses, and `trunc`,
//! `floor`, `ceil`, `round`.

use std::fmt;

/// Names that an argument may use, each with the index of its value. Several names may have one value.
pub type Names = &'static [(&'static str, usize)];

/// The size of a filter's input in luma samples: values 0 and 1.
pub const INPUT: Names = &[("iw", 0), ("ih", 1), ("in_w", 0), ("in_h", 1)];

/// The same, and the size of the filter's output: values 2 and 3.
pub const INPUT_AND_OUTPUT: Names = &[
    ("iw", 0),
    ("ih", 1),
    ("ow", 2),
    ("oh", 3),
    ("in_w", 0),
    ("in_h", 1),
    ("out_w", 2),
    ("out_h", 3),
];

/// Parentheses and signs inside each other.
const DEPTH: usize = 32;

/// An expression whose names have no values yet.
#[derive(Clone, Debug)]
pub struct Expression {
    /// In postfix order.
    steps: Vec<Step>,
}

type Function = fn(f64) -> f64;

#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    Name(usize),
    Negate,
    Call(Function),
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Functions of one number.
const FUNCTIONS: [(&str, Function); 4] = [
    ("trunc", f64::trunc),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("round", f64::round),
];

/// Why a text is no expression, as a part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Expression {
    /// Reads an expression that may use `names`.
    ///
    /// # Errors
    /// It is none, or uses another name.
    pub fn parse(text: &str, names: Names) -> Result<Expression, Wrong> {
        let mut parser = Parser {
            rest: text.trim(),
            names,
            steps: Vec::new(),
        };
        parser.sum(0)?;
        match parser.rest.chars().next() {
            None => Ok(Expression {
                steps: parser.steps,
            }),
            Some(c) => Err(Wrong(format!("`{}` cannot stand there", c.escape_debug()))),
        }
    }

    /// The number, if the expression is no more than that.
    pub fn literal(&self) -> Option<f64> {
        match self.steps[..] {
            [Step::Number(v)] => Some(v),
            [Step::Number(v), Step::Negate] => Some(-v),
            _ => None,
        }
    }

    /// The value. `values` has one for every name. Division by zero gives what is not finite.
    pub fn value(&self, values: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let v = match *step {
                Step::Number(v) => v,
                Step::Name(i) => values.get(i).copied().unwrap_or(f64::NAN),
                Step::Negate => -pop(&mut stack),
                Step::Call(f) => f(pop(&mut stack)),
                Step::Add | Step::Subtract | Step::Multiply | Step::Divide => {
                    let (b, a) = (pop(&mut stack), pop(&mut stack));
                    match *step {
                        Step::Add => a + b,
                        Step::Subtract => a - b,
                        Step::Multiply => a * b,
                        _ => a / b,
                    }
                }
            };
            stack.push(v);
        }
        pop(&mut stack)
    }
}

/// Postfix order has an operand for every operation.
fn pop(stack: &mut Vec<f64>) -> f64 {
    stack.pop().unwrap_or(f64::NAN)
}

struct Parser<'a> {
    rest: &'a str,
    names: Names,
    steps: Vec<Step>,
}

impl<'a> Parser<'a> {
    /// Takes one of `symbols`, if it is next.
    fn take(&mut self, symbols: &[char]) -> Option<char> {
        let c = self.rest.chars().next().filter(|c| symbols.contains(c))?;
        self.rest = self.rest[c.len_utf8()..].trim_start();
        Some(c)
    }

    fn sum(&mut self, depth: usize) -> Result<(), Wrong> {
        self.product(depth)?;
        while let Some(c) = self.take(&['+', '-']) {
            self.product(depth)?;
            self.steps.push(match c {
                '+' => Step::Add,
                _ => Step::Subtract,
            });
        }
        Ok(())
    }

    fn product(&mut self, depth: usize) -> Result<(), Wrong> {
        self.signed(depth)?;
        while let Some(c) = self.take(&['*', '/']) {
            self.signed(depth)?;
            self.steps.push(match c {
                '*' => Step::Multiply,
                _ => Step::Divide,
            });
        }
        Ok(())
    }

    fn signed(&mut self, depth: usize) -> Result<(), Wrong> {
        let sign = self.take(&['+', '-']);
        self.operand(depth)?;
        if sign == Some('-') {
            self.steps.push(Step::Negate);
        }
        Ok(())
    }

    fn operand(&mut self, depth: usize) -> Result<(), Wrong> {
        if self.rest.starts_with('(') {
            return self.parentheses(depth);
        }
        let c = self.rest.chars().next();
        let c = c.ok_or_else(|| Wrong("a value is missing at its end".to_owned()))?;
        if c.is_ascii_digit() || c == '.' {
            return self.number();
        }
        let word = self.word();
        if word.is_empty() {
            let found = c.escape_debug();
            return Err(Wrong(format!("`{found}` stands where a value must be")));
        }
        if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) {
            self.parentheses(depth)?;
            self.steps.push(Step::Call(*function));
            return Ok(());
        }
        let known = self.names.iter().find(|(name, _)| *name == word);
        self.steps.push(match (known, word) {
            (Some(&(_, index)), _) => Step::Name(index),
            (None, "PI") => Step::Number(std::f64::consts::PI),
            (None, _) => return Err(self.unknown(word)),
        });
        Ok(())
    }

    fn parentheses(&mut self, depth: usize) -> Result<(), Wrong> {
        if depth == DEPTH {
            return Err(Wrong(format!("it has more than {DEPTH} levels")));
        }
        if self.take(&['(']).is_none() {
            return Err(Wrong("a `(` is missing after a function".to_owned()));
        }
        self.sum(depth + 1)?;
        match self.take(&[')']) {
            Some(_) => Ok(()),
            None => Err(Wrong("a `)` is missing".to_owned())),
        }
    }

    fn word(&mut self) -> &'a str {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    /// Digits with a point and an exponent.
    fn number(&mut self) -> Result<(), Wrong> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            let tail = &bytes[from..];
            from + tail.iter().take_while(|b| b.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        let (number, rest) = self.rest.split_at(end);
        let value = number
            .parse()
            .map_err(|_| Wrong(format!("`{number}` is not a number")))?;
        self.rest = rest.trim_start();
        self.steps.push(Step::Number(value));
        Ok(())
    }

    fn unknown(&self, word: &str) -> Wrong {
        let word: String = word.chars().take(16).collect();
        let names = self.names.iter().map(|(name, _)| *name);
        let names: Vec<_> = names.chain(["PI"]).collect();
        Wrong(format!(
            "there is no `{word}`; there are: {}",
            names.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 4] = [352.0, 288.0, 100.0, 50.0];

    #[test]
    fn expressions_have_the_value_that_ffmpeg_gives_them() {
        for (text, value) in [
            ("100", 100.0),
            ("iw/2", 176.0),
            ("(in_w-out_w)/2", 126.0),
            ("(iw - ow) / 2 + 1", 127.0),
            ("ih-16*2", 256.0),
            ("iw/3/2", 352.0 / 3.0 / 2.0),
            ("1-2-3", -4.0),
            ("-iw+2*-3", -358.0),
            ("1e2+.5", 100.5),
            ("trunc(iw/3/2)*2", 116.0),
            ("ceil(0.1)+floor(1.9)+round(2.5)", 5.0),
            ("PI*2", std::f64::consts::TAU),
            ("((iw))", 352.0),
        ] {
            let expression = Expression::parse(text, INPUT_AND_OUTPUT).unwrap();
            assert_eq!(expression.value(&VALUES), value, "{text}");
        }
        let zero = Expression::parse("iw/(ih-288)", INPUT).unwrap();
        assert!(!zero.value(&VALUES).is_finite());
    }

    #[test]
    fn only_a_number_is_literal() {
        let literal = |text| Expression::parse(text, INPUT).unwrap().literal();
        assert_eq!(literal("12"), Some(12.0));
        assert_eq!(literal("-2"), Some(-2.0));
        assert_eq!(literal("12*1"), None);
        assert_eq!(literal("iw"), None);
    }

    #[test]
    fn others_are_refused_and_named() {
        for (text, says) in [
            ("", "missing"),
            ("iw/", "missing"),
            ("iw iw", "`i` cannot stand there"),
            ("(iw", "`)` is missing"),
            ("iw)", "`)` cannot stand there"),
            ("--1", "`-` stands"),
            ("ow", "no `ow`; there are: iw, ih"),
            ("trunc 3", "`(` is missing"),
            ("2x", "`x` cannot"),
            (".", "not a number"),
            ("1..2", "`.` cannot"),
            ("é", "`é` stands"),
        ] {
            let wrong = Expression::parse(text, INPUT).unwrap_err().to_string();
            assert!(wrong.contains(says), "{text}: {wrong}");
        }
        let deep = "(".repeat(100_000);
        assert!(Expression::parse(&deep, INPUT).is_err());
        let long = format!("1{}", "+1".repeat(100_000));
        assert_eq!(
            Expression::parse(&long, INPUT).unwrap().value(&[]),
            100_001.0
        );
    }
}
