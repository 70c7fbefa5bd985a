//! The files that a graph reads besides its first input: those that are given, those that `movie` names, and pictures, which
//! keep their transparency.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use super::args::Problem;
use super::error::GraphError;
use super::parse::{Call, Graph};
use super::wiring::Link;
use crate::io::ffmpeg::{Picture, Tools};

/// Extensions of files with one picture, for which `overlay` looks at transparency.
const PICTURES: [&str; 9] = [
    "png", "jpg", "jpeg", "bmp", "webp", "tif", "tiff", "pam", "ppm",
];

fn is_picture(file: &OsStr) -> bool {
    let extension = Path::new(file).extension().and_then(OsStr::to_str);
    let lower = extension.map(str::to_ascii_lowercase);
    lower.is_some_and(|extension| PICTURES.contains(&extension.as_str())) && !holds_percent(file)
}

/// Whether a name is a pattern of numbered pictures.
fn holds_percent(file: &OsStr) -> bool {
    file.as_encoded_bytes().contains(&b'%')
}

impl Graph {
    /// The graph for its first input and `others`, and which further files it reads then. Pictures that are put over frames
    /// are read now, with what filters make of them.
    pub(super) fn with_files(
        mut self,
        others: &[OsString],
    ) -> Result<(Graph, Vec<OsString>), GraphError> {
        let mut files = others.to_vec();
        let mut kept = vec![true; self.filters.len()];
        for (at, kept) in kept.iter_mut().enumerate() {
            if let Some(name) = self.filters[at].filter.file() {
                let name = OsString::from(name);
                let input = Link::Input(files.len() + 1);
                files.push(name);
                *kept = false;
                self.replace(Link::Output { call: at, pad: 0 }, input);
            }
        }
        for at in 0..self.filters.len() {
            let Some(still) = self.still(at, &files) else {
                continue;
            };
            let call = &self.filters[at];
            let read = Picture::read_with(&Tools::default(), &files[still.file], &still.filters);
            let picture = read.map_err(|error| GraphError::Argument {
                filter: call.name,
                error: super::args::ArgError {
                    column: call.column,
                    problem: Problem::NoPicture {
                        name: "the picture",
                        reason: error.to_string(),
                    },
                },
            })?;
            let Some(filter) = call.filter.with_picture(Arc::new(picture)) else {
                continue;
            };
            for chained in &still.calls {
                kept[*chained] = false;
            }
            let call = &mut self.filters[at];
            call.filter = filter;
            call.inputs.truncate(1);
        }
        let result = self.result;
        let mut graph = self.keep(&kept, result);
        let further = graph.renumber(files);
        Ok((graph, further))
    }

    /// Numbers inputs anew, without the `files` that nothing reads. Returns the others.
    pub(super) fn renumber(&mut self, files: Vec<OsString>) -> Vec<OsString> {
        let mut read: Vec<usize> = self.links().filter_map(Link::input).collect();
        read.sort_unstable();
        read.dedup();
        read.retain(|&number| number > 0);
        let named = |number: &usize| files.get(number - 1).cloned();
        let further: Option<Vec<OsString>> = read.iter().map(named).collect();
        // The session tells of inputs that are missing.
        let Some(further) = further else { return files };
        for (place, &number) in read.iter().enumerate() {
            self.replace(Link::Input(number), Link::Input(place + 1));
        }
        further
    }

    /// The picture that the second stream of `overlay` is, if it is one.
    fn still(&self, at: usize, files: &[OsString]) -> Option<Still> {
        let call = &self.filters[at];
        if call.inputs.len() != 2 || !call.filter.takes_picture() {
            return None;
        }
        let (mut link, mut calls) = (call.inputs[1], Vec::new());
        let number = loop {
            match link {
                Link::Input(number) => break number,
                Link::Output { call, .. } => {
                    let made = &self.filters[call];
                    if made.inputs.len() != 1 || made.filter.outputs() != 1 {
                        return None;
                    }
                    calls.push(call);
                    link = made.inputs[0];
                }
            }
        };
        let file = number.checked_sub(1)?;
        let shared = self
            .links()
            .filter(|link| *link == Link::Input(number))
            .count()
            > 1;
        if shared || !is_picture(files.get(file)?) {
            return None;
        }
        let texts: Vec<&str> = calls
            .iter()
            .rev()
            .map(|&call| self.filters[call].text.as_str())
            .collect();
        Some(Still {
            file,
            filters: texts.join(","),
            calls,
        })
    }

    /// What filters read, and the graph gives.
    fn links(&self) -> impl Iterator<Item = Link> {
        let links = self.filters.iter().flat_map(|call| &call.inputs);
        links.chain([&self.result]).copied()
    }

    fn replace(&mut self, link: Link, by: Link) {
        let links = self.filters.iter_mut().flat_map(|call| &mut call.inputs);
        let links = links.chain([&mut self.result]).filter(|own| **own == link);
        links.for_each(|own| *own = by);
    }

    /// The graph of some of its filters, which gives `result`.
    pub(super) fn keep(self, kept: &[bool], result: Link) -> Graph {
        let mut places = Vec::new();
        let mut count = 0;
        for kept in kept {
            places.push(count);
            count += usize::from(*kept);
        }
        let moved = |link: Link| match link {
            Link::Output { call, pad } => Link::Output {
                call: places[call],
                pad,
            },
            input => input,
        };
        let calls = self
            .filters
            .into_iter()
            .zip(kept)
            .filter(|(_, kept)| **kept);
        let filters: Vec<Call> = calls
            .map(|(call, _)| Call {
                inputs: call.inputs.iter().map(|&link| moved(link)).collect(),
                ..call
            })
            .collect();
        Graph {
            filters,
            result: moved(result),
        }
    }
}

/// A picture that filters make of a file.
struct Still {
    file: usize,
    /// As text, for `ffmpeg`.
    filters: String,
    calls: Vec<usize>,
}
