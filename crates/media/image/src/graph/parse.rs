//! Parsing the text of a graph: filters separated by commas, each with its arguments, as for FFmpeg.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::args::Args;
use super::bind::video_of;
use super::error::GraphError;
use super::expression::Expression;
use super::rest::Rest;
use super::sound;
use super::text::{Span, nearest, open_quote, quoted, unquoted};
use super::wiring::{Labelled, Link, Wiring};
use crate::filters::foreign::{self, Foreign};
use crate::filters::{self, Entry, Filter, enabled, ffmpeg, overlay};
use crate::format::Video;
use crate::sequence::Moment;

/// The most filters a graph may have.
pub const MAX_FILTERS: usize = 64;

/// Filters with their arguments, a chain or with branches, not yet bound to a format.
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
    pub(crate) filters: Vec<Call>,
    /// What it gives.
    pub(crate) result: Link,
}

/// A graph for files.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What is computed here.
    pub graph: Graph,
    /// The inputs that it reads, after the first.
    pub others: Vec<OsString>,
    /// What the `ffmpeg` that writes the output computes then.
    pub rest: Option<Rest>,
    /// Filters of sound, as for `-af`.
    pub sound: Option<String>,
}

/// A filter of a graph, with its arguments.
#[derive(Clone)]
pub(crate) struct Call {
    pub entry: &'static Entry,
    /// The name of the filter that was given, which may be another one of its names.
    pub name: &'static str,
    pub column: usize,
    pub filter: Arc<dyn Filter>,
    /// What it reads.
    pub inputs: Vec<Link>,
    /// All arguments as text.
    pub(super) args: String,
    /// As it was given.
    pub(super) text: String,
}

impl Graph {
    /// Reads a chain of filters: `blur,threshold=0.25:keep=below`.
    ///
    /// Commas separate filters. Arguments follow an equals sign and are separated by colons: first those without a
    /// name, in the order of the table, then those as `name=value`. White space around each part is ignored. Text
    /// between quotes `'` and a character behind a backslash stand for themselves. Chains are separated by semicolons, and
    /// labels say what goes where: `split[a][b];[b]hflip[c];[a][c]hstack`. `[0:v]` and `[1:v]` are the inputs.
    ///
    /// # Errors
    /// Unknown names; labels that do not fit together; arguments that are missing, too many or refused by their
    /// filter; no filter, or more than [`MAX_FILTERS`].
    pub fn parse(text: &str) -> Result<Graph, GraphError> {
        let graph = Graph::read(text, |_| None)?;
        Ok(graph)
    }

    /// The same for a first input and `others`, where FFmpeg's filters that are not here, and what comes after them, become
    /// a graph for `ffmpeg`.
    ///
    /// # Errors
    /// As [`Graph::parse`]; what is for `ffmpeg` reads several streams; or a picture cannot be read.
    pub fn parse_for(text: &str, others: &[OsString]) -> Result<Parsed, GraphError> {
        let (video, sound) = sound::apart(text);
        let graph = Graph::read(&video, foreign::name)?;
        let (graph, others) = graph.with_files(others)?;
        let (graph, others, rest) = graph.divide(others)?;
        Ok(Parsed {
            graph,
            others,
            rest,
            sound,
        })
    }

    pub(super) fn read(
        text: &str,
        foreign: impl Fn(&str) -> Option<&'static str>,
    ) -> Result<Graph, GraphError> {
        if text.trim().is_empty() {
            return Err(GraphError::Empty);
        }
        let all = Span::new(text);
        if let Some(at) = open_quote(text) {
            let column = all.behind(at).column();
            return Err(GraphError::OpenQuote { column });
        }
        let mut wiring = Wiring::default();
        for chain in all.split(';') {
            let mut previous = Vec::new();
            for part in chain.split(',') {
                if wiring.len() == MAX_FILTERS {
                    return Err(GraphError::TooLong { limit: MAX_FILTERS });
                }
                let labelled = Labelled::parse(part)?;
                labelled.check_video()?;
                let streams = labelled.before.len() + previous.len();
                let known = Call::foreign(&labelled, streams, &foreign);
                let call = match known {
                    Some(call) => call,
                    None => Call::parse(labelled.filter, streams)?,
                };
                wiring.add(call, &labelled, &mut previous)?;
            }
            wiring.end(previous);
        }
        let (filters, result) = wiring.finish()?;
        Ok(Graph { filters, result })
    }

    /// The number of videos that the graph reads.
    pub fn inputs(&self) -> usize {
        let links = self.filters.iter().flat_map(|call| &call.inputs);
        let inputs = links.chain([&self.result]).map(|link| match link {
            Link::Input(number) => number + 1,
            Link::Output { .. } => 1,
        });
        inputs.max().unwrap_or(1)
    }

    /// Whether each filter reads the one before it.
    fn is_chain(&self) -> bool {
        let reads = |(at, call): (usize, &Call)| match at.checked_sub(1) {
            None => call.inputs == [Link::Input(0)],
            Some(call_before) => {
                call.inputs
                    == [Link::Output {
                        call: call_before,
                        pad: 0,
                    }]
            }
        };
        let one = self.filters.iter().all(|call| call.filter.outputs() == 1);
        one && self.filters.iter().enumerate().all(reads)
    }

    /// Whether each frame of the result is made of one frame of the input, in the same way.
    pub(crate) fn is_plain(&self) -> bool {
        self.inputs() == 1
            && self.filters.iter().all(|call| {
                let filter = &call.filter;
                let makes = filter.sequence().is_some_and(|s| !s.only_passes());
                filter.inputs() == 1 && !makes && filter.at(&Moment::default()).is_none()
            })
    }

    /// Whether frames of the result come at its rate.
    pub(crate) fn is_steady(&self) -> bool {
        let sequences = self
            .filters
            .iter()
            .filter_map(|call| call.filter.sequence());
        sequences.fold(true, |steady, sequence| sequence.is_steady_after(steady))
    }

    /// How many frames it gives, where that is known, of how many in each input.
    pub(crate) fn frames(
        &self,
        entering: &[Option<u64>],
        inputs: &[Video],
        videos: &[Video],
    ) -> Option<u64> {
        let mut given: Vec<Option<u64>> = Vec::new();
        let of = |given: &[Option<u64>], link: Link| match link {
            Link::Input(number) => entering.get(number).copied().flatten(),
            Link::Output { call, .. } => given[call],
        };
        for call in &self.filters {
            let read = call.inputs.iter().map(|&link| of(&given, link));
            let read: Option<Vec<u64>> = read.collect();
            let video = |link: &Link| video_of(inputs, videos, *link);
            let frames = read.and_then(|read| match call.filter.sequence() {
                Some(sequence) => {
                    let videos: Vec<Video> = call.inputs.iter().map(video).collect();
                    sequence.frames(&read, &videos)
                }
                None if call.filter.joined().shortest => read.into_iter().min(),
                None if call.filter.joined().led => read.first().copied(),
                None => read.into_iter().max(),
            });
            given.push(frames);
        }
        of(&given, self.result)
    }

    /// Names of the filters, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.filters.iter().map(|call| call.entry.name)
    }
}

impl Call {
    /// A `split` that no text names.
    pub(super) fn split(outputs: usize) -> Call {
        Call {
            entry: &filters::SPLIT,
            name: filters::SPLIT.name,
            column: 1,
            filter: Arc::new(filters::split::Split { outputs }),
            inputs: Vec::new(),
            args: format!("outputs={outputs}"),
            text: format!("split={outputs}"),
        }
    }

    /// A filter for `ffmpeg`, if it is one.
    fn foreign(
        labelled: &Labelled<'_>,
        streams: usize,
        foreign: impl Fn(&str) -> Option<&'static str>,
    ) -> Option<Call> {
        let part = labelled.filter;
        let name = part.cut('=').map_or(part, |(name, _)| name.trim());
        let name = foreign(name.text())?;
        Some(Call {
            entry: &foreign::ENTRY,
            name,
            column: part.column(),
            filter: Arc::new(Foreign {
                inputs: streams.max(foreign::least_inputs(name)),
                outputs: labelled.behind.len().max(1),
            }),
            inputs: Vec::new(),
            args: String::new(),
            text: part.text().to_owned(),
        })
    }

    /// `streams` lead to it, as far as labels and the filter before it say.
    pub(super) fn parse(part: Span<'_>, streams: usize) -> Result<Call, GraphError> {
        let (name, list) = match part.cut('=') {
            Some((name, list)) => (name.trim(), Some(list)),
            None => (part, None),
        };
        let column = part.column();
        if name.text().is_empty() {
            return Err(GraphError::NoFilter { column });
        }
        let (mut entry, name) = entry(name.text()).ok_or_else(|| unknown(name))?;
        if entry.name == filters::OVER.name && (streams > 1 || !names_picture(list)) {
            entry = &filters::OVER;
        }
        let refuse = |error| GraphError::Argument {
            filter: name,
            error,
        };
        // Quotes around all arguments keep them together, and not the colons between them.
        let list = match list.and_then(Span::quoted) {
            Some(inner) if entry.args.len() > 1 && entry.name != filters::OVER.name => Some(inner),
            _ => list,
        };
        let args = Args::new(entry.args, column, list).map_err(refuse)?;
        let mut filter: Arc<dyn Filter> = (entry.build)(&args).map_err(refuse)?.into();
        if let Some(at) = args.enable(enabled::NAMES).map_err(refuse)? {
            filter = enabled::enabled(filter, at);
        }
        Ok(Call {
            entry,
            name,
            column,
            filter,
            inputs: Vec::new(),
            args: args.canonical(),
            text: part.text().to_owned(),
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

/// Whether the arguments of `overlay` name a picture: the first one is no number.
fn names_picture(list: Option<Span<'_>>) -> bool {
    let Some(list) = list else { return false };
    let first = list.split(':').next();
    list.split(':').any(|part| {
        let name = part.cut('=').map(|(name, _)| name.trim());
        name.is_some_and(|name| name.text() == "picture")
    }) || first.is_some_and(|first| {
        let text = unquoted(first.text());
        first.cut('=').is_none() && Expression::parse(&text, overlay::NAMES).is_err()
    })
}

fn unknown(name: Span<'_>) -> GraphError {
    let names =
        || filters::all().flat_map(|e| [e.name].into_iter().chain(e.aliases.iter().copied()));
    let words: Vec<&str> = name.text().split_whitespace().collect();
    let several = words.len() > 1 && words.iter().all(|word| entry(word).is_some());
    let elsewhere = ffmpeg::ELSEWHERE.iter().find(|(n, _)| *n == name.text());
    let known = names().chain(foreign::NAMES.iter().copied());
    let hint = match (elsewhere, nearest(name.text(), known)) {
        _ if several => format!("join filters with a comma: `{}`", words.join(",")),
        (Some((_, advice)), _) => (*advice).to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "`evener filters` lists them all".to_owned(),
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
        let chain = self.is_chain();
        for (i, call) in self.filters.iter().enumerate() {
            let separator = match (i, chain) {
                (0, _) => "",
                (_, true) => ",",
                (_, false) => ";",
            };
            f.write_str(separator)?;
            if !chain {
                call.inputs.iter().try_for_each(|link| label(f, *link))?;
            }
            let equals = if call.args.is_empty() { "" } else { "=" };
            write!(f, "{}{equals}{}", call.entry.name, call.args)?;
            for pad in 0..call.filter.outputs() {
                let link = Link::Output { call: i, pad };
                if !chain && link != self.result {
                    label(f, link)?;
                }
            }
        }
        Ok(())
    }
}

/// A label for a stream.
fn label(f: &mut fmt::Formatter<'_>, link: Link) -> fmt::Result {
    match link {
        Link::Input(number) => write!(f, "[{number}:v]"),
        Link::Output { call, pad: 0 } => write!(f, "[s{call}]"),
        Link::Output { call, pad } => write!(f, "[s{call}.{pad}]"),
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({self})")
    }
}
