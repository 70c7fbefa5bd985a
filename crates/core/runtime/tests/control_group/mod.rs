//! A control group of version 1 that limits threads to a share of a processor.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Gone when it is dropped; its threads go back to the group above.
pub struct ControlGroup(PathBuf);

impl ControlGroup {
    /// `None` where none can be made.
    pub fn with_quota(quota: Duration, period: Duration) -> Option<ControlGroup> {
        let path = Path::new("/sys/fs/cgroup/cpu").join(format!("evener-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = ControlGroup(path);
        let set = |file: &str, time: Duration| {
            fs::write(group.0.join(file), time.as_micros().to_string()).ok()
        };
        set("cpu.cfs_period_us", period)?;
        set("cpu.cfs_quota_us", quota)?;
        Some(group)
    }

    /// Takes the thread of this process that has a name.
    ///
    /// # Panics
    /// If there is none.
    pub fn take_thread(&self, name: &str) {
        let of = |path: PathBuf| {
            let comm = fs::read_to_string(path.join("comm")).ok()?;
            let id = path.file_name()?.to_string_lossy().into_owned();
            (comm.trim() == name).then_some(id)
        };
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let thread = tasks.flatten().find_map(|task| of(task.path()));
        fs::write(self.0.join("tasks"), thread.unwrap()).unwrap();
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let threads = fs::read_to_string(self.0.join("tasks")).unwrap_or_default();
        for thread in threads.lines() {
            // A thread that has ended meanwhile is in no group.
            let _ = fs::write("/sys/fs/cgroup/cpu/tasks", thread);
        }
        let _ = fs::remove_dir(&self.0);
    }
}
