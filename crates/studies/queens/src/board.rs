//! Listing solutions, and boards as text and pictures.

#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use evener_files::one_line;

use crate::error::{Error, checked};
use crate::inner::{Row, State};

/// A solution: the column of the queen of each row.
pub type Solution = Vec<u8>;

/// The solutions of a board in lexicographic order. The first comes at once up to `n` = 20, within seconds up to 27;
/// even boards are slower than odd ones.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn solutions(n: u32) -> Result<Solutions, Error> {
    let n = checked(n)?;
    let row = Row {
        row: 0,
        shift: 1,
        blocked: u32::MAX.checked_shl(n).unwrap_or(0),
    };
    let first = Level {
        state: State::default(),
        untried: State::default().free(row),
    };
    Ok(Solutions {
        n: n as usize,
        row,
        levels: vec![first],
        columns: Vec::new(),
    })
}

/// Iterator of [`solutions`].
#[derive(Clone, Debug)]
pub struct Solutions {
    n: usize,
    row: Row,
    /// One level more than placed queens, until the search is over.
    levels: Vec<Level>,
    columns: Solution,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    state: State,
    untried: u32,
}

impl Iterator for Solutions {
    type Item = Solution;

    fn next(&mut self) -> Option<Solution> {
        while let Some(level) = self.levels.last_mut() {
            let bit = level.untried & level.untried.wrapping_neg();
            let whole = self.columns.len() == self.n;
            if whole || bit == 0 {
                let solution = whole.then(|| self.columns.clone());
                self.levels.pop();
                self.columns.pop();
                if whole {
                    return solution;
                }
                continue;
            }
            level.untried ^= bit;
            let state = level.state.placed(bit, self.row.shift);
            self.columns.push(bit.trailing_zeros() as u8);
            let untried = state.free(self.row);
            self.levels.push(Level { state, untried });
        }
        None
    }
}

/// A board as lines of text, `♛` for a queen and `·` for an empty square, each line ended.
pub fn text(solution: &[u8]) -> String {
    let squares = 0..solution.len();
    let line = |&queen: &u8| {
        let signs = squares.clone().map(|column| {
            if column == usize::from(queen) {
                "♛"
            } else {
                "·"
            }
        });
        signs.collect::<Vec<_>>().join(" ") + "\n"
    };
    solution.iter().map(line).collect()
}

/// Length of a square's side in a picture.
const SIDE: usize = 32;
/// Space around the board, in which the columns and rows are named.
const EDGE: usize = 24;

/// A queen in a square: a crown of five points over a band.
const QUEEN: &str =
    "M6 24.5 4 11l5.5 6L10.5 7l4 9L16 5.5l1.5 10.5 4-9L22.5 17 28 11l-2 13.5zM6.5 25.5h19V28h-19z";

/// The name of a picture says that it is something else than SVG.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: pictures are SVG; use a name that ends in .svg")]
pub struct NotSvg(String);

/// Refuses a name for a picture that has another extension than `svg`.
///
/// # Errors
/// [`NotSvg`]
pub fn check_picture(name: &OsStr) -> Result<(), NotSvg> {
    match Path::new(name).extension() {
        Some(extension) if !extension.eq_ignore_ascii_case("svg") => {
            Err(NotSvg(one_line(&name.to_string_lossy())))
        }
        _ => Ok(()),
    }
}

/// A board as a picture of its own: an SVG document.
pub fn svg(solution: &[u8]) -> String {
    let n = solution.len();
    let side = n * SIDE + 2 * EDGE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" width=\"{side}\" height=\"{side}\" \
         role=\"img\">\n<title>{n} queens</title>\n\
         <defs><path id=\"queen\" d=\"{QUEEN}\" fill=\"#2b2622\" stroke=\"#fff\" stroke-opacity=\".6\" \
         stroke-linejoin=\"round\" stroke-width=\".8\"/></defs>\n\
         <rect width=\"{side}\" height=\"{side}\" rx=\"8\" fill=\"#5d4a3a\"/>\n\
         <g transform=\"translate({EDGE} {EDGE})\">\n\
         <rect width=\"{0}\" height=\"{0}\" fill=\"#f1dfc1\"/>\n",
        n * SIDE,
    );
    // The dark squares are one path.
    let mut dark = String::new();
    for row in 0..n {
        for column in (0..n).filter(|column| (row + column) % 2 == 1) {
            write!(
                dark,
                "M{} {}h{SIDE}v{SIDE}h-{SIDE}z",
                column * SIDE,
                row * SIDE
            )
            .expect("strings grow");
        }
    }
    writeln!(out, "<path d=\"{dark}\" fill=\"#b98f64\"/>").expect("strings grow");
    for (row, &column) in solution.iter().enumerate() {
        let x = usize::from(column) * SIDE;
        writeln!(out, "<use href=\"#queen\" x=\"{x}\" y=\"{}\"/>", row * SIDE)
            .expect("strings grow");
    }
    let names = "<g font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\" dominant-baseline=\"central\" \
                 fill=\"#f1dfc1\">\n";
    out.push_str(names);
    let (middle, outside) = (SIDE / 2, EDGE / 2);
    for at in 0..n {
        let (column, row) = (column_name(at), n - at);
        let along = at * SIDE + middle;
        writeln!(
            out,
            "<text x=\"{along}\" y=\"{}\">{column}</text>\n<text x=\"-{outside}\" y=\"{along}\">{row}</text>",
            n * SIDE + outside
        )
        .expect("strings grow");
    }
    out + "</g>\n</g>\n</svg>\n"
}

/// As in chess, `a` first; after `z` come `aa`, `ab`, and so on.
fn column_name(column: usize) -> String {
    let letter = char::from(b'a' + (column % 26) as u8);
    match column / 26 {
        0 => letter.to_string(),
        _ => format!("a{letter}"),
    }
}
