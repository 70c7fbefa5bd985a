//! The kernel's text formats for sets of CPUs and for sizes.

/// Ids beyond this are taken for damage: a range such as `0-4294967295` must not fill memory.
const MAX_CPU: usize = 1 << 16;

/// Reads a cpu list such as `0-3,8,10-11` into ascending ids; `None` if it is not one.
/// An empty text is the empty set (a NUMA node that has memory only).
pub(super) fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Writes ascending ids as a cpu list: `0-3,8`.
pub(super) fn format_list(cpus: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest
            .iter()
            .zip(first..)
            .take_while(|(cpu, expected)| *cpu == expected)
            .count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push_str(&format!("-{}", first + run - 1));
        }
        rest = &rest[run..];
    }
    text
}

/// Reads a size such as `48K`, `2M` or `512` into bytes.
pub(super) fn parse_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'K' | 'k') => (&text[..at], 1 << 10),
        (at, 'M' | 'm') => (&text[..at], 1 << 20),
        (at, 'G' | 'g') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits
        .parse::<usize>()
        .ok()?
        .checked_mul(unit)
        .filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_and_write() {
        for (text, cpus) in [
            ("", vec![]),
            ("0", vec![0]),
            ("0-3", vec![0, 1, 2, 3]),
            ("0-1,8,10-11", vec![0, 1, 8, 10, 11]),
        ] {
            assert_eq!(parse_list(text), Some(cpus.clone()), "{text}");
            assert_eq!(
                parse_list(&format!("{text}\n")),
                Some(cpus.clone()),
                "{text}"
            );
            assert_eq!(format_list(&cpus), text);
        }
        assert_eq!(
            parse_list("8,0-2,1"),
            Some(vec![0, 1, 2, 8]),
            "order and doubles do not matter"
        );
    }

    #[test]
    fn damaged_lists_are_refused() {
        for text in [
            "x",
            "3-1",
            "0-4294967295",
            "1-",
            "-1",
            "0;1",
            "18446744073709551616",
        ] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_read() {
        assert_eq!(parse_size("48K\n"), Some(48 << 10));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("512"), Some(512));
        for text in [
            "",
            "K",
            "0K",
            "-1K",
            "99999999999999999999",
            "18446744073709551615G",
        ] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }
}
