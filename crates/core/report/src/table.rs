//! Tables of results, as text for a terminal and as markup for the report.

use std::fmt;
use std::fmt::Write;

use crate::markup::escape;

/// Width of an explanation on a terminal.
const COLUMNS: usize = 100;

/// A heading, what the figures mean, and rows of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What was measured.
    pub title: &'static str,
    /// What the figures mean, in a sentence or two.
    pub about: String,
    /// Names of the columns.
    pub head: Vec<&'static str>,
    /// Rows of one cell per column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The rows as markup, without title and explanation.
    pub fn html(&self) -> String {
        let mut html = String::from("<table><tr>");
        for name in &self.head {
            let _ = write!(html, "<th class=text>{}", escape(name));
        }
        for row in &self.rows {
            html.push_str("<tr>");
            for cell in row {
                let _ = write!(html, "<td class=text>{}", escape(cell));
            }
        }
        html.push_str("</table>");
        html
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head.iter().map(|name| (*name).to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(head)
            .chain(self.rows.iter().cloned())
            .collect();
        writeln!(f, "{}", self.title)?;
        for line in wrapped(&self.about) {
            writeln!(f, "{line}")?;
        }
        f.write_str(&aligned(&rows))
    }
}

/// Tables one below the other.
pub fn text(tables: &[Table]) -> String {
    let texts: Vec<String> = tables.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

/// The words of a text in lines of at most [`COLUMNS`] characters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Rows of cells, in columns as wide as their widest cell.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |c: usize| {
        rows.iter()
            .map(|row| row[c].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            title: "Speed",
            about: "Frames a second.".into(),
            head: vec!["plan", "fps"],
            rows: vec![
                vec!["tiled".into(), "412".into()],
                vec!["<b>".into(), "9".into()],
            ],
        }
    }

    #[test]
    fn columns_stand_under_their_names() {
        let text = table().to_string();
        assert_eq!(
            text,
            "Speed\nFrames a second.\nplan   fps\ntiled  412\n<b>    9\n"
        );
    }

    #[test]
    fn explanations_are_wrapped() {
        let word = "x".repeat(49);
        let lines = wrapped(&format!("{word} {word}  {word}"));
        assert_eq!(lines, [format!("{word} {word}"), word]);
    }

    #[test]
    fn cells_are_no_markup() {
        let html = table().html();
        assert!(
            html.contains("<td class=text>&lt;b&gt;<td class=text>9"),
            "{html}"
        );
    }
}
