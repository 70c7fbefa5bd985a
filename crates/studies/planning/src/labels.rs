//! Stages and mappings as text, and back.

use std::ops::Range;

use crate::mapping::{Mapping, Segment};

/// The steps of a workload and the stages that they are cut into.
#[derive(Clone, Debug)]
pub struct Labels {
    steps: Vec<String>,
    /// The step that each stage ends before.
    ends: Vec<usize>,
}

impl Labels {
    /// Stages that end before these steps, the last of them before the end.
    pub fn new(steps: Vec<String>, ends: Vec<usize>) -> Labels {
        Labels { steps, ends }
    }

    /// How many stages there are.
    pub fn stages(&self) -> usize {
        self.ends.len()
    }

    /// The steps of stages.
    pub fn steps(&self, stages: Range<usize>) -> Range<usize> {
        let before = |stage: usize| stage.checked_sub(1).map_or(0, |before| self.ends[before]);
        before(stages.start)..before(stages.end)
    }

    /// What stages do: `idea 11-20 + skipjack 1-3`.
    pub fn name(&self, stages: Range<usize>) -> String {
        let wanted = self.steps(stages);
        let mut parts = Vec::new();
        for (name, run) in self.runs() {
            let (begin, end) = (wanted.start.max(run.start), wanted.end.min(run.end));
            if begin >= end {
                continue;
            }
            let within = (begin - run.start + 1, end - run.start);
            parts.push(match (run.len(), within) {
                (len, (1, last)) if last == len => name.to_owned(),
                (_, (first, last)) => format!("{name} {}", numbers(first, last)),
            });
        }
        parts.join(" + ")
    }

    /// Steps of one name after one another.
    fn runs(&self) -> Vec<(&str, Range<usize>)> {
        let mut runs: Vec<(&str, Range<usize>)> = Vec::new();
        for (at, name) in self.steps.iter().enumerate() {
            match runs.last_mut() {
                Some((last, run)) if last == name => run.end = at + 1,
                _ => runs.push((name, at..at + 1)),
            }
        }
        runs
    }

    /// All stages by number: `1-20 idea, 21 skipjack 1-12`.
    pub fn legend(&self) -> String {
        let mut parts: Vec<(Range<usize>, String)> = Vec::new();
        for stage in 0..self.stages() {
            let steps = self.steps(stage..stage + 1);
            let plain = (steps.len() == 1).then(|| self.steps[steps.start].clone());
            match (parts.last_mut(), plain) {
                (Some((stages, name)), Some(own)) if *name == own => stages.end = stage + 1,
                (_, Some(own)) => parts.push((stage..stage + 1, own)),
                (_, None) => parts.push((stage..stage + 1, self.name(stage..stage + 1))),
            }
        }
        let parts = parts.into_iter();
        let parts: Vec<String> = parts
            .map(|(stages, name)| format!("{} {name}", numbers(stages.start + 1, stages.end)))
            .collect();
        parts.join(", ")
    }

    /// A workload's steps: `idea 20, skipjack 24`.
    pub fn counts(&self) -> String {
        let runs = self.runs().into_iter();
        let runs: Vec<String> = runs
            .map(|(name, run)| format!("{name} {}", run.len()))
            .collect();
        runs.join(", ")
    }

    /// A mapping as text: `1-2 on 2 big + little, 3 on big`.
    pub fn text(&self, mapping: &Mapping, kinds: &[String]) -> String {
        let one = |segment: &Segment| {
            let stages = match segment.stages.len() == self.stages() {
                true => "all".to_owned(),
                false => numbers(segment.stages.start + 1, segment.stages.end),
            };
            format!("{stages} on {}", elements(&segment.counts, kinds))
        };
        let segments: Vec<String> = mapping.segments.iter().map(one).collect();
        segments.join(", ")
    }

    /// Reads a mapping.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(&self, text: &str, kinds: &[String]) -> Result<Mapping, String> {
        let count = self.stages();
        let mut segments: Vec<Segment> = Vec::new();
        for part in text.split(',') {
            let part = part.trim();
            let form = || format!("'{part}' is not of the form 1-2 on 3 KIND + KIND");
            let (stages, elements) = part.split_once(" on ").ok_or_else(form)?;
            let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n > 0);
            let (first, last) = match (stages.trim(), stages.split_once('-')) {
                ("all", _) => (1, count),
                (_, Some((first, last))) => (
                    number(first).ok_or_else(form)?,
                    number(last).ok_or_else(form)?,
                ),
                (one, None) => (number(one).ok_or_else(form)?, number(one).ok_or_else(form)?),
            };
            let next = segments.last().map_or(0, |before| before.stages.end) + 1;
            if first != next || last < first || last > count {
                return Err(format!(
                    "'{part}' should begin at stage {next} and end at {count} or before"
                ));
            }
            segments.push(Segment {
                stages: first - 1..last,
                counts: read_elements(elements, kinds)?,
            });
        }
        match segments.last() {
            Some(last) if last.stages.end == count => Ok(Mapping { segments }),
            last => {
                let end = last.map_or(0, |last| last.stages.end);
                Err(format!("it ends with stage {end} of {count}"))
            }
        }
    }
}

/// `3` or `3-5`.
fn numbers(first: usize, last: usize) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    }
}

/// `2 big + little`.
pub fn elements(counts: &[u32], kinds: &[String]) -> String {
    let used = counts.iter().zip(kinds).filter(|(count, _)| **count > 0);
    let used: Vec<String> = used
        .map(|(&count, kind)| match count {
            1 => kind.clone(),
            count => format!("{count} {kind}"),
        })
        .collect();
    used.join(" + ")
}

fn read_elements(text: &str, kinds: &[String]) -> Result<Vec<u32>, String> {
    let mut counts = vec![0_u32; kinds.len()];
    for part in text.split('+') {
        let mut words = part.split_whitespace();
        let (count, kind) = match (words.next(), words.next(), words.next()) {
            (Some(kind), None, None) => (1, kind),
            (Some(count), Some(kind), None) => {
                let wrong = || format!("'{count}' is not a number of elements");
                (
                    count
                        .parse()
                        .ok()
                        .filter(|&n: &u32| n > 0)
                        .ok_or_else(wrong)?,
                    kind,
                )
            }
            _ => return Err(format!("'{}' is not of the form 3 KIND", part.trim())),
        };
        let at = kinds.iter().position(|name| name == kind);
        let at = at.ok_or_else(|| format!("no kind '{kind}'; there are {}", kinds.join(", ")))?;
        counts[at] = counts[at].saturating_add(count);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(stages: &[usize]) -> Labels {
        let steps = [("idea", 3), ("raiden", 2), ("end", 1)];
        let steps = steps
            .iter()
            .flat_map(|(name, n)| vec![(*name).to_owned(); *n]);
        Labels::new(steps.collect(), stages.to_vec())
    }

    fn kinds() -> Vec<String> {
        vec!["big".into(), "little".into()]
    }

    #[test]
    fn stages_are_named_by_their_steps() {
        let each = labels(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(each.legend(), "1-3 idea, 4-5 raiden, 6 end");
        assert_eq!(each.name(1..4), "idea 2-3 + raiden 1");
        assert_eq!(each.name(0..6), "idea + raiden + end");
        let three = labels(&[2, 5, 6]);
        assert_eq!(three.legend(), "1 idea 1-2, 2 idea 3 + raiden, 3 end");
        assert_eq!(three.counts(), "idea 3, raiden 2, end 1");
    }

    #[test]
    fn mappings_are_read_as_they_are_written() {
        let labels = labels(&[2, 5, 6]);
        for text in [
            "all on 3 big + 2 little",
            "1-2 on 2 big + little, 3 on little",
            "1 on big, 2 on big, 3 on big",
        ] {
            let mapping = labels.parse(text, &kinds()).unwrap();
            assert_eq!(labels.text(&mapping, &kinds()), text);
        }
        let spaced = labels
            .parse("1 - 2 on  2  big +little,3 on little", &kinds())
            .unwrap();
        assert_eq!(
            labels.text(&spaced, &kinds()),
            "1-2 on 2 big + little, 3 on little"
        );
    }

    #[test]
    fn what_is_wrong_with_a_mapping_is_said() {
        for (text, part) in [
            ("", "form"),
            ("1-3", "form"),
            ("1-2 on big", "ends with stage 2 of 3"),
            ("2-3 on big", "begin at stage 1"),
            ("1-2 on big, 2-3 on big", "begin at stage 3"),
            ("1-4 on big", "end at 3"),
            ("3-1 on big", "begin at stage 1"),
            ("0 on big", "form"),
            ("x-3 on big", "form"),
            ("all on bgi", "no kind 'bgi'; there are big, little"),
            ("all on 0 big", "'0' is not a number"),
            ("all on 99999999999 big", "not a number"),
            ("all on", "form"),
            ("all on +", "'' is not of the form"),
            ("all on 2 big little", "'2 big little' is not"),
        ] {
            let error = labels(&[2, 5, 6]).parse(text, &kinds()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
