//! The division of a wavefront's items into lines and steps.

use std::ops::Range;
use std::time::Duration;

use crate::replay;
use crate::service::{Need, Part, Shape};
use crate::structure::Structure;

/// The lines of a unit.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Layout {
    pub(super) structure: &'static Structure,
    /// Units that may be in work at once.
    pub(super) units: u64,
    passes: Vec<Pass>,
    lines: usize,
    /// The pass that devices compute.
    device_pass: Option<usize>,
}

#[derive(Clone, Debug)]
struct Pass {
    /// Lines of the passes before it.
    first: usize,
    lines: u32,
    /// Steps of each.
    steps: u32,
}

/// A line of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineId {
    pub(super) unit: u64,
    pub(super) pass: usize,
    pub(super) line: u32,
}

/// Steps of a line that run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) line: LineId,
    pub(super) steps: Range<u32>,
}

impl Layout {
    /// `None` if the shape's lines do not divide the items of its passes, or there are none.
    pub(in crate::stream) fn new(shape: &Shape) -> Option<Layout> {
        if shape.lines.len() != shape.passes.len() || shape.units == 0 {
            return None;
        }
        let mut first = 0;
        let passes = shape.passes.iter().zip(&shape.lines);
        let passes = passes.map(|(&items, &lines)| {
            let steps = items.checked_div(lines)?;
            let pass = Pass {
                first,
                lines,
                steps,
            };
            first += lines as usize;
            (steps > 0 && items % lines == 0).then_some(pass)
        });
        let passes = passes.collect::<Option<Vec<Pass>>>()?;
        (first > 0).then_some(Layout {
            structure: shape.structure,
            units: u64::from(shape.units),
            device_pass: shape.device_pass.filter(|&pass| pass < passes.len()),
            passes,
            lines: first,
        })
    }

    /// Lines of a unit, in all passes.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// All lines of a unit, in the order of [`Layout::index`].
    pub(super) fn of(&self, unit: u64) -> impl Iterator<Item = LineId> + '_ {
        let passes = self.passes.iter().enumerate();
        passes
            .flat_map(move |(pass, of)| (0..of.lines).map(move |line| LineId { unit, pass, line }))
    }

    /// Whether a line is of the pass that devices compute.
    pub(super) fn is_for_devices(&self, line: LineId) -> bool {
        self.device_pass == Some(line.pass)
    }

    /// The lines of a unit that devices compute.
    pub(super) fn for_devices(&self, unit: u64) -> impl Iterator<Item = LineId> + use<> {
        let pass = self.device_pass.unwrap_or(0);
        let lines = self.device_pass.map_or(0, |pass| self.passes[pass].lines);
        (0..lines).map(move |line| LineId { unit, pass, line })
    }

    /// The place of a line among those of its unit.
    pub(super) fn index(&self, line: LineId) -> usize {
        self.passes[line.pass].first + line.line as usize
    }

    /// Where the lines of a unit are kept.
    pub(super) fn slot(&self, unit: u64) -> usize {
        (unit % self.units) as usize
    }

    /// Steps of a line of a pass.
    pub(super) fn steps(&self, pass: usize) -> u32 {
        self.passes[pass].steps
    }

    /// Steps of a unit.
    pub(super) fn steps_of_unit(&self) -> u64 {
        let passes = self.passes.iter();
        passes
            .map(|pass| u64::from(pass.lines) * u64::from(pass.steps))
            .sum()
    }

    /// The steps after the first `from` that run together, where a chunk has `grain` of them.
    pub(super) fn chunk(&self, line: LineId, from: u32, grain: u32) -> Chunk {
        let end = from.saturating_add(grain.max(1));
        let steps = from..end.min(self.steps(line.pass));
        Chunk { line, steps }
    }

    /// The part that a chunk is.
    pub(super) fn part(&self, chunk: &Chunk) -> Part {
        let LineId { pass, line, .. } = chunk.line;
        let first = line * self.passes[pass].steps;
        Part {
            structure: self.structure,
            pass,
            items: first + chunk.steps.start..first + chunk.steps.end,
        }
    }

    /// What is recorded of a part.
    pub(super) fn recorded(&self, unit: u64, part: &Part, took: Duration) -> replay::Chunk {
        let steps = self.passes[part.pass].steps;
        let line = part.items.start / steps;
        replay::Chunk {
            unit,
            pass: part.pass,
            line,
            steps: part.items.start - line * steps..part.items.end - line * steps,
            seconds: took.as_secs_f64(),
        }
    }

    /// Why `unit` cannot need this, if it cannot.
    pub(super) fn refuse(&self, unit: u64, need: &Need) -> Option<String> {
        let structure = self.structure;
        if need.unit.saturating_sub(unit) >= self.units {
            return Some(format!(
                "needs unit {}, and {structure} has {} in work at once",
                need.unit, self.units
            ));
        }
        let known = self.passes.get(need.pass);
        let known = known.is_some_and(|of| need.line < of.lines && need.steps <= of.steps);
        (!known).then(|| format!("needs what no unit has: {need:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Work;
    use crate::structure::fixtures::WAVEFRONT;

    fn shape(passes: &[u32], lines: &[u32], units: u32) -> Shape {
        Shape {
            lines: lines.to_vec(),
            units,
            ..Shape::new(&WAVEFRONT, passes.to_vec(), 1, Work::default())
        }
    }

    #[test]
    fn a_step_of_a_line_is_an_item() {
        let layout = Layout::new(&shape(&[12, 5], &[3, 5], 2)).unwrap();
        assert_eq!((layout.lines(), layout.steps_of_unit()), (8, 17));
        let lines: Vec<LineId> = layout.of(9).collect();
        for (at, &line) in lines.iter().enumerate() {
            assert_eq!((layout.index(line), line.unit), (at, 9));
        }
        let chunk = layout.chunk(lines[2], 3, 100);
        assert_eq!(layout.part(&chunk).items, 11..12);
        let chunk = layout.chunk(lines[1], 0, 3);
        assert_eq!(layout.part(&chunk).items, 4..7);
        assert_eq!(layout.part(&layout.chunk(lines[7], 0, 3)).items, 4..5);
    }

    #[test]
    fn lines_that_do_not_divide_the_items_are_no_layout() {
        for (passes, lines, units) in [
            (&[12][..], &[5][..], 1),
            (&[12], &[0], 1),
            (&[12], &[], 1),
            (&[0], &[1], 1),
            (&[12], &[24], 1),
            (&[12], &[3], 0),
            (&[], &[], 1),
        ] {
            assert!(
                Layout::new(&shape(passes, lines, units)).is_none(),
                "{passes:?} {lines:?}"
            );
        }
    }

    #[test]
    fn what_can_never_be_met_is_refused() {
        let layout = Layout::new(&shape(&[12, 5], &[3, 5], 4)).unwrap();
        let need = |unit, pass, line, steps| {
            let need = Need {
                unit,
                pass,
                line,
                steps,
            };
            layout.refuse(7, &need)
        };
        assert_eq!(need(0, 0, 2, 4), None);
        assert_eq!(need(10, 1, 4, 1), None);
        let far = need(11, 0, 0, 1).unwrap();
        assert_eq!(far, "needs unit 11, and wavefront has 4 in work at once");
        for (pass, line, steps) in [(2, 0, 0), (0, 3, 0), (0, 0, 5), (1, 0, 2)] {
            assert!(need(7, pass, line, steps).is_some());
        }
    }
}
