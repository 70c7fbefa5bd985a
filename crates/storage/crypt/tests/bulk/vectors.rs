//! Reading published vectors; levels and bytes to test with.

use std::collections::HashMap;
use std::path::PathBuf;

use evener_crypt::Variant;
use evener_runtime::Simd;

/// One level for each variant this machine can run.
pub fn levels() -> Vec<Simd> {
    let mut levels = Simd::levels();
    levels.dedup_by_key(|&mut simd| Variant::of(simd));
    levels
}

/// Bytes without a pattern that a wrong offset could meet again.
pub fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

pub fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
        .collect()
}

pub fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cases of a CAVP file: what stands in lines of the form `NAME = HEX`, and the section, as `ENCRYPT`.
pub fn cavp(name: &str) -> Vec<HashMap<String, String>> {
    let mut section = String::new();
    let mut cases: Vec<HashMap<String, String>> = Vec::new();
    for line in read(name).lines().map(str::trim) {
        if let Some(inner) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = inner.to_owned();
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim().to_uppercase();
            if key == "COUNT" {
                cases.push(HashMap::from([("SECTION".to_owned(), section.clone())]));
            }
            if let Some(case) = cases.last_mut() {
                case.insert(key, value.trim().to_owned());
            }
        }
    }
    assert!(!cases.is_empty(), "{name}");
    cases
}
