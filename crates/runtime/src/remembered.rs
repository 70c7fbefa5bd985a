//! Plans that won, kept between runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;
use crate::plan::{Dispatch, Plan};
use crate::service::Shape;

/// A file of remembered plans.
///
/// Reading and writing never fail loudly: a plan that cannot be remembered costs a search, nothing else. Several
/// processes may use one file.
#[derive(Clone, Debug)]
pub struct Memory(Kept);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    plan: Named,
    /// Seconds per unit when it was remembered.
    cost_s: f64,
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
    /// The file `evener/plans.json` in the user's cache directory: `$XDG_CACHE_HOME`, else `~/.cache`.
    /// `None` where neither can be found.
    pub fn open_default() -> Option<Memory> {
        Kept::in_cache("plans.json", "plans").map(Memory)
    }

    /// A file of one's own. It and its directory are created by the first [`Memory::put`].
    pub fn at(path: impl Into<PathBuf>) -> Memory {
        Memory(Kept::at(path.into(), "plans"))
    }

    /// Where the plans are kept.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The key of a plan: the service's key, something that identifies the machine, and the workers it may use.
    pub fn key(service: &str, machine: &str, workers: u32) -> String {
        format!("{service} | {machine} | {workers} workers")
    }

    /// The plan remembered under `key`, if its structure is one of those `offered`.
    pub fn get(&self, key: &str, offered: &[Shape]) -> Option<Plan> {
        let plan = self.0.get::<Entry>(key)?.plan.among(offered)?;
        (plan.grain > 0 && plan.workers > 0).then_some(plan)
    }

    /// Remembers `plan`, which takes `cost` per unit, under `key`. What other processes wrote meanwhile stays.
    pub fn put(&self, key: &str, plan: Plan, cost: Duration) {
        let plan = Named::of(plan);
        let cost_s = cost.as_secs_f64();
        self.0.put(key, Entry { plan, cost_s });
    }

    /// All plans, as a text for [`Memory::add`] on another machine. They are found again on machines with the same
    /// [`Topology::machine_key`](crate::Topology::machine_key).
    pub fn text(&self) -> String {
        self.0.text::<Entry>()
    }

    /// Remembers the plans of a text that [`Memory::text`] gave. Of two for the same work the later one stays.
    ///
    /// # Errors
    /// It is no such text. Nothing is remembered then.
    pub fn add(&self, text: &str) -> Result<(), serde_json::Error> {
        self.0.add::<Entry>(text)
    }
}
