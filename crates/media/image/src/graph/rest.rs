//! Graphs with filters of FFmpeg that are not here: the `ffmpeg` that writes the output computes them.
//!
//! A graph is divided at one stream. What comes before it is computed here, and all that comes after it by `ffmpeg`.

use std::ffi::OsString;

use super::error::GraphError;
use super::parse::{Call, Graph};
use super::wiring::Link;
use crate::filters::foreign;

/// What `ffmpeg` computes of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// A graph of one input and one output, as for `-vf`. With further files it is one for `-filter_complex`: it reads
    /// `[in]`, and `[1:v]` and on, and gives `[out]`.
    pub text: String,
    /// The filters for which it is needed.
    pub names: Vec<&'static str>,
    /// Further files that it reads.
    pub files: Vec<OsString>,
}

impl Graph {
    /// Divides a graph that reads `others` besides its first input, before the filters that are not here. Returns the files
    /// that the graph still reads, too.
    pub(super) fn divide(
        self,
        others: Vec<OsString>,
    ) -> Result<(Graph, Vec<OsString>, Option<Rest>), GraphError> {
        let is_foreign = |call: &Call| call.entry.name == foreign::ENTRY.name;
        let mut names: Vec<&'static str> = Vec::new();
        for call in self.filters.iter().filter(|call| is_foreign(call)) {
            if !names.contains(&call.name) {
                names.push(call.name);
            }
        }
        if names.is_empty() {
            return Ok((self, others, None));
        }
        let mut later: Vec<bool> = self.filters.iter().map(is_foreign).collect();
        let (stream, inputs) = loop {
            // What reads what is computed later is computed later.
            for at in 0..later.len() {
                later[at] |= self.filters[at]
                    .inputs
                    .iter()
                    .any(|link| reads(*link, &later));
            }
            let entering = self.entering(&later);
            let is_file = |link: &&Link| matches!(link, Link::Input(1..));
            let (files, streams): (Vec<&Link>, Vec<&Link>) = entering.iter().partition(is_file);
            let latest = streams.iter().filter_map(|link| match link {
                Link::Output { call, .. } => Some(*call),
                Link::Input(_) => None,
            });
            match (&streams[..], latest.max()) {
                ([], _) => return Err(self.several(&names)),
                ([one], _) => break (**one, files.into_iter().copied().collect::<Vec<Link>>()),
                (_, Some(call)) => later[call] = true,
                (_, None) => return Err(self.several(&names)),
            }
        };
        let text = self.text_of(&later, stream, &inputs);
        let file = |link: &Link| {
            let number = link.input().unwrap_or(1);
            let missing = || format!("input {number}").into();
            others.get(number - 1).cloned().unwrap_or_else(missing)
        };
        let files: Vec<OsString> = inputs.iter().map(file).collect();
        let mut graph = self.before(&later, stream)?;
        let others = graph.renumber(others);
        Ok((graph, others, Some(Rest { text, names, files })))
    }

    /// The streams that filters computed later read of others.
    fn entering(&self, later: &[bool]) -> Vec<Link> {
        let mut entering: Vec<Link> = Vec::new();
        for (call, _) in self.filters.iter().zip(later).filter(|(_, later)| **later) {
            for link in &call.inputs {
                if !reads(*link, later) && !entering.contains(link) {
                    entering.push(*link);
                }
            }
        }
        entering
    }

    fn several(&self, names: &[&'static str]) -> GraphError {
        let first = self.filters.iter().find(|call| names.contains(&call.name));
        GraphError::Label {
            column: first.map_or(1, |call| call.column),
            problem: format!(
                "`{}` is a filter of ffmpeg, and needs several inputs; run ffmpeg for this graph",
                names.join("`, `")
            ),
        }
    }

    /// The filters that are computed later, as text. Without further `inputs`, the first one reads `stream` without a label.
    fn text_of(&self, later: &[bool], stream: Link, inputs: &[Link]) -> String {
        let label = |link: Link| match link {
            Link::Output { call, pad } => format!("[s{call}_{pad}]"),
            Link::Input(_) => {
                let place = inputs.iter().position(|input| *input == link);
                format!("[{}:v]", place.map_or(0, |place| place + 1))
            }
        };
        let (first, last) = match inputs.is_empty() {
            true => ("", ""),
            false => ("[in]", "[out]"),
        };
        let kept = || self.filters.iter().enumerate().filter(|(at, _)| later[*at]);
        let readers = kept().flat_map(|(_, call)| &call.inputs);
        let times = readers.filter(|link| **link == stream).count();
        let mut parts = Vec::new();
        if times > 1 {
            let labels: String = (0..times).map(|n| format!("[in{n}]")).collect();
            parts.push(format!("{first}split={times}{labels}"));
        }
        let mut read = 0;
        for (at, call) in kept() {
            let mut part = String::new();
            for link in &call.inputs {
                if *link != stream {
                    part += &label(*link);
                } else if times > 1 {
                    part += &format!("[in{read}]");
                    read += 1;
                } else {
                    part += first;
                }
            }
            part += &call.text;
            for pad in 0..call.filter.outputs() {
                let link = Link::Output { call: at, pad };
                part += &match link == self.result {
                    true => last.to_owned(),
                    false => label(link),
                };
            }
            parts.push(part);
        }
        parts.join(";")
    }

    /// The filters that are computed here.
    fn before(self, later: &[bool], stream: Link) -> Result<Graph, GraphError> {
        let kept: Vec<bool> = later.iter().map(|later| !later).collect();
        match kept.contains(&true) {
            true => Ok(self.keep(&kept, stream)),
            false => Graph::parse("null"),
        }
    }
}

/// Whether a link leads from what is computed later.
fn reads(link: Link, later: &[bool]) -> bool {
    matches!(link, Link::Output { call, .. } if later[call])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::parse::Parsed;

    #[test]
    fn a_graph_is_divided_before_filters_of_ffmpeg() {
        for (text, here, rest) in [
            (
                "scale=64:48,drawtext=text=a",
                "scale=64:48",
                "drawtext=text=a",
            ),
            (
                "drawtext=text='a, b',hflip",
                "null",
                "drawtext=text='a, b'[s0_0];[s0_0]hflip",
            ),
            (
                "fps=10,split[a][b];[a]palettegen[p];[b][p]paletteuse",
                "fps=10",
                "split[s1_0][s1_1];[s1_0]palettegen[s2_0];[s1_1][s2_0]paletteuse",
            ),
            (
                "[0:v]palettegen[p];[0:v][p]paletteuse",
                "null",
                "split=2[s0_0][s0_1];[s0_0]palettegen[s1_0];[s0_1][s1_0]paletteuse",
            ),
            (
                "split[a][b];[a]noise[c];[b][c]hstack",
                "null",
                "split[s0_0][s0_1];[s0_0]noise[s1_0];[s0_1][s1_0]hstack",
            ),
        ] {
            let Parsed {
                graph,
                rest: divided,
                ..
            } = Graph::parse_for(text, &[]).unwrap();
            let plain = Graph::parse(here).unwrap();
            assert_eq!(graph.to_string(), plain.to_string(), "{text}");
            assert_eq!(divided.unwrap().text, rest, "{text}");
        }
        assert_eq!(Graph::parse_for("blur", &[]).unwrap().rest, None);
        let files = ["b.mkv".into(), "c.mkv".into()];
        let text = "[2:v]colorkey[k];[0:v]hflip[h];[h][k]overlay,vflip";
        let parsed = Graph::parse_for(text, &files).unwrap();
        assert_eq!(parsed.graph.to_string(), "hflip");
        assert!(parsed.others.is_empty());
        let rest = parsed.rest.unwrap();
        assert_eq!(rest.files, ["c.mkv"]);
        let expected = "[1:v]colorkey[s0_0];[in][s0_0]overlay[s2_0];[s2_0]vflip[out]";
        assert_eq!(rest.text.replace("flip=direction=v", "vflip"), expected);
        let wrong = Graph::parse_for("[1:v][2:v]lut2", &files).unwrap_err();
        assert!(wrong.to_string().contains("several inputs"), "{wrong}");
    }
}
