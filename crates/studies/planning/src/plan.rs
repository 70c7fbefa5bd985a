//! A plan: the front of mappings of a workload on the elements of a file, and the mappings that the file names.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use evener_runtime::Simd;
use evener_runtime::replay::{self, StepCost};
use serde::Serialize;

use crate::advice::{self, Idle, Prune, Strengthen};
use crate::elements::{Costs, Elements, MOST_STAGES};
use crate::error::Error;
use crate::front::{Point, front, thinned};
use crate::labels::Labels;
use crate::machine::{Element, Machine};
use crate::mapping::Mapping;
use crate::reduce;
use crate::search::Found;

/// What a machine is planned for. A service measures it.
pub struct Workload<'a> {
    /// What it is, for titles: `filter blur,sobel`.
    pub name: String,
    /// What a unit is, for titles: `a frame of 1920x1080`.
    pub unit: String,
    /// The names of the steps of a unit, in order. Steps with a name in common that follow one another are numbered.
    pub steps: Vec<String>,
    /// What each step costs on one core of this machine at a level.
    pub measure: &'a mut dyn FnMut(Simd) -> Result<Vec<StepCost>, String>,
}

/// The most mappings of a front that are kept.
const MOST: usize = 1000;
/// Times that a level is measured.
const ROUNDS: usize = 5;

/// How to plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The most mappings of the front that are kept; a thousand at most, and unless given.
    pub most: Option<usize>,
}

/// The front, and all that is needed to read it.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// What the machine is for.
    pub workload: String,
    /// What a unit is.
    pub unit: String,
    /// What each stage does.
    pub stages: Vec<String>,
    /// The same in a line.
    #[serde(skip)]
    pub legend: String,
    /// The kinds of elements.
    pub kinds: Vec<PlannedKind>,
    /// The kind that gains are relative to: one element that runs every stage.
    pub baseline: String,
    /// What was made smaller to search it; none if the front is exact.
    pub reduced: Option<String>,
    /// Mappings to which no other is preferable, in the order of gain.
    pub front: Vec<Evaluated>,
    /// Mappings of the front that are left out here.
    pub left_out: usize,
    /// The mappings that the file names.
    pub given: Vec<Evaluated>,
    /// Positions in `front` of the best by gain, by gain per area and by gain per power.
    pub best: [usize; 3],
}

/// A kind of element and what stages cost on it.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedKind {
    /// Its name.
    pub name: String,
    /// Square millimetres of one.
    pub area: f64,
    /// Watts of one.
    pub power: f64,
    /// How many there can be.
    pub number: u32,
    /// Seconds of each stage for a unit; none where it cannot run the stage by itself.
    pub seconds: Vec<Option<f64>>,
    /// Seconds of all stages on one.
    pub whole_seconds: Option<f64>,
}

/// A mapping and what it gives.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluated {
    /// Its name in the file.
    pub name: Option<String>,
    /// As text.
    pub text: String,
    /// Units a second, relative to one element of the baseline.
    pub gain: f64,
    /// Square millimetres.
    pub area: f64,
    /// Watts.
    pub power: f64,
    /// Gain over the area relative to that of the baseline.
    pub gain_per_area: f64,
    /// Gain over the power relative to that of the baseline.
    pub gain_per_power: f64,
    /// Units a second.
    pub units_per_second: f64,
    /// Whether no other mapping is preferable.
    pub on_front: bool,
    /// Which stages run on which elements.
    pub places: Vec<Place>,
    /// What holds it up.
    pub strengthen: Strengthen,
    /// What it could do without.
    pub prune: Vec<Prune>,
    /// What waits.
    pub idle: Vec<Idle>,
}

/// A segment of a mapping.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// First and last stage, from 1.
    pub stages: [usize; 2],
    /// What they do.
    pub name: String,
    /// How many elements of each kind that takes part.
    pub elements: BTreeMap<String, u32>,
    /// The share of time that they work.
    pub busy: f64,
}

/// Plans a machine.
///
/// # Errors
/// The file does not fit the workload, or measuring failed.
pub fn plan(
    elements: &Elements,
    workload: &mut Workload<'_>,
    options: Options,
) -> Result<Plan, Error> {
    let labels = labels(elements, workload)?;
    let measured = measured(elements, workload)?;
    let machine = machine(elements, &labels, &measured)?;
    let kinds: Vec<String> = elements
        .kinds
        .iter()
        .map(|kind| kind.name.clone())
        .collect();
    let context = Context {
        unit: baseline(elements, &machine)?,
        machine: &machine,
        labels: &labels,
        kinds: &kinds,
    };
    let mut given = Vec::new();
    for (name, text, line) in &elements.given {
        let mapping = labels
            .parse(text, &kinds)
            .and_then(|mapping| checked(mapping, &context));
        let wrong = |what| elements.wrong(*line, format!("mapping '{name}': {what}"));
        given.push(context.evaluated(Some(name.clone()), &mapping.map_err(wrong)?));
    }
    let problem = reduce::problem(&machine);
    let reduced = reduce::described(&problem, &kinds);
    let found = Found::new(problem);
    let points = found.all().map(|(choice, counts, rate)| {
        let (area, power) = machine.price(&counts);
        Point {
            choice,
            gain: rate * context.unit.seconds,
            area,
            power,
        }
    });
    let all = front(points.collect());
    for one in &mut given {
        one.on_front = !all.iter().any(|point| preferable(point, one));
    }
    let kept = thinned(&all, options.most.unwrap_or(MOST).min(MOST));
    let shown: Vec<Evaluated> = kept
        .iter()
        .map(|point| Evaluated {
            on_front: true,
            ..context.evaluated(None, &found.mapping(point.choice))
        })
        .collect();
    Ok(Plan {
        workload: workload.name.clone(),
        unit: workload.unit.clone(),
        stages: (0..labels.stages())
            .map(|stage| labels.name(stage..stage + 1))
            .collect(),
        legend: labels.legend(),
        kinds: planned(elements, &machine),
        baseline: kinds[elements.baseline].clone(),
        reduced,
        left_out: all.len() - shown.len(),
        best: [
            best(&shown, |e| e.gain),
            best(&shown, |e| e.gain_per_area),
            best(&shown, |e| e.gain_per_power),
        ],
        front: shown,
        given,
    })
}

/// Whether a point is preferable to a mapping, beyond what sums in another order differ by.
fn preferable(point: &Point, other: &Evaluated) -> bool {
    const SAME: f64 = 1.0 + 1e-9;
    let no_worse = point.gain * SAME >= other.gain
        && point.area <= other.area * SAME
        && point.power <= other.power * SAME;
    let better = point.gain > other.gain * SAME
        || point.area * SAME < other.area
        || point.power * SAME < other.power;
    no_worse && better
}

/// The first of the largest.
fn best(all: &[Evaluated], of: fn(&Evaluated) -> f64) -> usize {
    let all = all.iter().enumerate().rev();
    all.max_by(|a, b| of(a.1).total_cmp(&of(b.1)))
        .map_or(0, |(at, _)| at)
}

fn labels(elements: &Elements, workload: &Workload<'_>) -> Result<Labels, Error> {
    let steps = workload.steps.clone();
    let each = Labels::new(steps.clone(), (1..=steps.len()).collect());
    let Some((stages, line)) = &elements.stages else {
        if steps.is_empty() || steps.len() > MOST_STAGES {
            let what = format!(
                "{} has {} steps; 1 to {MOST_STAGES} can be planned",
                workload.name,
                steps.len()
            );
            return Err(elements.wrong(elements.baseline_line, what));
        }
        return Ok(each);
    };
    let mut end = 0;
    let ends: Vec<usize> = stages
        .iter()
        .map(|&steps| {
            end += steps as usize;
            end
        })
        .collect();
    if end != steps.len() {
        let (name, has) = (&workload.name, each.counts());
        let what = format!(
            "stages: these are {end} steps; {name} has {}: {has}",
            steps.len()
        );
        return Err(elements.wrong(*line, what));
    }
    Ok(Labels::new(steps, ends))
}

/// Measures every level that kinds name, several times in turn, so that what slows the machine down for a while slows all.
fn measured(
    elements: &Elements,
    workload: &mut Workload<'_>,
) -> Result<HashMap<Simd, Vec<StepCost>>, Error> {
    let levels = elements.levels();
    let mut rounds: HashMap<Simd, Vec<Vec<StepCost>>> = HashMap::new();
    for _ in 0..ROUNDS {
        for &level in &levels {
            let costs = (workload.measure)(level).map_err(|reason| Error::Measure {
                workload: workload.name.clone(),
                reason,
            })?;
            assert_eq!(costs.len(), workload.steps.len(), "a cost for each step");
            rounds.entry(level).or_default().push(costs);
        }
    }
    let medians = rounds.into_iter().map(|(level, rounds)| {
        let step = |step: usize| StepCost {
            first: median(rounds.iter().map(|costs| costs[step].first)),
            next: median(rounds.iter().map(|costs| costs[step].next)),
        };
        (level, (0..workload.steps.len()).map(step).collect())
    });
    Ok(medians.collect())
}

/// The middle one.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn machine(
    elements: &Elements,
    labels: &Labels,
    measured: &HashMap<Simd, Vec<StepCost>>,
) -> Result<Machine, Error> {
    let count = labels.stages();
    for kind in &elements.kinds {
        if let Costs::Each(seconds) = &kind.speed.costs
            && seconds.len() != count
        {
            let what = format!(
                "kind '{}', cycles: {} for {count} stages",
                kind.name,
                seconds.len()
            );
            return Err(elements.wrong(kind.line, what));
        }
    }
    let cost = |kind: usize, stages: Range<usize>| {
        let speed = &elements.kinds[kind].speed;
        let seconds = match &speed.costs {
            Costs::Measured(level) => replay::segment(&measured[level][labels.steps(stages)]),
            Costs::Whole(seconds) if stages.len() == count => seconds / elements.units,
            Costs::Whole(_) => f64::INFINITY,
            Costs::Each(seconds) => seconds[stages].iter().sum::<f64>() / elements.units,
        };
        // What took no time that a clock can tell is not infinitely fast.
        (seconds / speed.factor).max(1e-15)
    };
    let kinds = elements.kinds.iter().map(|kind| Element {
        area: kind.area,
        power: kind.power,
        number: kind.number,
    });
    Ok(Machine::new(count, kinds.collect(), cost))
}

/// One element of the baseline.
struct Unit {
    seconds: f64,
    area: f64,
    power: f64,
}

fn baseline(elements: &Elements, machine: &Machine) -> Result<Unit, Error> {
    let kind = elements.baseline;
    let seconds = machine.cost(kind, 0..machine.stages());
    let Element { area, power, .. } = machine.elements()[kind];
    if seconds.is_infinite() {
        let what = format!(
            "'{}' cannot run every stage, so gains cannot be relative to it; name another baseline",
            elements.kinds[kind].name
        );
        return Err(elements.wrong(elements.baseline_line, what));
    }
    Ok(Unit {
        seconds,
        area,
        power,
    })
}

/// Refuses mappings that the elements cannot run.
fn checked(mapping: Mapping, context: &Context<'_>) -> Result<Mapping, String> {
    for (kind, count) in mapping.counts().into_iter().enumerate() {
        let (name, number) = (
            &context.kinds[kind],
            context.machine.elements()[kind].number,
        );
        if count > number {
            return Err(format!("it takes {count} {name}; there are {number}"));
        }
    }
    for segment in &mapping.segments {
        if context.machine.rate(&segment.stages, &segment.counts) > 0.0 {
            continue;
        }
        let used = segment
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let mut used = used.map(|(kind, _)| kind);
        let unable = used.find(|&kind| {
            context
                .machine
                .cost(kind, segment.stages.clone())
                .is_infinite()
        });
        let name = unable.map_or("", |kind| context.kinds[kind].as_str());
        let stages = context.labels.name(segment.stages.clone());
        return Err(format!("'{name}' cannot run {stages}"));
    }
    Ok(mapping)
}

/// What evaluating a mapping needs.
struct Context<'a> {
    unit: Unit,
    machine: &'a Machine,
    labels: &'a Labels,
    kinds: &'a [String],
}

impl Context<'_> {
    fn evaluated(&self, name: Option<String>, mapping: &Mapping) -> Evaluated {
        let rates = mapping.rates(self.machine);
        let rate = mapping.rate(self.machine);
        let (area, power) = self.machine.price(&mapping.counts());
        let gain = rate * self.unit.seconds;
        let places = mapping.segments.iter().zip(&rates).map(|(segment, own)| {
            let used = segment
                .counts
                .iter()
                .zip(self.kinds)
                .filter(|(count, _)| **count > 0);
            Place {
                stages: [segment.stages.start + 1, segment.stages.end],
                name: self.labels.name(segment.stages.clone()),
                elements: used.map(|(&count, kind)| (kind.clone(), count)).collect(),
                busy: rate / own,
            }
        });
        Evaluated {
            name,
            text: self.labels.text(mapping, self.kinds),
            gain,
            area,
            power,
            gain_per_area: gain / (area / self.unit.area),
            gain_per_power: gain / (power / self.unit.power),
            units_per_second: rate,
            on_front: false,
            places: places.collect(),
            strengthen: advice::strengthen(&rates),
            prune: advice::prune(mapping, self.machine),
            idle: advice::idle(&rates),
        }
    }
}

fn planned(elements: &Elements, machine: &Machine) -> Vec<PlannedKind> {
    let finite = |seconds: f64| seconds.is_finite().then_some(seconds);
    let kinds = elements.kinds.iter().enumerate();
    kinds
        .map(|(at, kind)| PlannedKind {
            name: kind.name.clone(),
            area: kind.area,
            power: kind.power,
            number: kind.number,
            seconds: (0..machine.stages())
                .map(|stage| finite(machine.cost(at, stage..stage + 1)))
                .collect(),
            whole_seconds: finite(machine.cost(at, 0..machine.stages())),
        })
        .collect()
}
