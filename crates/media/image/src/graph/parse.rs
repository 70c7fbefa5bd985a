//! Parsing the text of a graph: filters separated by commas, each with its arguments, as for FFmpeg.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::args::Args;
use super::error::GraphError;
use super::text::{Span, find, nearest, open_quote, quoted};
use crate::filters::{self, Entry, Filter, ffmpeg};
use crate::format::{Ratio, Timing};

/// The most filters a graph may have.
pub const MAX_FILTERS: usize = 64;

/// A chain of filters with their arguments, not yet bound to a format.
///
/// Parse the graph first. It becomes bound to a format when it is run: by a [`Session`](crate::session::Session), by
/// `Runtime::stream(reader).through(graph)`, or by an [`OpenGraph`](crate::open::OpenGraph). `Display` prints the
/// text with every argument named; parsing this text returns the same graph.
///
/// ```
/// use evener_image::graph::{Graph, Planes};
/// use evener_image::session::{Audio, Options, Session};
/// use evener_runtime::Runtime;
///
/// let graph = Graph::parse("blur, threshold=0.25")?;
/// assert_eq!(graph.to_string(), "blur,threshold=t=0.25:keep=above");
///
/// let session = Session::open(&graph, Planes::Auto, "testsrc:64x48:3", "null:", Audio::Omitted)?;
/// let report = session.run(&Runtime::new()?, Options::default())?;
/// assert_eq!(report.units, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Graph {
    pub(super) filters: Vec<Call>,
}

/// A filter of a graph, with its arguments.
#[derive(Clone)]
pub(super) struct Call {
    pub entry: &'static Entry,
    /// The name of the filter that was given, which may be another one of its names.
    pub name: &'static str,
    pub column: usize,
    pub filter: Arc<dyn Filter>,
    /// All arguments as text.
    args: String,
}

impl Graph {
    /// Reads a chain of filters: `blur,threshold=0.25:keep=below`.
    ///
    /// Commas separate filters. Arguments follow an equals sign and are separated by colons: first those without a
    /// name, in the order of the table, then those as `name=value`. White space around each part is ignored. Text
    /// between quotes `'` and a character behind a backslash stand for themselves.
    ///
    /// # Errors
    /// Unknown names; labels, as FFmpeg has them for branches; arguments that are missing, too many or refused by their
    /// filter; no filter, or more than [`MAX_FILTERS`].
    pub fn parse(text: &str) -> Result<Graph, GraphError> {
        if text.trim().is_empty() {
            return Err(GraphError::Empty);
        }
        let (mut filters, all) = (Vec::new(), Span::new(text));
        if let Some(at) = open_quote(text) {
            let column = all.behind(at).column();
            return Err(GraphError::OpenQuote { column });
        }
        if let Some(at) = find(text, ';') {
            return Err(branches(all.behind(at)));
        }
        for part in all.split(',') {
            if filters.len() == MAX_FILTERS {
                return Err(GraphError::TooLong { limit: MAX_FILTERS });
            }
            filters.push(Call::parse(part)?);
        }
        Ok(Graph { filters })
    }

    /// The timing of results: if rows become columns, the aspect of a sample is inverted.
    pub fn timing(&self, timing: &Timing) -> Timing {
        let turns = self
            .filters
            .iter()
            .filter(|call| call.filter.turns())
            .count();
        let aspect = timing.aspect.map(|Ratio { num, den }| match turns % 2 {
            0 => Ratio { num, den },
            _ => Ratio { num: den, den: num },
        });
        Timing { aspect, ..*timing }
    }

    /// Names of the filters, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.filters.iter().map(|call| call.entry.name)
    }
}

impl Call {
    fn parse(part: Span<'_>) -> Result<Call, GraphError> {
        let (name, list) = match part.cut('=') {
            Some((name, list)) => (name.trim(), Some(list)),
            None => (part, None),
        };
        let column = part.column();
        if name.text().is_empty() {
            return Err(GraphError::NoFilter { column });
        }
        if let Some(at) = label(name, part) {
            return Err(branches(at));
        }
        let (entry, name) = entry(name.text()).ok_or_else(|| unknown(name))?;
        let refuse = |error| GraphError::Argument {
            filter: name,
            error,
        };
        let args = Args::new(entry.args, column, list).map_err(refuse)?;
        let filter = (entry.build)(&args).map_err(refuse)?;
        Ok(Call {
            entry,
            name,
            column,
            filter: filter.into(),
            args: args.canonical(),
        })
    }
}

/// The entry of a name, and the name.
fn entry(name: &str) -> Option<(&'static Entry, &'static str)> {
    filters::all().find_map(|entry| {
        let mut names = [entry.name]
            .into_iter()
            .chain(entry.aliases.iter().copied());
        names.find(|n| *n == name).map(|name| (entry, name))
    })
}

/// A label before or behind a filter, `part`, whose name is `name`.
fn label<'a>(name: Span<'a>, part: Span<'a>) -> Option<Span<'a>> {
    if let Some(at) = find(name.text(), '[') {
        return Some(name.behind(at));
    }
    let behind = part.text().ends_with(']').then(|| part.text().rfind('['));
    behind.flatten().map(|at| part.behind(at))
}

fn branches(at: Span<'_>) -> GraphError {
    GraphError::Branches {
        column: at.column(),
        found: at.text().chars().next().unwrap_or(';'),
    }
}

fn unknown(name: Span<'_>) -> GraphError {
    let names =
        || filters::all().flat_map(|e| [e.name].into_iter().chain(e.aliases.iter().copied()));
    let words: Vec<&str> = name.text().split_whitespace().collect();
    let several = words.len() > 1 && words.iter().all(|word| entry(word).is_some());
    let elsewhere = ffmpeg::ELSEWHERE.iter().find(|(n, _)| *n == name.text());
    let hint = match (elsewhere, nearest(name.text(), names())) {
        _ if several => format!("join filters with a comma: `{}`", words.join(",")),
        (Some((_, advice)), _) => (*advice).to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => format!("there are: {}", names().collect::<Vec<_>>().join(", ")),
    };
    GraphError::UnknownFilter {
        name: quoted(name.text()),
        column: name.column(),
        hint,
    }
}

impl FromStr for Graph {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        Graph::parse(text)
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, call) in self.filters.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let equals = if call.args.is_empty() { "" } else { "=" };
            write!(f, "{comma}{}{equals}{}", call.entry.name, call.args)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({self})")
    }
}
