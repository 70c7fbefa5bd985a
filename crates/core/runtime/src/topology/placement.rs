//! The CPUs to which workers are pinned, relative to the CPU for input and output.

use super::{Cpu, Topology};
use crate::named::Placement;

/// The placement of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The CPU set of worker 0, 1, …, for `Pool::place`; an empty set is unpinned.
    pub cpus: Vec<Vec<usize>>,
    /// What was done instead, if the machine does not allow the request.
    pub note: Option<String>,
}

impl Topology {
    /// Returns CPU sets for `workers` workers while input and output run on `io_cpu`.
    ///
    /// Each worker gets a CPU of its own while there are enough. One CPU of every core comes first, then SMT
    /// siblings. Performance cores come before efficiency cores, and cores that share a cache with `io_cpu` before
    /// others. If there are more workers than CPUs, each may use all of those CPUs, and the operating system balances
    /// the load.
    pub fn placement(&self, placement: Placement, workers: usize, io_cpu: usize) -> Placed {
        if placement == Placement::None {
            return Placed {
                cpus: vec![Vec::new(); workers],
                note: None,
            };
        }
        let mut notes = Vec::new();
        let io = match (self.cpu(io_cpu), self.cpus.first()) {
            (Some(cpu), _) => cpu,
            (None, Some(first)) => {
                let first_id = first.id;
                notes.push(format!(
                    "cpu {io_cpu} is not among this process's cpus; cpu {first_id} is used for input and output"
                ));
                first
            }
            (None, None) => {
                return Placed {
                    cpus: vec![Vec::new(); workers],
                    note: None,
                };
            }
        };
        let near = self.nearest(io);
        let without = |off: &[usize]| -> Vec<usize> {
            near.iter()
                .copied()
                .filter(|cpu| !off.contains(cpu))
                .collect()
        };
        let mut off_io = without(&[io.id]);
        let off_module = without(&io.module);
        if placement == Placement::IoDiff {
            // Siblings of the I/O cpu compete with it most, so they come last.
            off_io.sort_by_key(|cpu| io.siblings.contains(cpu));
        }
        let cpus = match placement {
            Placement::IoSame if workers > 0 => {
                let own = assign(&off_io, &near, workers - 1);
                std::iter::once(vec![io.id]).chain(own).collect()
            }
            Placement::ModuleDiff if !off_module.is_empty() => {
                assign(&off_module, &off_module, workers)
            }
            Placement::IoDiff | Placement::ModuleDiff if !off_io.is_empty() => {
                if placement == Placement::ModuleDiff {
                    notes.push(format!(
                        "{placement}: all cpus share the core module of cpu {}; {} is used",
                        io.id,
                        Placement::IoDiff
                    ));
                }
                assign(&off_io, &off_io, workers)
            }
            Placement::IoDiff | Placement::ModuleDiff => {
                notes.push(format!(
                    "{placement}: there is no cpu beside cpu {}; workers are not pinned",
                    io.id
                ));
                vec![Vec::new(); workers]
            }
            Placement::None | Placement::IoSame => vec![Vec::new(); workers],
        };
        Placed {
            cpus,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }

    /// A cpu set for each of as many workers as there are cpus, with one cpu in it: `first` for worker 0 if there is
    /// such a cpu.
    pub(crate) fn one_each(&self, first: Option<usize>) -> Vec<Vec<usize>> {
        let mut cpus: Vec<usize> = self.cpus.iter().map(|cpu| cpu.id).collect();
        if let Some(here) = cpus.iter().position(|&cpu| Some(cpu) == first) {
            cpus.swap(0, here);
        }
        cpus.into_iter().map(|cpu| vec![cpu]).collect()
    }

    /// All cpus in the order workers should take them, `io` first.
    fn nearest(&self, io: &Cpu) -> Vec<usize> {
        let mut order: Vec<_> = self
            .cpus
            .iter()
            .map(|cpu| {
                let rank = |id: usize| (id != io.id, id);
                let before = |other: &&Cpu| other.core == cpu.core && rank(other.id) < rank(cpu.id);
                let smt = self.cpus.iter().filter(before).count();
                (
                    (
                        cpu.id != io.id,
                        smt,
                        cpu.class,
                        self.distance(cpu, io),
                        cpu.id,
                    ),
                    cpu.id,
                )
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// 1 to 4: the level of the innermost shared cache; then same node, same package, another package.
    fn distance(&self, a: &Cpu, b: &Cpu) -> u8 {
        let shared = self
            .caches_of(a.id)
            .filter(|cache| cache.cpus.contains(&b.id))
            .map(|cache| cache.level.min(4))
            .min();
        match shared {
            Some(level) => level,
            None if a.module.contains(&b.id) => 2,
            None if a.package != b.package => 7,
            None if a.node != b.node => 6,
            None => 5,
        }
    }
}

/// One of `cpus` for each worker while they suffice, otherwise `all` for each.
fn assign(cpus: &[usize], all: &[usize], workers: usize) -> Vec<Vec<usize>> {
    if workers <= cpus.len() {
        return cpus[..workers].iter().map(|&cpu| vec![cpu]).collect();
    }
    let mut all = all.to_vec();
    all.sort_unstable();
    vec![all; workers]
}
