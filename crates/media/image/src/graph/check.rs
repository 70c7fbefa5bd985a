//! What becomes of a graph that was written for FFmpeg, filter by filter, without running it.

use std::fmt;

use super::error::GraphError;
use super::parse::{Call, Graph};
use super::sound;
use super::text::Span;
use super::wiring::Labelled;
use crate::filters::{ffmpeg, foreign};

/// What becomes of a graph.
#[derive(Clone, Debug)]
pub struct Check {
    /// Each filter as it was given, and what becomes of it.
    pub filters: Vec<(String, Verdict)>,
    /// How many inputs it reads.
    pub inputs: usize,
    /// Why the graph as a whole does not run.
    pub problem: Option<GraphError>,
}

/// What becomes of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does what FFmpeg's filter does.
    Same,
    /// It differs from FFmpeg's filter: how, as a part of a sentence.
    Differs(&'static str),
    /// FFmpeg has no such filter.
    Own,
    /// The `ffmpeg` that writes the output computes it.
    Ffmpeg,
    /// It does not run, and why.
    Refused(String),
}

impl Check {
    /// Whether the graph runs.
    pub fn runs(&self) -> bool {
        let refused = |(_, verdict): &(String, Verdict)| matches!(verdict, Verdict::Refused(_));
        self.problem.is_none() && !self.filters.iter().any(refused)
    }
}

impl Graph {
    /// What becomes of `text`, without the files that it names.
    pub fn check(text: &str) -> Check {
        let (video, _) = sound::apart(text);
        let mut filters = Vec::new();
        for chain in Span::new(&video).split(';') {
            let mut streams = 0;
            for part in chain.split(',') {
                let verdict = verdict(part, &mut streams);
                filters.push((part.text().to_owned(), verdict));
            }
        }
        let refused = |(_, verdict): &(String, Verdict)| matches!(verdict, Verdict::Refused(_));
        let problem = match filters.iter().any(refused) {
            true => None,
            false => Graph::parse_for(text, &[]).err(),
        };
        let inputs = Graph::read(&video, foreign::name).map_or(1, |graph| graph.inputs());
        Check {
            filters,
            inputs,
            problem,
        }
    }
}

fn verdict(part: Span<'_>, streams: &mut usize) -> Verdict {
    let labelled = match Labelled::parse(part) {
        Ok(labelled) => labelled,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let reads = labelled.before.len() + *streams;
    *streams = usize::from(labelled.behind.is_empty());
    let name = labelled
        .filter
        .cut('=')
        .map_or(labelled.filter, |(name, _)| name.trim());
    if foreign::name(name.text()).is_some() {
        return Verdict::Ffmpeg;
    }
    let call = match Call::parse(labelled.filter, reads) {
        Ok(call) => call,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    if ffmpeg::OWN.contains(&call.name) {
        return Verdict::Own;
    }
    // One value means something else; two are a width and a height.
    if call.name == "crop" && labelled.filter.text().contains([':', '/']) {
        return Verdict::Same;
    }
    let differs = ffmpeg::DIFFERENCES
        .iter()
        .find(|(name, _)| *name == call.name);
    differs.map_or(Verdict::Same, |(_, how)| Verdict::Differs(how))
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.filters.iter().map(|(text, _)| text.chars().count());
        let width = widest.max().unwrap_or(0).min(40);
        for (text, verdict) in &self.filters {
            write!(f, "{text:width$}  ")?;
            match verdict {
                Verdict::Same => writeln!(f, "as in ffmpeg"),
                Verdict::Differs(how) => writeln!(f, "differs: {how}"),
                Verdict::Own => writeln!(f, "evener's own; ffmpeg has no such filter"),
                Verdict::Ffmpeg => writeln!(f, "computed by the ffmpeg that writes the output"),
                Verdict::Refused(why) => writeln!(f, "does not run: {why}"),
            }?;
        }
        let inputs = match self.inputs {
            1 => String::new(),
            count => format!(", with {count} inputs"),
        };
        let later = self
            .filters
            .iter()
            .position(|(_, verdict)| *verdict == Verdict::Ffmpeg);
        match (&self.problem, self.runs(), later) {
            (Some(problem), ..) => write!(f, "does not run: {problem}"),
            (None, false, _) => f.write_str("does not run"),
            (None, true, None) => write!(f, "runs{inputs}"),
            (None, true, Some(0)) => write!(f, "runs{inputs}; ffmpeg computes all of it"),
            (None, true, Some(_)) => {
                write!(
                    f,
                    "runs{inputs}; ffmpeg computes what only it has, and what comes after that"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_judged_one_by_one() {
        let check = Graph::check("fps=10,rotate=30,blur,drawtext=text=a,nothing=1");
        let verdicts: Vec<&Verdict> = check.filters.iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(verdicts[0], &Verdict::Same);
        assert!(matches!(verdicts[1], Verdict::Differs(how) if how.contains("radians")));
        assert_eq!(verdicts[2], &Verdict::Own);
        assert_eq!(verdicts[3], &Verdict::Ffmpeg);
        assert!(matches!(verdicts[4], Verdict::Refused(why) if why.contains("unknown")));
        assert!(!check.runs());
        assert!(Graph::check("split[a][b];[b]hflip[c];[a][c]hstack").runs());
        let half = Graph::check("split[a][b];[a]blur");
        assert!(!half.runs() && half.problem.is_some());
    }
}
