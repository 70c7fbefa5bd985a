//! What the filters of a graph read: each the one before it in its chain, or what labels name, as for FFmpeg.

use super::error::GraphError;
use super::parse::Call;
use super::text::{Span, find, quoted};

/// What a filter reads, or the graph gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// An input of the graph.
    Input(usize),
    /// What an earlier filter gives: one of its outputs.
    Output {
        /// The filter.
        call: usize,
        /// The output, counted from 0.
        pad: usize,
    },
}

impl Link {
    /// The number of the input that it is.
    pub(super) fn input(self) -> Option<usize> {
        match self {
            Link::Input(number) => Some(number),
            Link::Output { .. } => None,
        }
    }
}

/// A filter with the labels before and behind it: `[a][b]overlay=10:10[c]`.
pub(super) struct Labelled<'a> {
    pub before: Vec<Span<'a>>,
    pub filter: Span<'a>,
    pub behind: Vec<Span<'a>>,
}

impl<'a> Labelled<'a> {
    pub fn parse(part: Span<'a>) -> Result<Labelled<'a>, GraphError> {
        let (mut before, mut rest) = (Vec::new(), part);
        while rest.text().starts_with('[') {
            let (label, after) = label(rest)?;
            before.push(label);
            rest = after.trim();
        }
        let (filter, mut tail) = match find(rest.text(), '[') {
            Some(at) => (rest.until(at).trim(), rest.behind(at)),
            None => (rest, rest.behind(rest.text().len())),
        };
        let mut behind = Vec::new();
        while !tail.text().is_empty() {
            if !tail.text().starts_with('[') {
                return Err(GraphError::Label {
                    column: tail.column(),
                    problem: "a comma or a semicolon is missing before the next filter".to_owned(),
                });
            }
            let (label, after) = label(tail)?;
            behind.push(label);
            tail = after.trim();
        }
        Ok(Labelled {
            before,
            filter,
            behind,
        })
    }
}

impl Labelled<'_> {
    /// Refuses sound.
    pub fn check_video(&self) -> Result<(), GraphError> {
        let is_sound = |label: &&Span<'_>| label.text().contains(":a");
        match self.before.iter().find(is_sound) {
            None => Ok(()),
            Some(label) => Err(GraphError::Label {
                column: label.column(),
                problem: "of sound, one chain that begins with `[0:a]` is filtered, beside a graph of video"
                    .to_owned(),
            }),
        }
    }
}

/// The label that `text` begins with, and what comes after it.
fn label(text: Span<'_>) -> Result<(Span<'_>, Span<'_>), GraphError> {
    let Some(end) = text.text().find(']') else {
        return Err(GraphError::Label {
            column: text.column(),
            problem: "this label does not end; write `[name]`".to_owned(),
        });
    };
    Ok((text.until(end).behind(1).trim(), text.behind(end + 1)))
}

/// The input of the graph that a label names: `0`, `0:v`, `1:v:0` or `in`.
fn input(label: &str) -> Option<usize> {
    if label == "in" {
        return Some(0);
    }
    let (number, kind) = label.split_once(':').unwrap_or((label, "v"));
    let video = ["v", "V", "v:0", "V:0"].contains(&kind);
    number.parse().ok().filter(|_| video)
}

/// An output of a filter that nothing reads yet.
#[derive(Clone, Copy)]
struct Open<'a> {
    link: Link,
    label: Option<Span<'a>>,
    column: usize,
}

/// What a filter reads, before all labels are known.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Label(Span<'a>),
    Link(Link),
    /// An input of the graph that no label names.
    Free,
}

/// Filters as they are read.
#[derive(Default)]
pub(super) struct Wiring<'a> {
    calls: Vec<(Call, Vec<Wanted<'a>>)>,
    open: Vec<Open<'a>>,
}

impl<'a> Wiring<'a> {
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds a filter of a chain. `previous` are the outputs of the filter before it, and become those of this one.
    pub fn add(
        &mut self,
        call: Call,
        labelled: &Labelled<'a>,
        previous: &mut Vec<Link>,
    ) -> Result<(), GraphError> {
        let (count, outputs) = (call.filter.inputs(), call.filter.outputs());
        let (column, name) = (call.column, call.name);
        let labels = labelled.before.iter().map(|&label| Wanted::Label(label));
        let mut wanted: Vec<_> = labels.chain(previous.drain(..).map(Wanted::Link)).collect();
        let refuse = |problem| Err(GraphError::Label { column, problem });
        if wanted.len() > count {
            let given = wanted.len();
            return refuse(format!(
                "`{name}` reads {count} streams, and {given} lead to it"
            ));
        }
        if labelled.behind.len() > outputs {
            return refuse(format!(
                "`{name}` gives {outputs} streams, and has more labels"
            ));
        }
        wanted.resize(count, Wanted::Free);
        let at = self.calls.len();
        for pad in 0..outputs {
            let link = Link::Output { call: at, pad };
            match labelled.behind.get(pad) {
                Some(&label) => self.open.push(Open {
                    link,
                    label: Some(label),
                    column: label.column(),
                }),
                None => previous.push(link),
            }
        }
        self.calls.push((call, wanted));
        Ok(())
    }

    /// Ends a chain, whose last filter left `previous` unread.
    pub fn end(&mut self, previous: Vec<Link>) {
        for link in previous {
            let column = match link {
                Link::Output { call, .. } => self.calls[call].0.column,
                Link::Input(_) => 1,
            };
            self.open.push(Open {
                link,
                label: None,
                column,
            });
        }
    }

    /// The filters, each after those that it reads, and what the graph gives.
    pub fn finish(mut self) -> Result<(Vec<Call>, Link), GraphError> {
        let labels = |wanted: &Wanted<'a>| match wanted {
            Wanted::Label(label) => input(label.text()),
            _ => None,
        };
        let all = self.calls.iter().flat_map(|(_, wanted)| wanted);
        let named: Vec<usize> = all.filter_map(labels).collect();
        let mut free = (0..).filter(|n| !named.contains(n));
        let mut inputs = Vec::new();
        for (_, wanted) in &self.calls {
            let mut links = Vec::new();
            for wanted in wanted {
                links.push(match wanted {
                    Wanted::Link(link) => *link,
                    Wanted::Free => Link::Input(free.next().unwrap_or(0)),
                    Wanted::Label(label) => take(&mut self.open, *label)?,
                });
            }
            inputs.push(links);
        }
        let result = match self.open[..] {
            [one] => one.link,
            [] => {
                return Err(GraphError::Label {
                    column: 1,
                    problem: "the graph has no output: every stream is read by a filter".to_owned(),
                });
            }
            [first, ref others @ ..] => {
                let other = match first.label {
                    Some(_) => first,
                    None => others[0],
                };
                let name = other
                    .label
                    .map(|label| format!(" `[{}]`", quoted(label.text())));
                return Err(GraphError::Label {
                    column: other.column,
                    problem: format!(
                        "the stream{} is a second output, and one file is written; \
                         join both by a filter such as `hstack` or `overlay`",
                        name.unwrap_or_default()
                    ),
                });
            }
        };
        let mut calls: Vec<Call> = self.calls.into_iter().map(|(call, _)| call).collect();
        share_inputs(&mut calls, &mut inputs);
        sort(calls, &inputs, result)
    }
}

/// The link that a label stands for. A stream can be read once.
fn take(open: &mut Vec<Open<'_>>, label: Span<'_>) -> Result<Link, GraphError> {
    if let Some(number) = input(label.text()) {
        return Ok(Link::Input(number));
    }
    let is = |open: &Open<'_>| open.label.is_some_and(|own| own.text() == label.text());
    match open.iter().position(is) {
        Some(at) => Ok(open.remove(at).link),
        None => Err(GraphError::Label {
            column: label.column(),
            problem: format!(
                "there is no stream `[{}]` that is not read yet; \
                     a filter gives it by the label behind it, and `split` gives a stream twice",
                quoted(label.text())
            ),
        }),
    }
}

/// Lets several filters read one input: through a `split`.
fn share_inputs(calls: &mut Vec<Call>, inputs: &mut Vec<Vec<Link>>) {
    let mut numbers: Vec<usize> = Vec::new();
    for link in inputs.iter().flatten() {
        if let Link::Input(number) = *link {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    let shared = numbers
        .chunk_by(|a, b| a == b)
        .filter(|same| same.len() > 1);
    for same in shared {
        let (number, call) = (same[0], calls.len());
        let readers = inputs
            .iter_mut()
            .flatten()
            .filter(|link| **link == Link::Input(number));
        for (pad, link) in readers.enumerate() {
            *link = Link::Output { call, pad };
        }
        calls.push(Call::split(same.len()));
        inputs.push(vec![Link::Input(number)]);
    }
}

/// Filters in an order in which each comes after those that it reads.
fn sort(
    calls: Vec<Call>,
    inputs: &[Vec<Link>],
    result: Link,
) -> Result<(Vec<Call>, Link), GraphError> {
    let mut calls: Vec<Option<Call>> = calls.into_iter().map(Some).collect();
    let mut places = vec![None; calls.len()];
    let mut sorted: Vec<Call> = Vec::with_capacity(calls.len());
    loop {
        let before = sorted.len();
        for at in 0..calls.len() {
            let place = |link: &Link| match *link {
                Link::Input(number) => Some(Link::Input(number)),
                Link::Output { call, pad } => places[call].map(|call| Link::Output { call, pad }),
            };
            let links: Option<Vec<Link>> = inputs[at].iter().map(place).collect();
            if let (Some(links), true) = (links, calls[at].is_some())
                && let Some(call) = calls[at].take()
            {
                places[at] = Some(sorted.len());
                sorted.push(Call {
                    inputs: links,
                    ..call
                });
            }
        }
        if sorted.len() == before {
            break;
        }
    }
    if let Some(left) = calls.iter().flatten().next() {
        return Err(GraphError::Label {
            column: left.column,
            problem: format!("`{}` reads what it gives itself", left.name),
        });
    }
    let result = match result {
        Link::Output { call, pad } => Link::Output {
            call: places[call].unwrap_or(0),
            pad,
        },
        input => input,
    };
    Ok((sorted, result))
}
