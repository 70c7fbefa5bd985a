//! A disk that is written to, by libnbd: what it reads is compared with a model in memory, which knows nothing of
//! blocks, overlays and caches.

use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

use super::folder;
use super::serve::Server;
use crate::run::Folder;
use crate::signals::is_ignored;

const SERVE: &str = "image serve disk.zst --nbd unix:socket --overlay changes";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/image/model.py");

/// A Python that has libnbd, which a distribution installs for its own.
pub fn python() -> Option<&'static str> {
    let has = |python: &&str| {
        let mut command = Command::new(python);
        let command = command.args(["-c", "import nbd"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has);
    if found.is_none() {
        evener_testing::skip("python3-libnbd is not installed");
    }
    found
}

pub fn script(python: &str, folder: &Folder, job: &str) -> Output {
    let uri = format!("nbd+unix:///?socket={}", folder.path("socket").display());
    let mut command = Command::new(python);
    let command = command.args([SCRIPT, &uri, "model", job]);
    command.current_dir(folder.path("")).output().unwrap()
}

#[test]
fn a_disk_written_to_is_what_a_model_says_before_and_after_a_restart() {
    let Some(python) = python() else {
        return;
    };
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    std::fs::copy(folder.path("disk.img"), folder.path("model")).unwrap();
    for job in ["work", "check", "work"] {
        let server = Server::start(&folder, SERVE);
        let done = script(python, &folder, job);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{job}: {said}");
        let (_, said) = server.end(Signal::INT);
        assert!(!said.contains("cannot"), "{said}");
    }
}
