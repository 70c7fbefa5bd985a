//! What of a file stays on the one that is made of it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use super::{content, keyed, text};
use crate::run::Folder;

fn mode(folder: &Folder, name: &str) -> u32 {
    fs::metadata(folder.path(name)).unwrap().mode() & 0o777
}

#[test]
fn mode_and_time_come_back() {
    let folder = keyed();
    let plain = folder.file("plain", "#!/bin/sh\n");
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 0);
    let modified = |name: &str| fs::metadata(folder.path(name)).unwrap().modified().unwrap();
    folder.line("keygen --age -o identity").succeeded();
    // No umask of a test has an owner's bits.
    for rights in [0o700, 0o600, 0o500] {
        File::open(&plain).unwrap().set_modified(time).unwrap();
        fs::set_permissions(&plain, Permissions::from_mode(rights)).unwrap();
        for secret in ["-k key", "-i identity"] {
            folder
                .line(&format!("encrypt {secret} plain -o sealed"))
                .succeeded();
            folder
                .line(&format!("decrypt {secret} sealed -o back"))
                .succeeded();
            for name in ["sealed", "back"] {
                assert_eq!(mode(&folder, name), rights, "{name}");
                assert_eq!(modified(name), time, "{name}");
                assert!(mode(&folder, name) & 0o077 == 0);
            }
            let part = format!("decrypt {secret} --range 0-5 sealed -o part");
            folder.line(&part).succeeded();
            assert_ne!(modified("part"), time);
            for name in ["sealed", "back", "part"] {
                fs::remove_file(folder.path(name)).unwrap();
            }
        }
    }
}

#[test]
fn what_is_there_keeps_its_mode() {
    let folder = keyed();
    folder.file("plain", "text");
    folder.file_with_mode("out", "old", 0o640);
    folder.line("encrypt -k key plain -o out").succeeded();
    assert_eq!(mode(&folder, "out"), 0o640);
}

#[test]
fn zeros_take_no_space_once_they_are_decrypted() {
    let folder = keyed();
    let mut plain = vec![0; 8 << 20];
    plain[3 << 20..][..100].copy_from_slice(&text(100));
    let plain_len = plain.len();
    folder.file("plain", &plain);
    folder.line("keygen --age -o identity").succeeded();
    for secret in ["-k key", "-i identity"] {
        folder
            .line(&format!("encrypt {secret} plain -o sealed"))
            .succeeded();
        folder
            .line(&format!("decrypt {secret} sealed -o back"))
            .succeeded();
        assert!(content(&folder, "back") == plain);
        let space = |name: &str| fs::metadata(folder.path(name)).unwrap().blocks() * 512;
        assert!(space("sealed") >= plain_len as u64);
        assert!(space("back") < 1 << 20, "{}", space("back"));
        let through = folder.line(&format!("decrypt {secret} sealed"));
        assert!(through.succeeded().stdout == plain);
        let part = format!("decrypt {secret} --range 100-4000000 sealed -o part");
        folder.line(&part).succeeded();
        assert!(content(&folder, "part") == plain[100..4_000_000]);
    }
}
