//! Reading the small text files of `proc` and `sys`. Each may be missing.

use std::fs;
use std::path::Path;

use super::cpulist::parse_list;

pub(super) fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

pub(super) fn read_number(path: &Path) -> Option<usize> {
    read(path)?.parse().ok()
}

pub(super) fn read_list(path: &Path) -> Option<Vec<usize>> {
    parse_list(&read(path)?)
}
