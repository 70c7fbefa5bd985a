//! A service of units in lines of steps, of which each step checks that what it needs is done, and a source and a sink
//! for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evener_runtime::device::OnDevice;
use evener_runtime::{Need, Part, Service, Shape, Sink, Source, Work};

use crate::structures::{SEQUENTIAL, WAVEFRONT};
use crate::toy::{Broken, Fail};

/// Passes, in their order: of each row of a unit's steps, and last of the rows in one line.
pub const SEARCH: usize = 0;
pub const DECIDE: usize = 1;
pub const FILTER: usize = 2;
pub const WRITE: usize = 3;

/// How large units are and how they depend on one another.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub rows: u32,
    pub columns: u32,
    /// A unit's decisions need the search of so many units after it.
    pub ahead: u64,
    /// They need the rows of the unit before down to so many below.
    pub reach: Option<u32>,
    /// Units are written one after the other.
    pub in_turn: bool,
    /// A unit's search needs the row of the unit before that is decided.
    pub behind: bool,
    /// Units in work at once.
    pub units: u32,
}

impl Default for Geometry {
    fn default() -> Geometry {
        Geometry {
            rows: 5,
            columns: 7,
            ahead: 0,
            reach: Some(1),
            in_turn: true,
            behind: false,
            units: 3,
        }
    }
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub unit: u64,
    pub pass: usize,
    pub line: u32,
    pub step: u32,
}

impl Geometry {
    /// Lines of a pass, and steps of each.
    fn size(&self, pass: usize) -> (u32, u32) {
        match pass {
            WRITE => (1, self.rows),
            _ => (self.rows, self.columns),
        }
    }

    /// What a step needs beside the one before it in its line.
    fn needs(&self, at: Step) -> Vec<Need> {
        let Step {
            unit,
            pass,
            line,
            step,
        } = at;
        let (rows, columns) = (self.rows, self.columns);
        let need = |unit, pass, line, steps| Need {
            unit,
            pass,
            line,
            steps,
        };
        let mut needs = Vec::new();
        match pass {
            SEARCH if self.behind && unit > 0 => {
                needs.push(need(unit - 1, DECIDE, line, step + 1));
            }
            DECIDE => {
                needs.push(need(unit, SEARCH, line, step + 1));
                if line > 0 {
                    needs.push(need(unit, DECIDE, line - 1, (step + 3).min(columns)));
                }
                if let (Some(reach), true) = (self.reach, unit > 0) {
                    let row = (line + reach).min(rows - 1);
                    needs.push(need(unit - 1, FILTER, row, columns));
                }
                if self.ahead > 0 {
                    needs
                        .extend((0..rows).map(|row| need(unit + self.ahead, SEARCH, row, columns)));
                }
            }
            FILTER => {
                // A row behind: what is below must not read it any more.
                let below = (line + 1).min(rows - 1);
                needs.push(need(unit, DECIDE, below, (step + 2).min(columns)));
                if line > 0 {
                    needs.push(need(unit, FILTER, line - 1, (step + 1).min(columns)));
                }
            }
            WRITE => {
                needs.push(need(unit, DECIDE, step, columns));
                if self.in_turn && unit > 0 {
                    needs.push(need(unit - 1, WRITE, 0, rows));
                }
            }
            _ => {}
        }
        needs
    }

    /// The values of all steps of a stream of `units` units, and so what each unit becomes.
    pub fn expected(&self, units: u64) -> Vec<u64> {
        let values = Values::new(self, units);
        let all = |pass: usize, unit: u64| {
            let (lines, steps) = self.size(pass);
            let order = (0..lines).flat_map(move |line| (0..steps).map(move |step| (line, step)));
            order.map(move |(line, step)| Step {
                unit,
                pass,
                line,
                step,
            })
        };
        let put = |step| values.put(step, values.compute(self, step, |_| true).unwrap());
        let searched = |unit| all(SEARCH, unit).for_each(put);
        if !self.behind {
            (0..units).for_each(searched);
        }
        for unit in 0..units {
            if self.behind {
                searched(unit);
            }
            [DECIDE, FILTER, WRITE]
                .into_iter()
                .for_each(|pass| all(pass, unit).for_each(put));
        }
        let last = |unit| Step {
            unit,
            pass: WRITE,
            line: 0,
            step: self.rows - 1,
        };
        (0..units).map(|unit| values.get(last(unit))).collect()
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a.rotate_left(23) ^ b).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29) | 1
}

/// The value of each step of a stream; 0 until it is done.
struct Values {
    geometry: Geometry,
    values: Vec<AtomicU64>,
    of_unit: usize,
}

impl Values {
    fn new(geometry: &Geometry, units: u64) -> Values {
        let of_unit = (3 * geometry.columns + 1) as usize * geometry.rows as usize;
        let values = (0..of_unit * units as usize).map(|_| AtomicU64::new(0));
        Values {
            geometry: *geometry,
            values: values.collect(),
            of_unit,
        }
    }

    fn at(&self, step: Step) -> Option<&AtomicU64> {
        let (_, steps) = self.geometry.size(step.pass);
        let before = step.pass as u32 * self.geometry.rows * self.geometry.columns;
        let in_unit = (before + step.line * steps + step.step) as usize;
        self.values.get(step.unit as usize * self.of_unit + in_unit)
    }

    fn get(&self, step: Step) -> u64 {
        self.at(step)
            .map_or(0, |value| value.load(Ordering::Relaxed))
    }

    fn put(&self, step: Step, value: u64) {
        let before = self.at(step).unwrap().swap(value, Ordering::Relaxed);
        assert_eq!(before, 0, "{step:?} is run twice");
    }

    /// A step's value. Fails if something that it needs is not done, unless `may_lack` it.
    fn compute(
        &self,
        geometry: &Geometry,
        at: Step,
        may_lack: impl Fn(u64) -> bool,
    ) -> Result<u64, String> {
        let name = mix(
            at.unit * 4 + at.pass as u64,
            u64::from(at.line << 16 | at.step),
        );
        let mut value = name;
        if at.step > 0 {
            let step = at.step - 1;
            value = mix(value, self.done(Step { step, ..at })?);
        }
        for need in geometry.needs(at) {
            for step in [0, need.steps - 1] {
                let needed = Step {
                    unit: need.unit,
                    pass: need.pass,
                    line: need.line,
                    step,
                };
                value = match self.get(needed) {
                    0 if need.unit > at.unit && may_lack(need.unit) => value,
                    0 => return Err(format!("{at:?} ran before {needed:?}")),
                    other => mix(value, other),
                };
            }
        }
        Ok(value)
    }

    fn done(&self, step: Step) -> Result<u64, String> {
        match self.get(step) {
            0 => Err(format!("{step:?} is not done")),
            value => Ok(value),
        }
    }
}

/// The service. Clones are of the same stream.
#[derive(Clone)]
pub struct Waves {
    pub geometry: Geometry,
    /// Beside the wavefront it can run units one by one.
    pub sequential: bool,
    /// The step that fails.
    pub fail: Option<(Step, Fail)>,
    /// Time of a step.
    pub delay: Option<fn(Step) -> Duration>,
    /// Devices may search.
    pub on_devices: bool,
    /// What a unit is declared to take.
    pub work: Work,
    values: Arc<Values>,
    busy: Arc<[AtomicBool]>,
    /// The first unit that was not there when a unit looked ahead.
    absent: Arc<AtomicU64>,
    /// Units between the first that was not done and the last that was begun, at most.
    spread: Arc<Spread>,
}

#[derive(Default)]
struct Spread {
    begun: AtomicU64,
    done: Mutex<Vec<bool>>,
    most: AtomicU64,
}

impl Waves {
    /// For a stream of at most so many units.
    pub fn new(geometry: Geometry, units: u64) -> Waves {
        let lines = (3 * geometry.rows + 1) as usize * (units as usize + 1);
        Waves {
            geometry,
            sequential: false,
            fail: None,
            delay: None,
            on_devices: false,
            work: Work::default(),
            values: Arc::new(Values::new(&geometry, units)),
            busy: (0..lines).map(|_| AtomicBool::new(false)).collect(),
            absent: Arc::new(AtomicU64::new(u64::MAX)),
            spread: Arc::default(),
        }
    }

    /// What was missing when units looked ahead came after the end of a stream of `units` units, and no more units were
    /// in work than may be.
    pub fn check(&self, units: u64) {
        let absent = self.absent.load(Ordering::Relaxed);
        assert!(absent >= units, "unit {absent} of {units} was missing");
        let most = self.spread.most.load(Ordering::Relaxed);
        assert!(most <= u64::from(self.geometry.units), "{most} in work");
    }

    /// The steps of a unit that devices compute.
    pub fn searched(&self, unit: u64) -> impl Iterator<Item = Step> + use<> {
        let (lines, steps) = self.geometry.size(SEARCH);
        (0..lines * steps).map(move |item| Step {
            unit,
            pass: SEARCH,
            line: item / steps,
            step: item % steps,
        })
    }

    /// The value of a step, all that it needs being done.
    pub fn value(&self, at: Step) -> u64 {
        self.values.compute(&self.geometry, at, |_| false).unwrap()
    }

    /// The value that a step has, or 0; and that it gets from a device.
    pub fn known(&self, at: Step) -> u64 {
        self.values.get(at)
    }

    pub fn set(&self, at: Step, value: u64) {
        self.values.at(at).unwrap().store(value, Ordering::Relaxed);
    }

    fn run_step(&self, at: Step) -> Result<(), String> {
        if let Some(delay) = self.delay {
            std::thread::sleep(delay(at));
        }
        match self.fail {
            Some((step, Fail::Error)) if step == at => return Err("the wave broke".into()),
            Some((step, Fail::Panic)) if step == at => panic!("the wave fell"),
            _ => {}
        }
        let may_lack = |unit| {
            self.absent.fetch_min(unit, Ordering::Relaxed);
            true
        };
        let value = self.values.compute(&self.geometry, at, may_lack)?;
        match self.on_devices && at.pass == SEARCH {
            // After a device that failed.
            true => self.set(at, value),
            false => self.values.put(at, value),
        }
        Ok(())
    }

    fn count(&self, at: Step) {
        let mut done = self.spread.done.lock().unwrap();
        let begun = self.spread.begun.fetch_max(at.unit + 1, Ordering::Relaxed);
        let begun = begun.max(at.unit + 1);
        let first = done.iter().take_while(|&&done| done).count() as u64;
        self.spread.most.fetch_max(begun - first, Ordering::Relaxed);
        let last = at.pass == WRITE && at.step + 1 == self.geometry.rows;
        if last {
            let unit = at.unit as usize;
            if done.len() <= unit {
                done.resize(unit + 1, false);
            }
            done[unit] = true;
        }
    }
}

/// What a unit is read as, and what it becomes.
#[derive(Default)]
pub struct Numbered {
    pub number: u64,
}

#[derive(Default)]
pub struct Written {
    pub number: AtomicU64,
    pub value: AtomicU64,
}

/// Private memory of a worker.
#[derive(Default)]
pub struct Private {
    spoilt: bool,
}

impl Service for Waves {
    type Input = Numbered;
    type Output = Written;
    type Scratch = Private;

    fn key(&self) -> String {
        "waves".into()
    }

    fn input(&self) -> Numbered {
        Numbered::default()
    }

    fn output(&self) -> Written {
        Written::default()
    }

    fn scratch(&self) -> Private {
        Private::default()
    }

    fn shapes(&self, _: usize) -> Vec<Shape> {
        let sizes: Vec<(u32, u32)> = (0..4).map(|pass| self.geometry.size(pass)).collect();
        let passes: Vec<u32> = sizes.iter().map(|(lines, steps)| lines * steps).collect();
        let wavefront = Shape {
            lines: sizes.iter().map(|(lines, _)| *lines).collect(),
            pass_names: vec!["search", "decide", "filter", "write"],
            units: self.geometry.units,
            device_pass: self.on_devices.then_some(SEARCH),
            ..Shape::new(&WAVEFRONT, passes.clone(), 2, self.work)
        };
        let mut shapes = vec![wavefront];
        if self.sequential {
            shapes.push(Shape::new(&SEQUENTIAL, vec![1], 1, self.work));
        }
        shapes
    }

    fn run(
        &self,
        part: &Part,
        input: &Numbered,
        output: &Written,
        scratch: &mut Private,
    ) -> Result<(), String> {
        assert!(!scratch.spoilt, "left by a kernel that failed");
        let unit = input.number;
        let all = |pass: usize, items: std::ops::Range<u32>| {
            let (_, steps) = self.geometry.size(pass);
            items.map(move |item| Step {
                unit,
                pass,
                line: item / steps,
                step: item % steps,
            })
        };
        let steps: Vec<Step> = match part.structure == &WAVEFRONT {
            true => all(part.pass, part.items.clone()).collect(),
            // In the order of passes and rows all needs are met but those that look ahead.
            false => {
                let sizes = (0..4).map(|pass| (pass, self.geometry.size(pass)));
                let items = sizes.flat_map(|(pass, (lines, steps))| all(pass, 0..lines * steps));
                items.collect()
            }
        };
        scratch.spoilt = true;
        for &step in &steps {
            self.count(step);
            let line = (unit * u64::from(3 * self.geometry.rows + 1)) as usize
                + step.pass * self.geometry.rows as usize
                + step.line as usize;
            let twice = self.busy[line].swap(true, Ordering::Relaxed);
            assert!(!twice, "{step:?} runs beside another of its line");
            let result = self.run_step(step);
            self.busy[line].store(false, Ordering::Relaxed);
            result?;
        }
        if part.structure == &WAVEFRONT {
            assert!(steps.iter().all(|step| step.line == steps[0].line));
        }
        let last = steps[steps.len() - 1];
        if last.pass == WRITE && last.step + 1 == self.geometry.rows {
            output.number.store(unit, Ordering::Relaxed);
            output.value.store(self.values.get(last), Ordering::Relaxed);
        }
        scratch.spoilt = false;
        Ok(())
    }

    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        assert!(needs.is_empty() && !part.items.is_empty());
        let (_, steps) = self.geometry.size(part.pass);
        let last = part.items.end - 1;
        let (line, step) = (last / steps, last % steps);
        assert_eq!(part.items.start / steps, line, "{part:?}");
        let at = |step| Step {
            unit,
            pass: part.pass,
            line,
            step,
        };
        needs.extend(self.geometry.needs(at(step)));
        // What is needed for a row of the last pass is not needed for the next.
        if part.pass == WRITE {
            let others = (part.items.start..last).flat_map(|step| self.geometry.needs(at(step)));
            needs.extend(others);
        }
    }

    fn device(&self) -> Option<&dyn OnDevice<Numbered, Written>> {
        self.on_devices.then_some(self as _)
    }
}

/// Counts up to `units`.
#[derive(Default)]
pub struct Units {
    pub units: u64,
    pub next: u64,
    pub inline: bool,
    pub delay: Duration,
    pub fail: Option<u64>,
    /// It says nothing for ten seconds from this unit on.
    pub silent_from: Option<u64>,
    /// Units that were read.
    pub read: Arc<AtomicU64>,
}

impl Source<Waves> for Units {
    type Error = Broken;

    fn read(&mut self, unit: &mut Numbered) -> Result<bool, Broken> {
        std::thread::sleep(self.delay);
        if self.silent_from == Some(self.next) {
            std::thread::sleep(Duration::from_secs(10));
        }
        if self.fail == Some(self.next) {
            return Err(Broken("source"));
        }
        unit.number = self.next;
        self.next += 1;
        self.read.store(self.next, Ordering::Relaxed);
        Ok(self.next <= self.units)
    }

    fn units(&self) -> Option<u64> {
        Some(self.units)
    }

    fn inline(&self) -> bool {
        self.inline
    }
}

/// Keeps what units became, in their order, and fails on demand.
#[derive(Clone, Default)]
pub struct Kept {
    pub values: Arc<Mutex<Vec<u64>>>,
    pub inline: bool,
    pub delay: Duration,
    /// The unit that cannot be written.
    pub fail: Option<usize>,
    pub finished: Arc<AtomicBool>,
}

impl Kept {
    pub fn values(&self) -> Vec<u64> {
        self.values.lock().unwrap().clone()
    }
}

impl Sink<Waves> for Kept {
    type Error = Broken;

    fn write(&mut self, unit: &Written) -> Result<(), Broken> {
        std::thread::sleep(self.delay);
        let mut values = self.values.lock().unwrap();
        if self.fail == Some(values.len()) {
            return Err(Broken("sink"));
        }
        // Of a live stream some may be missing.
        assert!(unit.number.load(Ordering::Relaxed) >= values.len() as u64);
        values.push(unit.value.load(Ordering::Relaxed));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Broken> {
        self.finished.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn inline(&self) -> bool {
        self.inline
    }
}
