//! Reads the topology from Linux's `proc` and `sys` trees.
//!
//! Formats: the kernel's `Documentation/ABI/testing/sysfs-devices-system-cpu` and `admin-guide/cputopology.rst`.
//! Every file may be missing; each has a default of its own.

use std::path::Path;

use super::cpulist::{parse_list, parse_size};
use super::files::{read, read_list, read_number};
use super::{Cache, CacheKind, CoreClass, Cpu, Node, Simd, Topology, cgroup};

/// Cores are of two classes if the faster ones exceed the slower ones by this factor. The turbo bins of like cores
/// differ by less, the classes of known hybrid processors by more.
const CLASS_RATIO: f64 = 1.25;

pub(super) fn read_topology(root: &Path, simd: Simd, fallback: usize) -> Topology {
    let base = root.join("sys/devices/system/cpu");
    let online = read_list(&base.join("online")).unwrap_or_default();
    let mut allowed = allowed(root).unwrap_or_else(|| online.clone());
    match online.is_empty() {
        false => allowed.retain(|cpu| online.contains(cpu)),
        // The list of a process that nothing narrows holds every number a cpu could have.
        true => allowed.truncate(fallback),
    }
    if allowed.is_empty() {
        allowed = (0..fallback).collect();
    }
    let caches = caches(&base, &allowed);
    let nodes = nodes(root, &allowed);
    let classes = classes(root, &allowed);
    let mut cores: Vec<Vec<usize>> = Vec::new();
    let mut cpus = Vec::with_capacity(allowed.len());
    for (&id, class) in allowed.iter().zip(classes) {
        let dir = base.join(format!("cpu{id}/topology"));
        let with_self = |list: Option<Vec<usize>>| list.filter(|list| list.contains(&id));
        let siblings = with_self(read_list(&dir.join("core_cpus_list")))
            .or_else(|| with_self(read_list(&dir.join("thread_siblings_list"))))
            .unwrap_or_else(|| vec![id]);
        let core = cores
            .iter()
            .position(|core| *core == siblings)
            .unwrap_or_else(|| {
                cores.push(siblings.clone());
                cores.len() - 1
            });
        let mut module = caches
            .iter()
            .find(|cache| cache.level == 2 && cache.cpus.contains(&id))
            .map(|cache| cache.cpus.clone())
            .or_else(|| with_self(read_list(&dir.join("cluster_cpus_list"))))
            .unwrap_or_default();
        module.extend(&siblings);
        module.sort_unstable();
        module.dedup();
        cpus.push(Cpu {
            id,
            core,
            // Machines without sockets write -1.
            package: read_number(&dir.join("physical_package_id")).unwrap_or(0),
            node: nodes
                .iter()
                .find(|node| node.cpus.contains(&id))
                .map_or(0, |node| node.id),
            class,
            siblings,
            module,
        });
    }
    Topology {
        model: model(root),
        simd,
        online: online.len().max(cpus.len()),
        cpus,
        quota: cgroup::quota(root),
        caches,
        nodes,
    }
}

/// The affinity mask of the process's main thread. Other threads may be pinned, as workers are, and do not narrow what
/// the process may use.
fn allowed(root: &Path) -> Option<Vec<usize>> {
    let status = read(&root.join("proc/self/status"))?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_list(list)
}

fn caches(base: &Path, allowed: &[usize]) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for &cpu in allowed {
        for index in 0.. {
            let dir = base.join(format!("cpu{cpu}/cache/index{index}"));
            let Some(level) = read_number(&dir.join("level")) else {
                break;
            };
            let Some(cache) = cache(&dir, level, cpu) else {
                continue;
            };
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
    }
    caches.sort_by(|a, b| (a.level, a.kind, &a.cpus).cmp(&(b.level, b.kind, &b.cpus)));
    caches
}

fn cache(dir: &Path, level: usize, cpu: usize) -> Option<Cache> {
    let kind = match read(&dir.join("type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    let bytes = parse_size(&read(&dir.join("size"))?)?;
    let cpus = read_list(&dir.join("shared_cpu_list"))
        .filter(|cpus| cpus.contains(&cpu))
        .unwrap_or_else(|| vec![cpu]);
    Some(Cache {
        level: u8::try_from(level).ok()?,
        kind,
        bytes,
        cpus,
    })
}

fn nodes(root: &Path, allowed: &[usize]) -> Vec<Node> {
    let base = root.join("sys/devices/system/node");
    let ids = read_list(&base.join("online")).unwrap_or_default();
    let node = |id: usize| {
        let dir = base.join(format!("node{id}"));
        let cpus = read_list(&dir.join("cpulist"))?;
        let memory = read(&dir.join("meminfo")).and_then(|text| {
            let line = text.lines().find(|line| line.contains("MemTotal:"))?;
            let kib: u64 = line.split_whitespace().rev().nth(1)?.parse().ok()?;
            kib.checked_mul(1024)
        });
        cpus.iter()
            .any(|cpu| allowed.contains(cpu))
            .then_some(Node { id, cpus, memory })
    };
    ids.into_iter().filter_map(node).collect()
}

/// The class of each allowed cpu: what the processor itself says, where the kernel passes it on; else from capacity;
/// else from frequency.
fn classes(root: &Path, allowed: &[usize]) -> Vec<CoreClass> {
    let devices = root.join("sys/devices");
    let types = |name: &str| read_list(&devices.join(name).join("cpus")).unwrap_or_default();
    let fast = types("cpu_core");
    if !fast.is_empty() {
        let small: Vec<usize> = [types("cpu_atom"), types("cpu_lowpower")].concat();
        let class = |cpu| {
            let small = small.contains(cpu) && !fast.contains(cpu);
            if small {
                CoreClass::Efficiency
            } else {
                CoreClass::Performance
            }
        };
        return allowed.iter().map(class).collect();
    }
    // All cores of the machine are compared, not only the allowed ones: a process confined to the efficiency cores is
    // still on efficiency cores.
    let base = devices.join("system/cpu");
    let online = read_list(&base.join("online")).unwrap_or_else(|| allowed.to_vec());
    [
        "cpu_capacity",
        "cpufreq/base_frequency",
        "cpufreq/cpuinfo_max_freq",
    ]
    .iter()
    .find_map(|file| {
        let speed = |cpu: &usize| read_number(&base.join(format!("cpu{cpu}")).join(file));
        let bound = class_bound(online.iter().filter_map(speed).collect())?;
        Some(
            allowed
                .iter()
                .map(|cpu| match speed(cpu) {
                    Some(speed) if speed < bound => CoreClass::Efficiency,
                    _ => CoreClass::Performance,
                })
                .collect(),
        )
    })
    .unwrap_or_else(|| vec![CoreClass::Performance; allowed.len()])
}

/// The least speed of the faster class, if the widest step between speeds makes two classes. So processors with three
/// classes keep their medium and their fastest cores together.
fn class_bound(mut speeds: Vec<usize>) -> Option<usize> {
    speeds.retain(|&speed| speed > 0);
    speeds.sort_unstable();
    speeds
        .windows(2)
        .map(|pair| (pair[1] as f64 / pair[0] as f64, pair[1]))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(ratio, _)| *ratio >= CLASS_RATIO)
        .map(|(_, bound)| bound)
}

fn model(root: &Path) -> String {
    let info = read(&root.join("proc/cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, value)| key.trim() == name && !value.trim().is_empty())
            .map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let board = || {
        let text = read(&root.join("sys/firmware/devicetree/base/model"))?;
        let text = text.trim_end_matches('\0').trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let part = || {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!(
            "{} implementer {maker} part {part}",
            std::env::consts::ARCH
        ))
    };
    field("model name")
        .or_else(board)
        .or_else(part)
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
