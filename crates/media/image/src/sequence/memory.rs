//! Whether there is memory for more frames. `reverse` and `loop` keep all that they read, and running out of memory would end
//! the process, or another one, without a word.

/// The share of memory that is left to others.
const LEFT: u64 = 16;

/// Whether there is; where nothing is known of it, there is.
pub(super) fn is_left() -> bool {
    let Ok(text) = std::fs::read_to_string("/proc/meminfo") else {
        return true;
    };
    is_left_by(&text)
}

fn is_left_by(text: &str) -> bool {
    let value = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    match (value("MemAvailable:"), value("MemTotal:")) {
        (Some(available), Some(all)) => available >= all / LEFT,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_of_memory_is_left_alone() {
        let text = |available: u64| {
            format!("MemTotal:  1600 kB\nMemFree: 3 kB\nMemAvailable:  {available} kB\n")
        };
        assert!(is_left_by(&text(100)));
        assert!(!is_left_by(&text(99)));
        assert!(is_left_by("Mem: 5"));
    }
}
