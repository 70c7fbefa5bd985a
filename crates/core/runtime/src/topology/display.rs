//! The topology as readable text.

use std::fmt;

use super::cpulist::format_list;
use super::{CacheKind, CoreClass, Topology};
use crate::quantity::Size;

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<9} {}", "model", self.model)?;
        writeln!(f, "{:<9} {}", "cores", self.cores_text())?;
        writeln!(f, "{:<9} {}", "cpus", self.cpus_text())?;
        writeln!(f, "{:<9} {}", "simd", self.simd)?;
        for (label, text) in self.cache_lines() {
            writeln!(f, "{label:<9} {text}")?;
        }
        for node in &self.nodes {
            write!(
                f,
                "{:<9} cpus {}",
                format!("node {}", node.id),
                format_list(&node.cpus)
            )?;
            match node.memory {
                Some(bytes) => writeln!(f, ", {}", Size(bytes))?,
                None => writeln!(f)?,
            }
        }
        write!(
            f,
            "{:<9} {}, {} of private cache each",
            "workers",
            self.workers(),
            Size(self.private_cache() as u64)
        )
    }
}

impl Topology {
    fn cores_text(&self) -> String {
        let fast = self.cores_of(Some(CoreClass::Performance));
        let small = self.cores_of(Some(CoreClass::Efficiency));
        let mut packages: Vec<usize> = self.cpus.iter().map(|cpu| cpu.package).collect();
        packages.sort_unstable();
        packages.dedup();
        let cores = match (fast, small) {
            (cores, 0) => format!("{cores}"),
            (0, small) => format!("{small} efficiency"),
            (fast, small) => format!("{fast} performance, {small} efficiency"),
        };
        match packages.len() {
            0 | 1 => cores,
            n => format!("{cores}, in {n} packages"),
        }
    }

    fn cpus_text(&self) -> String {
        let ids: Vec<usize> = self.cpus.iter().map(|cpu| cpu.id).collect();
        let mut text = format!("{} ({})", ids.len(), format_list(&ids));
        if self.online > ids.len() {
            text.push_str(&format!(" of {} online", self.online));
        }
        if let Some(quota) = self.quota {
            text.push_str(&format!(", quota of {:.2} cpus", quota));
        }
        text
    }

    /// One line per level, kind, size and number of sharers: `L2  2 × 1 MiB`.
    fn cache_lines(&self) -> Vec<(String, String)> {
        let mut groups: Vec<((u8, CacheKind, usize, usize), usize)> = Vec::new();
        for cache in &self.caches {
            let group = (cache.level, cache.kind, cache.bytes, cache.cpus.len());
            match groups.iter_mut().find(|(key, _)| *key == group) {
                Some((_, count)) => *count += 1,
                None => groups.push((group, 1)),
            }
        }
        groups
            .into_iter()
            .map(|((level, kind, bytes, sharers), count)| {
                let letter = match kind {
                    CacheKind::Data => "d",
                    CacheKind::Instruction => "i",
                    CacheKind::Unified => "",
                };
                let mut text = format!("{count} \u{d7} {}", Size(bytes as u64));
                if sharers > 1 {
                    text.push_str(&format!(", shared by {sharers} cpus"));
                }
                (format!("L{level}{letter}"), text)
            })
            .collect()
    }
}
