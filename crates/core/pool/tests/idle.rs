//! A pool that has nothing to do uses no CPU time. A program of its own, as tests share theirs.
#![cfg(target_os = "linux")]

use std::time::Duration;

use evener_pool::ThreadPoolBuilder;

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok())
        .filter_map(|stat| stat.split(' ').next()?.parse().ok())
        .map(Duration::from_nanos)
        .sum()
}

fn sum(n: u64) -> u64 {
    match n {
        0 => 1,
        _ => {
            let (a, b) = evener_pool::join(|| sum(n - 1), || sum(n - 1));
            a + b
        }
    }
}

#[test]
fn workers_sleep_when_there_is_nothing_to_do() {
    let pool = ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    assert_eq!(pool.install(|| sum(16)), 1 << 16);
    assert_eq!(sum(16), 1 << 16);
    std::thread::sleep(Duration::from_millis(50));
    let before = cpu_time();
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu_time() - before;
    assert!(used < Duration::from_millis(1), "{used:?} in a second");
}
