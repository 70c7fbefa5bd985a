//! Arithmetic in arguments, as FFmpeg writes it (its manual, "Expression Evaluation"): numbers, names of sizes, constants,
//! `+ - * / ^`, parentheses, and functions.

use std::fmt;

/// Names that an argument may use, each with the index of its value. Several names may have one value.
pub type Names = &'static [(&'static str, usize)];

/// Of a filter's input: the size in luma samples, width / height, the aspect of a sample and of the picture, and the luma
/// samples per chroma sample in both directions.
pub const INPUT: Names = &[
    ("iw", 0),
    ("ih", 1),
    ("a", 2),
    ("sar", 9),
    ("dar", 10),
    ("hsub", 3),
    ("vsub", 4),
    ("in_w", 0),
    ("in_h", 1),
];

/// The same, and the height of the filter's output: value 6.
pub const INPUT_AND_HEIGHT: Names = &[
    ("iw", 0),
    ("ih", 1),
    ("oh", 6),
    ("a", 2),
    ("sar", 9),
    ("dar", 10),
    ("hsub", 3),
    ("vsub", 4),
    ("in_w", 0),
    ("in_h", 1),
    ("out_h", 6),
];

/// The same, and the size of the filter's output: values 5 and 6.
pub const INPUT_AND_OUTPUT: Names = &[
    ("iw", 0),
    ("ih", 1),
    ("ow", 5),
    ("oh", 6),
    ("a", 2),
    ("sar", 9),
    ("dar", 10),
    ("hsub", 3),
    ("vsub", 4),
    ("in_w", 0),
    ("in_h", 1),
    ("out_w", 5),
    ("out_h", 6),
];

/// The same, and the number and the time of a frame: values 7 and 8.
pub const AT_MOMENT: Names = &[
    ("iw", 0),
    ("ih", 1),
    ("ow", 5),
    ("oh", 6),
    ("a", 2),
    ("sar", 9),
    ("dar", 10),
    ("hsub", 3),
    ("vsub", 4),
    ("in_w", 0),
    ("in_h", 1),
    ("out_w", 5),
    ("out_h", 6),
    ("n", 7),
    ("t", 8),
];

/// Parentheses and signs inside each other.
const DEPTH: usize = 32;

/// An expression whose names have no values yet.
#[derive(Clone, Debug)]
pub struct Expression {
    /// In postfix order.
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    Name(usize),
    /// So many operands, of which the last is on top.
    Apply(Function, usize),
    /// The same for a function of the filter.
    Own(fn(&[f64], &[f64]) -> f64, usize),
}

/// Has as many numbers as a table or an operator says.
type Function = fn(&[f64]) -> f64;

/// Functions of a filter: a name, how many operands it takes, and the value for these and the values of all names.
pub type Functions = &'static [(&'static str, usize, fn(&[f64], &[f64]) -> f64)];

const NEGATE: Step = Step::Apply(|v| -v[0], 1);
const POWER: Step = Step::Apply(|v| v[0].powf(v[1]), 2);

/// Operators of one precedence, each after the one that binds less.
type Operators = &'static [(char, Function)];
const SUMS: Operators = &[('+', |v| v[0] + v[1]), ('-', |v| v[0] - v[1])];
const PRODUCTS: Operators = &[('*', |v| v[0] * v[1]), ('/', |v| v[0] / v[1])];

const CONSTANTS: [(&str, f64); 3] = [
    ("PI", std::f64::consts::PI),
    ("E", std::f64::consts::E),
    ("PHI", 1.618_033_988_749_895),
];

fn number(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

fn bits(v: &[f64], of: fn(i64, i64) -> i64) -> f64 {
    of(v[0] as i64, v[1] as i64) as f64
}

/// The functions, with the least and the largest number of arguments.
const FUNCTIONS: &[(&str, (usize, usize), Function)] = &[
    ("trunc", (1, 1), |v| v[0].trunc()),
    ("floor", (1, 1), |v| v[0].floor()),
    ("ceil", (1, 1), |v| v[0].ceil()),
    ("round", (1, 1), |v| v[0].round()),
    ("abs", (1, 1), |v| v[0].abs()),
    ("sgn", (1, 1), |v| number(v[0] > 0.0) - number(v[0] < 0.0)),
    ("sqrt", (1, 1), |v| v[0].sqrt()),
    ("exp", (1, 1), |v| v[0].exp()),
    ("log", (1, 1), |v| v[0].ln()),
    ("sin", (1, 1), |v| v[0].sin()),
    ("cos", (1, 1), |v| v[0].cos()),
    ("tan", (1, 1), |v| v[0].tan()),
    ("asin", (1, 1), |v| v[0].asin()),
    ("acos", (1, 1), |v| v[0].acos()),
    ("atan", (1, 1), |v| v[0].atan()),
    ("sinh", (1, 1), |v| v[0].sinh()),
    ("cosh", (1, 1), |v| v[0].cosh()),
    ("tanh", (1, 1), |v| v[0].tanh()),
    ("not", (1, 1), |v| number(v[0] == 0.0)),
    ("isnan", (1, 1), |v| number(v[0].is_nan())),
    ("isinf", (1, 1), |v| number(v[0].is_infinite())),
    ("min", (2, 2), |v| if v[0] > v[1] { v[1] } else { v[0] }),
    ("max", (2, 2), |v| if v[0] > v[1] { v[0] } else { v[1] }),
    ("mod", (2, 2), |v| v[0] - (v[0] / v[1]).floor() * v[1]),
    ("pow", (2, 2), |v| v[0].powf(v[1])),
    ("hypot", (2, 2), |v| v[0].hypot(v[1])),
    ("atan2", (2, 2), |v| v[0].atan2(v[1])),
    ("eq", (2, 2), |v| number(v[0] == v[1])),
    ("gt", (2, 2), |v| number(v[0] > v[1])),
    ("gte", (2, 2), |v| number(v[0] >= v[1])),
    ("lt", (2, 2), |v| number(v[0] < v[1])),
    ("lte", (2, 2), |v| number(v[0] <= v[1])),
    ("bitand", (2, 2), |v| bits(v, |a, b| a & b)),
    ("bitor", (2, 2), |v| bits(v, |a, b| a | b)),
    ("clip", (3, 3), |v| match v[1] <= v[2] {
        true => v[0].max(v[1]).min(v[2]),
        false => f64::NAN,
    }),
    ("between", (3, 3), |v| number(v[0] >= v[1] && v[0] <= v[2])),
    ("lerp", (3, 3), |v| v[0] + (v[1] - v[0]) * v[2]),
    ("if", (2, 3), |v| match v[0] != 0.0 {
        true => v[1],
        false => v.get(2).copied().unwrap_or(0.0),
    }),
    ("ifnot", (2, 3), |v| match v[0] == 0.0 {
        true => v[1],
        false => v.get(2).copied().unwrap_or(0.0),
    }),
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
        Expression::with_functions(text, names, &[])
    }

    /// Reads an expression that may use `names` and functions of the filter. One of these takes the place of the function
    /// of its name with as many operands.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    pub fn with_functions(text: &str, names: Names, own: Functions) -> Result<Expression, Wrong> {
        let mut parser = Parser {
            rest: text.trim(),
            names,
            own,
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
            _ => None,
        }
    }

    /// The same with a number in place of the name with value `index`.
    #[must_use]
    pub fn with(&self, index: usize, number: f64) -> Expression {
        let steps = self.steps.iter().map(|step| match step {
            Step::Name(name) if *name == index => Step::Number(number),
            step => *step,
        });
        Expression {
            steps: steps.collect(),
        }
    }

    /// Whether it uses the name with value `index`.
    pub fn uses(&self, index: usize) -> bool {
        let is = |step: &Step| matches!(step, Step::Name(name) if *name == index);
        self.steps.iter().any(is)
    }

    /// The value. `values` has one for every name. Division by zero gives what is not finite.
    pub fn value(&self, values: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let v = match *step {
                Step::Number(v) => v,
                Step::Name(i) => values.get(i).copied().unwrap_or(f64::NAN),
                // Postfix order has an operand for every operation.
                Step::Apply(function, count) => {
                    let operands = stack.split_off(stack.len() - count);
                    function(&operands)
                }
                Step::Own(function, count) => {
                    let operands = stack.split_off(stack.len() - count);
                    function(&operands, values)
                }
            };
            stack.push(v);
        }
        stack.pop().unwrap_or(f64::NAN)
    }
}

struct Parser<'a> {
    rest: &'a str,
    names: Names,
    own: Functions,
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
        self.operators(SUMS, |parser| {
            parser.operators(PRODUCTS, |parser| parser.power(depth))
        })
    }

    fn operators(
        &mut self,
        operators: Operators,
        operand: impl Fn(&mut Self) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        operand(self)?;
        while let Some((_, function)) = operators.iter().find(|(c, _)| self.take(&[*c]).is_some()) {
            operand(self)?;
            self.steps.push(Step::Apply(*function, 2));
        }
        Ok(())
    }

    /// Operands with signs, of which the first sign counts for all of it: -2^2 is -4.
    fn power(&mut self, depth: usize) -> Result<(), Wrong> {
        let sign = self.take(&['+', '-']);
        let first = self.steps.len();
        self.operand(depth)?;
        while self.take(&['^']).is_some() {
            let sign = self.take(&['+', '-']);
            let second = self.steps.len();
            self.operand(depth)?;
            self.negate(sign, second);
            self.steps.push(POWER);
        }
        self.negate(sign, first);
        Ok(())
    }

    /// Negates what the steps from `first` on compute.
    fn negate(&mut self, sign: Option<char>, first: usize) {
        if sign == Some('-') {
            match &mut self.steps[first..] {
                [Step::Number(v)] => *v = -*v,
                _ => self.steps.push(NEGATE),
            }
        }
    }

    fn operand(&mut self, depth: usize) -> Result<(), Wrong> {
        if self.rest.starts_with('(') {
            return match self.arguments(depth)? {
                1 => Ok(()),
                _ => Err(Wrong("a function is missing before `(`".to_owned())),
            };
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
        if self.function(word, depth)? {
            return Ok(());
        }
        let name = self.names.iter().find(|(name, _)| *name == word);
        let constant = CONSTANTS.iter().find(|(name, _)| *name == word);
        self.steps.push(match (name, constant) {
            (Some(&(_, index)), _) => Step::Name(index),
            (None, Some(&(_, value))) => Step::Number(value),
            (None, None) => return Err(self.unknown(word)),
        });
        Ok(())
    }

    /// The operands of the function `word`; nothing if there is none of that name.
    fn function(&mut self, word: &str, depth: usize) -> Result<bool, Wrong> {
        let own: Vec<_> = (self.own.iter().filter(|own| own.0 == word)).collect();
        let known = FUNCTIONS.iter().find(|known| known.0 == word);
        let Some(counts) = known.map(|k| k.1).or(own.first().map(|o| (o.1, o.1))) else {
            return Ok(false);
        };
        let count = self.arguments(depth)?;
        let own = own.iter().find(|own| own.1 == count);
        let known = known.filter(|_| (counts.0..=counts.1).contains(&count));
        self.steps.push(match (own, known) {
            (Some((_, _, function)), _) => Step::Own(*function, count),
            (None, Some((_, _, function))) => Step::Apply(*function, count),
            (None, None) => {
                let wanted = match counts {
                    (1, 1) => "1 value".to_owned(),
                    (least, most) if least == most => format!("{most} values"),
                    (least, most) => format!("{least} or {most} values"),
                };
                return Err(Wrong(format!("`{word}` takes {wanted}, not {count}")));
            }
        });
        Ok(true)
    }

    /// Expressions in parentheses, and how many there are.
    fn arguments(&mut self, depth: usize) -> Result<usize, Wrong> {
        if depth == DEPTH {
            return Err(Wrong(format!("it has more than {DEPTH} levels")));
        }
        if self.take(&['(']).is_none() {
            return Err(Wrong("a `(` is missing after a function".to_owned()));
        }
        let mut count = 1;
        self.sum(depth + 1)?;
        while self.take(&[',']).is_some() {
            self.sum(depth + 1)?;
            count += 1;
        }
        match self.take(&[')']) {
            Some(_) => Ok(count),
            // A comma that is not quoted ends the filter.
            None => Err(Wrong(
                "a `)` is missing; a value with commas needs quotes: '…'".to_owned(),
            )),
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
        let constants = CONSTANTS.iter().map(|(name, _)| *name);
        let names: Vec<_> = names.chain(constants).collect();
        Wrong(format!(
            "there is no `{word}`; there are: {}",
            names.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 11] = [
        352.0,
        288.0,
        352.0 / 288.0,
        2.0,
        2.0,
        100.0,
        50.0,
        0.0,
        0.0,
        1.5,
        2.0,
    ];

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
            ("min(1280,iw)", 352.0),
            ("max(iw, ih) / 2", 176.0),
            ("trunc(oh*a/2)*2", 60.0),
            ("if(gt(a,16/9),100,-2)", -2.0),
            ("if(lt(iw,100),1)", 0.0),
            ("ifnot(0,3,4)", 3.0),
            ("-2^2", -4.0),
            ("2^-1", 0.5),
            ("2^3^2", 64.0),
            ("mod(-7,3)+mod(7,3)", 3.0),
            ("iw-mod(iw,100)", 300.0),
            ("clip(iw,16,64)+between(ih,1,288)", 65.0),
            ("sqrt(16)+pow(2,3)+abs(-1)+sgn(-5)", 12.0),
            ("round(sin(PI/2)*cos(0)*100)", 100.0),
            ("bitand(iw,240)+hsub", 98.0),
            ("gte(1,1)+lte(2,1)+eq(3,3)+not(0)", 3.0),
            ("iw*sar+dar", 530.0),
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
    fn a_filter_may_have_functions_of_its_own() {
        const OWN: Functions = &[
            ("clip", 1, |v, values| v[0].min(values[0])),
            ("twice", 1, |v, _| 2.0 * v[0]),
        ];
        let value = |text| {
            let expression = Expression::with_functions(text, &[("most", 0)], OWN).unwrap();
            expression.value(&[5.0])
        };
        assert_eq!(value("clip(7)+clip(9,1,3)+twice(most)"), 18.0);
        let wrong = |text| Expression::with_functions(text, &[], OWN).unwrap_err();
        assert!(wrong("twice(1,2)").to_string().contains("1 value"));
        assert!(wrong("clip(1,2)").to_string().contains("3 values"));
        assert!(Expression::parse("twice(1)", &[]).is_err());
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
            ("min(1)", "`min` takes 2 values, not 1"),
            ("if(1,2,3,4)", "`if` takes 2 or 3 values, not 4"),
            ("(1,2)", "a function is missing"),
            ("min(1,)", "`)` stands"),
            ("n", "no `n`; there are: iw, ih, a"),
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
