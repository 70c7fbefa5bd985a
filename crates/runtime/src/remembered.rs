//! Plans that won, kept between runs in a small JSON file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::plan::{Dispatch, Plan};
use crate::service::Shape;

/// Version of the file's layout; a file of another version is not read.
const VERSION: u32 = 1;
/// Plans kept; the one written longest ago goes first.
const MOST: usize = 1000;
/// A file larger than this was not written by us.
const MOST_BYTES: u64 = 4 << 20;
/// How long a process waits for others that add a plan, which takes each a millisecond or two.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A file of remembered plans.
///
/// Reading and writing never fail loudly: a plan that cannot be remembered costs a search, nothing else. What is wrong
/// with a file is told once in a process. Several processes may use one file: each write replaces it as a whole, and
/// those who add to it take turns by a lock on a file beside it, whose name ends in `.lock` and which stays. Where there
/// are no locks, or one who holds it hangs, a plan is added without, and one of two simultaneous additions may be lost.
#[derive(Clone, Debug)]
pub struct Memory {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    version: u32,
    plans: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    plan: Named,
    /// Seconds per unit when it was remembered.
    cost_s: f64,
    /// Seconds since 1970 when it was remembered.
    written: u64,
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
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let cache =
            absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Memory::at(cache.join("evener").join("plans.json")))
    }

    /// A file of one's own. It and its directory are created by the first [`Memory::put`].
    pub fn at(path: impl Into<PathBuf>) -> Memory {
        Memory { path: path.into() }
    }

    /// Where the plans are kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key of a plan: the service's key, something that identifies the machine, and the workers it may use.
    pub fn key(service: &str, machine: &str, workers: u32) -> String {
        format!("{service} | {machine} | {workers} workers")
    }

    /// The plan remembered under `key`, if its structure is one of those `offered`.
    pub fn get(&self, key: &str, offered: &[Shape]) -> Option<Plan> {
        let plan = self.read()?.plans.get(key)?.plan.among(offered)?;
        (plan.grain > 0 && plan.workers > 0).then_some(plan)
    }

    /// Remembers `plan`, which takes `cost` per unit, under `key`. What other processes wrote meanwhile stays.
    pub fn put(&self, key: &str, plan: Plan, cost: Duration) {
        let _turn = self.turn();
        // What cannot be read is not replaced either: that would lose all there is.
        let Some(mut file) = self.read() else { return };
        let written = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        file.plans.insert(
            key.to_owned(),
            Entry {
                plan: Named::of(plan),
                cost_s: cost.as_secs_f64(),
                written,
            },
        );
        while file.plans.len() > MOST {
            let oldest = file
                .plans
                .iter()
                .min_by_key(|(_, e)| e.written)
                .map(|(k, _)| k.clone());
            let Some(oldest) = oldest else { break };
            file.plans.remove(&oldest);
        }
        if let Err(error) = self.replace(&file) {
            self.tell("plans cannot be remembered", Some(plain(&error)));
        }
    }

    /// Waits until no other process adds a plan, or long enough; to be kept until the plan is added.
    fn turn(&self) -> Option<fs::File> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).ok()?;
        }
        let mut name = self.path.clone().into_os_string();
        name.push(".lock");
        let mut options = fs::File::options();
        let file = options.write(true).create(true).truncate(false).open(name);
        let file = file.ok()?;
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return None,
            }
        }
    }

    /// Logs what is wrong with the file, once: every stream of the process would find the same.
    fn tell(&self, what: &'static str, why: Option<impl Display>) {
        static TOLD: Mutex<BTreeSet<(PathBuf, &str)>> = Mutex::new(BTreeSet::new());
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert((self.path.clone(), what)) {
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            warn!("{}: {what}{why}", self.path.display());
        }
    }

    /// What the file holds: nothing if there is none, or none that can be understood. `None` if it cannot be read.
    fn read(&self) -> Option<File> {
        let empty = Some(File {
            version: VERSION,
            plans: BTreeMap::new(),
        });
        let text = match fs::metadata(&self.path) {
            Ok(meta) if meta.len() > MOST_BYTES || !meta.is_file() => {
                self.tell("no file of remembered plans, ignored", None::<&str>);
                return empty;
            }
            Ok(_) => fs::read_to_string(&self.path),
            Err(error) => Err(error),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return empty,
            // Text that is none is a damaged file.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
            Err(error) => {
                self.tell("remembered plans cannot be read", Some(plain(&error)));
                return None;
            }
        };
        match serde_json::from_str::<File>(&text) {
            Ok(file) if file.version == VERSION => Some(file),
            Ok(file) => {
                let why = format!("version {}", file.version);
                self.tell("remembered plans of another version, ignored", Some(why));
                empty
            }
            Err(error) => {
                let what = "damaged file of remembered plans, ignored";
                self.tell(what, Some(error));
                empty
            }
        }
    }

    /// Writes a temporary file beside the old one and renames it, so that a reader sees one or the other as a whole.
    fn replace(&self, file: &File) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut temporary = self.path.clone().into_os_string();
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        // Processes in containers that share the directory may have the same number.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        temporary.push(format!(".{}-{now:x}-{unique}.tmp", std::process::id()));
        let written = serde_json::to_vec_pretty(file)
            .map_err(io::Error::from)
            .and_then(|text| fs::File::create_new(&temporary)?.write_all(&text))
            .and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            // Nothing more can be done if this fails too; the first error says why.
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The system's reason without the number that std appends, which tells a user nothing.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ")
        .next()
        .unwrap_or_default()
        .to_owned()
}
