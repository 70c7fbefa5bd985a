//! Winning plans, kept between runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::kept::Kept;
use crate::plan::{Dispatch, Plan};
use crate::service::Shape;
use crate::sync::lock;

/// A file of remembered plans.
///
/// Reading and writing never fail loudly: a plan that is not remembered costs only a new search. Several processes
/// may use one file.
#[derive(Clone, Debug)]
pub struct Memory(Kept);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    plan: Named,
    /// Seconds per unit when it was remembered.
    cost_s: f64,
}

impl Entry {
    fn of(plan: Plan, cost: Duration) -> Entry {
        Entry {
            plan: Named::of(plan),
            cost_s: cost.as_secs_f64(),
        }
    }

    /// The plan, if it can be run and its structure is one of those `offered`.
    fn among(&self, offered: &[Shape]) -> Option<Plan> {
        let plan = self.plan.among(offered)?;
        (plan.grain > 0 && plan.workers > 0).then_some(plan)
    }
}

/// A plan whose structure is known by its name alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Named {
    structure: String,
    dispatch: Dispatch,
    grain: u32,
    workers: u32,
    #[serde(default)]
    devices: u32,
}

impl Named {
    fn of(plan: Plan) -> Named {
        Named {
            structure: plan.structure.name.to_owned(),
            dispatch: plan.dispatch,
            grain: plan.grain,
            workers: plan.workers,
            devices: plan.devices,
        }
    }

    /// The plan, if its structure is still offered.
    fn among(&self, offered: &[Shape]) -> Option<Plan> {
        let mut structures = offered.iter().map(|shape| shape.structure);
        Some(Plan {
            structure: structures.find(|s| s.name == self.structure)?,
            dispatch: self.dispatch,
            grain: self.grain,
            workers: self.workers,
            devices: self.devices,
        })
    }
}

impl Memory {
    /// The file `evener/plans.json` in the user's cache directory: `$XDG_CACHE_HOME`, or else `~/.cache`. `None` if
    /// neither is known.
    pub fn open_default() -> Option<Memory> {
        Kept::in_cache("plans.json", "plans").map(Memory)
    }

    /// Uses this file. The first [`Memory::put`] creates it and its directory.
    pub fn at(path: impl Into<PathBuf>) -> Memory {
        Memory(Kept::at(path.into(), "plans"))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The key of a plan: the service's key, the machine's key, and the number of workers it may use.
    pub fn key(service: &str, machine: &str, workers: u32) -> String {
        format!("{service} | {machine} | {workers} workers")
    }

    /// The plan remembered under `key`, if its structure is among those `offered`.
    pub fn get(&self, key: &str, offered: &[Shape]) -> Option<Plan> {
        self.0.get::<Entry>(key)?.among(offered)
    }

    /// Remembers `plan`, which takes `cost` per unit, under `key`. Plans that other processes wrote meanwhile are
    /// kept.
    pub fn put(&self, key: &str, plan: Plan, cost: Duration) {
        self.0.put(key, Entry::of(plan, cost));
    }

    /// All plans, as text for [`Memory::add`] on another machine. They apply on machines with the same
    /// [`Topology::machine_key`](crate::Topology::machine_key).
    pub fn text(&self) -> String {
        self.0.text::<Entry>()
    }

    /// Adds the plans of a text from [`Memory::text`]. The newer of two plans for the same work wins.
    ///
    /// # Errors
    /// The text is invalid; nothing is remembered.
    pub fn add(&self, text: &str) -> Result<(), serde_json::Error> {
        self.0.add::<Entry>(text)
    }
}

/// Plans that follow one another sooner are written together.
const WRITTEN_EVERY: Duration = Duration::from_secs(1);

/// The plans of one runtime: the file is read when the first stream asks for a plan, and written with several plans at
/// once where streams are short.
pub(crate) struct Plans {
    memory: Memory,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the file held, and what was remembered since.
    known: Option<BTreeMap<String, Entry>>,
    /// What is to be written.
    new: BTreeMap<String, Entry>,
    written: Option<Instant>,
}

impl Plans {
    pub(crate) fn new(memory: Memory) -> Plans {
        Plans {
            memory,
            state: Mutex::default(),
        }
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// As [`Memory::get`].
    pub(crate) fn get(&self, key: &str, offered: &[Shape]) -> Option<Plan> {
        let mut state = lock(&self.state);
        let known = state.known.get_or_insert_with(|| self.memory.0.all());
        known.get(key)?.among(offered)
    }

    /// As [`Memory::put`], at the latest when the runtime ends.
    pub(crate) fn put(&self, key: &str, plan: Plan, cost: Duration) {
        let mut state = lock(&self.state);
        let entry = Entry::of(plan, cost);
        if let Some(known) = &mut state.known {
            known.insert(key.to_owned(), entry.clone());
        }
        state.new.insert(key.to_owned(), entry);
        if state.written.is_none_or(|at| at.elapsed() >= WRITTEN_EVERY) {
            self.write(&mut state);
        }
    }

    fn write(&self, state: &mut State) {
        self.memory.0.put_all(std::mem::take(&mut state.new));
        state.written = Some(Instant::now());
    }
}

impl Drop for Plans {
    fn drop(&mut self) {
        self.write(&mut lock(&self.state));
    }
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;
    use crate::service::Work;
    use crate::structure::SEQUENTIAL;

    #[test]
    fn a_runtime_reads_its_plans_once_and_has_written_all_when_it_ends() {
        let folder = Folder::new();
        let memory = || Memory::at(folder.path("plans.json"));
        let offered = [Shape::new(&SEQUENTIAL, vec![8], 1, Work::default())];
        let plan = |grain| Plan {
            structure: &SEQUENTIAL,
            dispatch: Dispatch::Fifo,
            grain,
            workers: 1,
            devices: 0,
        };
        let cost = Duration::from_micros(1);
        memory().put("before", plan(1), cost);
        let plans = Plans::new(memory());
        let get = |key: &str| plans.get(key, &offered);
        assert_eq!(get("before"), Some(plan(1)));
        memory().put("meanwhile", plan(2), cost);
        assert_eq!(get("meanwhile"), None);
        for grain in 3..9 {
            plans.put(&format!("own {grain}"), plan(grain), cost);
            assert_eq!(get(&format!("own {grain}")), Some(plan(grain)));
        }
        drop(plans);
        let kept = |key: &str| memory().get(key, &offered);
        assert_eq!(kept("meanwhile"), Some(plan(2)));
        for grain in 3..9 {
            assert_eq!(kept(&format!("own {grain}")), Some(plan(grain)));
        }
    }
}
