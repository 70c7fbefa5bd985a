//! The test files of XZ Utils: what a reader is to do with each is the beginning of its name.

use std::fs;

use evener_block::session::SessionError;
use evener_block::{Error, Image};

use crate::common::{Folder, fixture, has, unpacked, verified};

/// Names and files that begin so.
fn files(prefix: &str) -> Vec<(String, std::path::PathBuf)> {
    let entries = fs::read_dir(fixture("xz")).unwrap().map(Result::unwrap);
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    let mut files: Vec<_> = named
        .filter(|(name, _)| name.starts_with(prefix) && name.ends_with(".xz"))
        .collect();
    files.sort();
    files
}

#[test]
fn good_files_are_read_as_xz_reads_them() {
    let (folder, with) = (Folder::in_memory(), has("xz"));
    let good = files("good-");
    assert_eq!(good.len(), 22);
    for (name, path) in good {
        let ours = unpacked(&folder, &path, "auto").unwrap_or_else(|error| panic!("{error}"));
        let found = verified(&path).unwrap();
        assert!(found.good, "{found}");
        if with {
            let done = std::process::Command::new("xz")
                .arg("-dc")
                .arg(&path)
                .output();
            let done = done.unwrap();
            // Some releases of xz know fewer filters.
            if done.status.success() {
                assert!(done.stdout == ours, "{name}");
            }
        }
    }
}

#[test]
fn bad_files_are_refused() {
    let folder = Folder::in_memory();
    let bad = files("bad-");
    assert_eq!(bad.len(), 44);
    for (name, path) in bad {
        match unpacked(&folder, &path, "auto") {
            Ok(bytes) => panic!("{name} is read as {} bytes", bytes.len()),
            Err(SessionError::Image(
                Error::Damaged { .. } | Error::Cut { .. } | Error::Block { .. },
            )) => {}
            // A block of more bytes than there is room for may be a good one.
            Err(error) => {
                let huge = name == "bad-1-index-huge-uncomp.xz";
                assert!(huge && error.to_string().contains("up to 4 MiB"), "{error}");
            }
        }
        assert!(!verified(&path).is_ok_and(|found| found.good), "{name}");
    }
}

#[test]
fn unsupported_files_are_said_to_be_that() {
    let unsupported = files("unsupported-");
    assert_eq!(unsupported.len(), 5);
    for (name, path) in unsupported {
        let error = Image::open(&path).unwrap_err();
        assert!(
            matches!(error, Error::Unsupported { .. }),
            "{name}: {error}"
        );
    }
}
