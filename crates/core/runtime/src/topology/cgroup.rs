//! The CPU time that the control groups of this process allow.

use std::path::{Path, PathBuf};

use super::files::read;

/// The tightest processor quota over this process's control groups and all their ancestors, in cpus
/// (1.5 = one and a half cpus' worth of time); `None` if nothing limits it.
///
/// Formats: the kernel's `cgroup-v2.rst` (`cpu.max`) and `sched-bwc.rst` (`cpu.cfs_quota_us`).
pub(super) fn quota(root: &Path) -> Option<f64> {
    let memberships = read(&root.join("proc/self/cgroup"))?;
    let limits = memberships.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next().unwrap_or_default();
        let group = fields.next().unwrap_or_default();
        let mounts: &[&str] = if controllers.is_empty() {
            &["sys/fs/cgroup", "sys/fs/cgroup/unified"]
        } else if controllers.split(',').any(|name| name == "cpu") {
            &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]
        } else {
            &[]
        };
        mounts
            .iter()
            .flat_map(|mount| limits_upwards(&root.join(mount), group))
            .collect::<Vec<_>>()
    });
    limits.min_by(f64::total_cmp)
}

/// The limits of a group and of every group above it, up to the mount point. Inside a container the group's path may
/// not exist below the mount point. Then the mount point is the group.
fn limits_upwards(mount: &Path, group: &str) -> Vec<f64> {
    let group = group.trim().trim_start_matches('/');
    let below: PathBuf = if group.split('/').any(|part| part == "..") {
        PathBuf::new()
    } else {
        group.into()
    };
    below
        .ancestors()
        .filter_map(|part| limit(&mount.join(part)))
        .collect()
}

fn limit(group: &Path) -> Option<f64> {
    let (quota, period) = match read(&group.join("cpu.max")) {
        Some(max) => {
            let mut fields = max.split_whitespace().map(str::to_owned);
            (fields.next()?, fields.next()?)
        }
        None => (
            read(&group.join("cpu.cfs_quota_us"))?,
            read(&group.join("cpu.cfs_period_us"))?,
        ),
    };
    // No limit is written as `max` in version 2 and as -1 in version 1.
    let quota: f64 = quota.parse().ok()?;
    let period: f64 = period.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn the_tightest_group_above_counts() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "0::/a/b\n");
        assert_eq!(quota(tree.root()), None);
        tree.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        assert_eq!(quota(tree.root()), None);
        tree.file("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
        assert_eq!(quota(tree.root()), Some(1.5));
        tree.file("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
        assert_eq!(quota(tree.root()), Some(1.5));
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount_point() {
        let tree = Tree::new();
        tree.file("sys/fs/cgroup/cpu.max", "200000 100000\n");
        tree.file("sys/outside/cpu.max", "100000 100000\n");
        for group in ["0::/\n", "0::/not/visible/here\n", "0::/../../outside\n"] {
            tree.file("proc/self/cgroup", group);
            assert_eq!(quota(tree.root()), Some(2.0), "{group}");
        }
    }

    #[test]
    fn version_1_counts_too() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "5:memory:/m\n2:cpu,cpuacct:/box\n");
        tree.file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n");
        tree.file(
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us",
            "100000\n",
        );
        tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(tree.root()), Some(0.5));
    }

    #[test]
    fn damaged_limits_limit_nothing() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "0::/\nrubbish\n::\n");
        for text in ["", "max", "100000", "1 0", "-5 100000", "x y", "nan nan"] {
            tree.file("sys/fs/cgroup/cpu.max", text);
            assert_eq!(quota(tree.root()), None, "{text}");
        }
    }
}
