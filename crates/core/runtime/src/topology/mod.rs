//! The topology of the machine: CPUs, cores and their classes, caches and the CPUs that share them, NUMA nodes, SIMD
//! level.
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

/// The value of [`Topology::private_cache`] if the machine does not report it, in bytes.
pub const DEFAULT_PRIVATE_CACHE: usize = 256 << 10;

/// The part of the machine that this process may use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Topology {
    /// The CPU model, or the architecture if there is no name.
    pub model: String,
    /// The SIMD level for kernels, already lowered by `EVENER_CPU`.
    pub simd: Simd,
    /// Logical CPUs that this process may use, in ascending order. Never empty.
    pub cpus: Vec<Cpu>,
    /// The number of online logical CPUs, allowed or not.
    pub online: usize,
    /// CPU time that the control group allows, in CPUs; `None` if unlimited.
    pub quota: Option<f64>,
    /// Caches that at least one allowed CPU uses, by level, kind and CPUs. Empty if the machine does not report them.
    pub caches: Vec<Cache>,
    /// NUMA nodes with an allowed CPU. Empty if the machine does not report them.
    pub nodes: Vec<Node>,
}

/// A logical CPU, on which the operating system schedules a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// The operating system's number, as used for thread affinity.
    pub id: usize,
    /// The core, counted from 0 over the allowed cpus of all packages.
    pub core: usize,
    /// The package (socket).
    pub package: usize,
    /// The NUMA node.
    pub node: usize,
    /// The class of its core.
    pub class: CoreClass,
    /// All CPUs of its core (SMT siblings), including itself, allowed or not.
    pub siblings: Vec<usize>,
    /// All CPUs of its module: those that share a mid-level (L2) cache with it, and its siblings, including itself.
    pub module: Vec<usize>,
}

/// Core classes of a machine with different kinds of cores. If all cores are alike, all are `Performance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoreClass {
    /// A fast core.
    Performance,
    /// A core built for low power.
    Efficiency,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// The level; 1 is nearest to the core.
    pub level: u8,
    /// The kind of contents.
    pub kind: CacheKind,
    /// Size in bytes.
    pub bytes: usize,
    /// IDs of all CPUs that share it, allowed or not.
    pub cpus: Vec<usize>,
}

/// The kind of contents of a cache.
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
    /// IDs of all its CPUs, allowed or not.
    pub cpus: Vec<usize>,
    /// Its memory in bytes, if the machine reports it.
    pub memory: Option<u64>,
}

impl Topology {
    /// Returns the topology of this machine.
    ///
    /// It is detected once per process, so that pinning threads later does not change it. Properties that the
    /// operating system does not report (outside Linux, or in a sandbox without `/sys`) have defaults.
    pub fn detect() -> Topology {
        static FOUND: OnceLock<Topology> = OnceLock::new();
        FOUND
            .get_or_init(|| {
                let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
                Topology::read(Path::new("/"), Simd::detect(), cpus)
            })
            .clone()
    }

    /// Reads the topology from the `proc` and `sys` trees under `root`, which may be copies of another machine's.
    /// `fallback` is the number of CPUs to assume if the trees do not report it.
    pub fn read(root: &Path, simd: Simd, fallback: usize) -> Topology {
        sysfs::read_topology(root, simd, fallback.max(1))
    }

    /// The default number of workers, 1 to [`MAX_WORKERS`]: the number of allowed CPUs, or the quota, rounded up, if
    /// that is smaller. It is rounded up because the tuner tries fewer workers but never more.
    pub fn workers(&self) -> usize {
        let cpus = self.cpus.len().clamp(1, MAX_WORKERS);
        match self.quota {
            Some(quota) => (quota.ceil() as usize).clamp(1, cpus),
            None => cpus,
        }
    }

    /// The average number of threads that can compute at once: the number of allowed CPUs, or the quota if that is
    /// smaller.
    pub fn parallelism(&self) -> f64 {
        let cpus = self.cpus.len().max(1) as f64;
        self.quota.map_or(cpus, |quota| quota.min(cpus))
    }

    /// The number of cores with an allowed CPU.
    pub fn cores(&self) -> usize {
        self.cores_of(None)
    }

    /// The private cache of one worker, in bytes: its working set should fit.
    ///
    /// A core's share of a cache is the size divided by the CPUs that use the cache (SMT siblings, or the cores of a
    /// module). The result is the largest share of a core's first- and second-level data caches, and of those the
    /// smallest over the performance cores, since all workers get tiles of one size. Outer levels do not count, even
    /// if only one of their CPUs is visible: in a virtual machine the others belong to its neighbours.
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

    /// The largest cache, in bytes: the buffers of a stream should fit. `None` if the machine does not report it.
    pub fn outer_cache(&self) -> Option<usize> {
        let data = |cache: &&Cache| cache.kind != CacheKind::Instruction;
        self.caches.iter().filter(data).map(|c| c.bytes).max()
    }

    /// A short, stable text that differs between machines with different best plans: model, cores and CPUs in use,
    /// SIMD level, data caches. It consists of letters, digits and `-+.;=`.
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
