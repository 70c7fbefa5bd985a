//! Signals that the parent process had this one ignore.

use std::sync::OnceLock;

/// Whether the process was started with a signal ignored: `SigIgn` of `/proc/self/status`, see proc_pid_status(5).
pub fn is_ignored(signal: i32) -> bool {
    static MASK: OnceLock<u64> = OnceLock::new();
    MASK.get_or_init(|| mask().unwrap_or(0)) >> (signal - 1) & 1 == 1
}

fn mask() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
