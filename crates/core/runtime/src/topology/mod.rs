//! The machine as found: cpus, cores and their classes, caches and the cpus that share them, NUMA nodes, SIMD level.
#![forbid(unsafe_code)]

mod cgroup;
mod cpulist;
mod display;
mod files;
#[cfg(test)]
mod fixture;
mod placement;
mod simd;
mod sysfs;

use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::dispatch::MAX_WORKERS;

pub use placement::Placed;
pub use simd::{SIMD_VARIABLE, Simd, SimdError};

/// What [`Topology::private_cache`] is where the machine does not tell, in bytes.
pub const DEFAULT_PRIVATE_CACHE: usize = 256 << 10;

/// The machine, as far as this process may use it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Topology {
    /// The processor's name, or the architecture where it has none.
    pub model: String,
    /// The level of vector instructions kernels use, already lowered by `EVENER_CPU`.
    pub simd: Simd,
    /// Logical cpus this process may run on, ascending by id. Never empty.
    pub cpus: Vec<Cpu>,
    /// Logical cpus the machine has online, allowed or not.
    pub online: usize,
    /// Processor time the control group allows, in cpus; `None` if it does not limit it.
    pub quota: Option<f64>,
    /// Caches at least one allowed cpu uses, by level, kind and cpus. Empty where the machine does not tell.
    pub caches: Vec<Cache>,
    /// NUMA nodes that have an allowed cpu. Empty where the machine does not tell.
    pub nodes: Vec<Node>,
}

/// A logical cpu: what the operating system schedules a thread on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// The operating system's number, as thread affinity takes it.
    pub id: usize,
    /// The core, counted from 0 over the allowed cpus of all packages.
    pub core: usize,
    /// The package (socket).
    pub package: usize,
    /// The NUMA node.
    pub node: usize,
    /// Whether its core is one of the fast ones.
    pub class: CoreClass,
    /// All cpus of its core (SMT siblings), itself included, allowed or not.
    pub siblings: Vec<usize>,
    /// All cpus of its module: those it shares a mid-level (L2) cache with and its siblings, itself included.
    pub module: Vec<usize>,
}

/// Core classes of a machine with unlike cores. Where all are alike, all are `Performance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoreClass {
    /// A fast core.
    Performance,
    /// A core built for little power.
    Efficiency,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Size in bytes.
    pub bytes: usize,
    /// Ids of all cpus that share it, allowed or not.
    pub cpus: Vec<usize>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The operating system's number.
    pub id: usize,
    /// Ids of all its cpus, allowed or not.
    pub cpus: Vec<usize>,
    /// Its memory in bytes, where the machine tells.
    pub memory: Option<u64>,
}

impl Topology {
    /// The machine this process runs on.
    ///
    /// It is found once per process, so that pinning threads later does not change it. What the operating system does
    /// not tell (outside Linux, or in a sandbox without `/sys`) has defaults.
    pub fn detect() -> Topology {
        static FOUND: OnceLock<Topology> = OnceLock::new();
        FOUND
            .get_or_init(|| {
                let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
                Topology::read(Path::new("/"), Simd::detect(), cpus)
            })
            .clone()
    }

    /// Reads the machine from the `proc` and `sys` trees under `root`, which may be copies of another machine's.
    /// `fallback` is the number of cpus to assume where the trees do not tell.
    pub fn read(root: &Path, simd: Simd, fallback: usize) -> Topology {
        sysfs::read_topology(root, simd, fallback.max(1))
    }

    /// Default number of workers, 1 to [`MAX_WORKERS`]: the allowed cpus, or the quota, rounded up, where that is less.
    /// It is rounded up because the tuner tries fewer workers but never more.
    pub fn workers(&self) -> usize {
        let cpus = self.cpus.len().clamp(1, MAX_WORKERS);
        match self.quota {
            Some(quota) => (quota.ceil() as usize).clamp(1, cpus),
            None => cpus,
        }
    }

    /// How many threads can compute at once on average: the allowed cpus, or the quota where that is less.
    pub fn parallelism(&self) -> f64 {
        let cpus = self.cpus.len().max(1) as f64;
        self.quota.map_or(cpus, |quota| quota.min(cpus))
    }

    /// Number of cores that have an allowed cpu.
    pub fn cores(&self) -> usize {
        self.cores_of(None)
    }

    /// The cache one worker has to itself, in bytes: what its working set should fit in.
    ///
    /// A core's share of a cache is the size divided by the cpus that use the cache (SMT siblings, or the cores of a
    /// module). The result is the largest share of a core's first and second level data caches, and of those the
    /// smallest over the performance cores, since all workers get tiles of one size. Outer levels do not count, even
    /// where only one of their cpus is visible: in a virtual machine the others belong to its neighbours.
    pub fn private_cache(&self) -> usize {
        let share = |cpu: &Cpu| {
            self.caches_of(cpu.id)
                .filter(|cache| cache.level <= 2 && cache.kind != CacheKind::Instruction)
                .map(|cache| cache.bytes / cache.cpus.len().max(1))
                .max()
        };
        let of = |class| self.cpus.iter().filter(move |cpu| cpu.class == class);
        of(CoreClass::Performance)
            .filter_map(share)
            .min()
            .or_else(|| of(CoreClass::Efficiency).filter_map(share).min())
            .filter(|&bytes| bytes > 0)
            .unwrap_or(DEFAULT_PRIVATE_CACHE)
    }

    /// The largest cache, in bytes: what the buffers of a stream should fit in. `None` where the machine does not tell.
    pub fn outer_cache(&self) -> Option<usize> {
        let data = |cache: &&Cache| cache.kind != CacheKind::Instruction;
        self.caches.iter().filter(data).map(|c| c.bytes).max()
    }

    /// A short, stable text that differs between machines on which different plans win: model, cores and cpus in use,
    /// SIMD level, data caches. It has letters, digits and `-+.;=` only.
    pub fn machine_key(&self) -> String {
        let mut key = String::new();
        for c in self.model.chars() {
            if c.is_ascii_alphanumeric() || c == '.' {
                key.push(c.to_ascii_lowercase());
            } else if !key.is_empty() && !key.ends_with('-') {
                key.push('-');
            }
        }
        let mut key = key.trim_end_matches('-').to_owned();
        let fast = self.cores_of(Some(CoreClass::Performance));
        let small = self.cores_of(Some(CoreClass::Efficiency));
        key.push_str(&match (fast, small) {
            (cores, 0) | (0, cores) => format!(";cores={cores}"),
            (fast, small) => format!(";cores={fast}p+{small}e"),
        });
        key.push_str(&format!(";workers={};simd={}", self.workers(), self.simd));
        for level in 1..=4 {
            let largest = self
                .caches
                .iter()
                .filter(|c| c.level == level && c.kind != CacheKind::Instruction)
                .map(|c| c.bytes)
                .max();
            if let Some(bytes) = largest {
                key.push_str(&format!(";l{level}={}k", bytes >> 10));
            }
        }
        key
    }

    fn cores_of(&self, class: Option<CoreClass>) -> usize {
        let mut cores: Vec<usize> = self
            .cpus
            .iter()
            .filter(|cpu| class.is_none_or(|class| cpu.class == class))
            .map(|cpu| cpu.core)
            .collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len()
    }

    fn cpu(&self, id: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    fn caches_of(&self, cpu: usize) -> impl Iterator<Item = &Cache> {
        self.caches
            .iter()
            .filter(move |cache| cache.cpus.contains(&cpu))
    }
}

#[cfg(test)]
mod tests;
