//! Parts of a graph's text with their positions, quotes in it, and names and values as errors quote them.
//!
//! As for FFmpeg, text between quotes `'` and a character behind a backslash stand for themselves.

use std::borrow::Cow;

/// A part of a graph's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    graph: &'a str,
    from: usize,
    to: usize,
}

impl<'a> Span<'a> {
    /// All of it.
    pub fn new(graph: &'a str) -> Self {
        Span {
            graph,
            from: 0,
            to: graph.len(),
        }
    }

    pub fn text(self) -> &'a str {
        &self.graph[self.from..self.to]
    }

    /// The column of its first character, counted from 1.
    pub fn column(self) -> usize {
        self.graph[..self.from].chars().count() + 1
    }

    /// Without white space around it.
    pub fn trim(self) -> Self {
        let from = self.to - self.text().trim_start().len();
        let to = from + self.graph[from..self.to].trim_end().len();
        Span { from, to, ..self }
    }

    /// The part from `at` bytes on.
    pub fn behind(self, at: usize) -> Self {
        let from = self.from + at;
        Span { from, ..self }
    }

    /// The part before `at` bytes.
    pub fn until(self, at: usize) -> Self {
        let to = self.from + at;
        Span { to, ..self }
    }

    /// The parts before and after the first `separator` that is not quoted.
    pub fn cut(self, separator: char) -> Option<(Self, Self)> {
        let at = self.from + find(self.text(), separator)?;
        Some((
            Span { to: at, ..self },
            Span {
                from: at + separator.len_utf8(),
                ..self
            },
        ))
    }

    /// Without a separator at its end.
    pub fn without_end(self, separator: char) -> Self {
        match self.cut_last(separator) {
            Some((before, after)) if after.trim().text().is_empty() => before,
            _ => self,
        }
    }

    /// The parts before and after the last `separator` that is not quoted.
    fn cut_last(self, separator: char) -> Option<(Self, Self)> {
        let (mut before, mut after) = self.cut(separator)?;
        while let Some((between, rest)) = after.cut(separator) {
            before = Span {
                to: between.to,
                ..self
            };
            after = rest;
        }
        Some((before, after))
    }

    /// What is quoted, if that is all of it, and nothing in it is escaped.
    pub fn quoted(self) -> Option<Self> {
        let inner = self.text().strip_prefix('\'')?.strip_suffix('\'')?;
        (!inner.contains('\'')).then_some(Span {
            from: self.from + 1,
            to: self.to - 1,
            ..self
        })
    }

    /// The parts between separators that are not quoted, each without white space around it.
    pub fn split(self, separator: char) -> impl Iterator<Item = Span<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let all = rest?;
            let (part, after) = match all.cut(separator) {
                Some((part, after)) => (part, Some(after)),
                None => (all, None),
            };
            rest = after;
            Some(part.trim())
        })
    }
}

/// What a character is in a text with quotes and backslashes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// It stands for itself.
    Quoted,
    /// A quote or a backslash, which stands for nothing.
    Mark,
}

fn characters(text: &str) -> impl Iterator<Item = (usize, char, Kind)> {
    let (mut quoted, mut escaped) = (false, false);
    text.char_indices().map(move |(at, c)| {
        let next = text[at + c.len_utf8()..].chars().next();
        let kind = match c {
            _ if escaped => Kind::Quoted,
            // As FFmpeg reads a value once more, without the quotes.
            '\\' if quoted && matches!(next, Some(',' | ':')) => Kind::Mark,
            '\'' => Kind::Mark,
            '\\' if !quoted => Kind::Mark,
            _ if quoted => Kind::Quoted,
            _ => Kind::Plain,
        };
        quoted ^= kind == Kind::Mark && c == '\'';
        escaped = kind == Kind::Mark && c == '\\';
        (at, c, kind)
    })
}

/// Where a character stands first that is not quoted.
pub(super) fn find(text: &str, wanted: char) -> Option<usize> {
    let mut all = characters(text);
    all.find(|&(_, c, kind)| kind == Kind::Plain && c == wanted)
        .map(|(at, ..)| at)
}

/// Where a quote begins that does not end.
pub(super) fn open_quote(text: &str) -> Option<usize> {
    let quotes = characters(text).filter(|&(_, c, kind)| kind == Kind::Mark && c == '\'');
    quotes.fold(None, |open: Option<usize>, (at, ..)| open.xor(Some(at)))
}

/// The text that is meant: without quotes and backslashes.
pub(super) fn unquoted(text: &str) -> Cow<'_, str> {
    if !text.contains(['\'', '\\']) {
        return Cow::Borrowed(text);
    }
    let meant = characters(text).filter(|&(.., kind)| kind != Kind::Mark);
    meant.map(|(_, c, _)| c).collect()
}

/// A text that stands for `meant` in a graph.
pub(super) fn requoted(meant: &str) -> Cow<'_, str> {
    let special = meant.contains([',', ':', ';', '=', '[', ']', '\'', '\\']);
    if !special && meant.trim() == meant {
        return Cow::Borrowed(meant);
    }
    Cow::Owned(format!("'{}'", meant.replace('\'', "'\\''")))
}

/// Text as an error quotes it: on one line and not too long.
pub(super) fn quoted(text: &str) -> String {
    const MOST: usize = 32;
    let plain = |c: char| {
        if c.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    let mut short: String = text.chars().take(MOST).map(plain).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

/// The name that a user most likely meant by `given`: at most two typing errors away, and fewer than it has characters.
pub(super) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // No known name is that long, and the distance takes quadratic time.
    let given: String = given
        .chars()
        .take(32)
        .flat_map(char::to_lowercase)
        .collect();
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&given, name), name))
        // Two slips in a short name make another one.
        .filter(|&(slips, name)| slips <= 2 && slips < name.len().div_ceil(2))
        .min_by_key(|&(slips, _)| slips)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_know_their_columns() {
        let all = Span::new(" é=1 ,  b ");
        let parts: Vec<_> = all.split(',').map(|s| (s.text(), s.column())).collect();
        assert_eq!(parts, [("é=1", 2), ("b", 9)]);
        let (name, value) = all.split(',').next().and_then(|s| s.cut('=')).unwrap();
        assert_eq!((name.text(), name.column()), ("é", 2));
        assert_eq!((value.text(), value.column()), ("1", 4));
        assert!(all.cut(':').is_none());
        let blank = Span::new("a,  ").split(',').nth(1).unwrap();
        assert_eq!((blank.text(), blank.column()), ("", 5));
    }

    #[test]
    fn quoted_text_is_not_cut_and_stands_for_itself() {
        let all = Span::new(r"a='b,c:d',e\,f=g,h");
        let parts: Vec<_> = all.split(',').map(Span::text).collect();
        assert_eq!(parts, ["a='b,c:d'", r"e\,f=g", "h"]);
        for (text, meant) in [
            ("plain", "plain"),
            ("'b,c:d'", "b,c:d"),
            (r"e\,f", "e,f"),
            (r"a'b\c'd", r"ab\cd"),
            (r"'it'\''s'", "it's"),
            (r"\\", r"\"),
            ("\\", ""),
        ] {
            assert_eq!(unquoted(text), meant, "{text}");
            assert_eq!(unquoted(&requoted(meant)), meant, "{text}");
            assert_eq!(find(&requoted(meant), ','), None, "{text}");
            assert_eq!(open_quote(text), None, "{text}");
        }
        assert_eq!(open_quote("a='b"), Some(2));
        assert_eq!(open_quote(r"a=\'b"), None);
        assert_eq!(open_quote(r"'b\'"), None);
    }

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quoted("a\nb"), "a\u{fffd}b");
        assert_eq!(quoted(&"x".repeat(40)), format!("{}…", "x".repeat(32)));
        assert_eq!(quoted(&"x".repeat(32)), "x".repeat(32));
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["blur", "sobel", "t"];
        assert_eq!(nearest("blurr", names), Some("blur"));
        assert_eq!(nearest("sboel", names), Some("sobel"));
        assert_eq!(nearest("SOBEL", names), Some("sobel"));
        assert_eq!(nearest("rotate", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest(&"b".repeat(1 << 20), names), None);
    }
}
