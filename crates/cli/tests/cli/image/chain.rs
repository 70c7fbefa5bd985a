//! Overlays over one another.

use std::fs;

use rustix::process::Signal;

use super::model::{python, script};
use super::overlay::write;
use super::serve::{Server, client, read};
use super::{content, folder, json, tools};
use crate::run::Folder;
use crate::signals::is_ignored;

fn line(overlays: &[&str]) -> String {
    let overlays = overlays.iter().map(|name| format!(" --overlay {name}"));
    let overlays: String = overlays.collect();
    format!("image serve disk.zst --nbd unix:socket{overlays}")
}

/// Serves these overlays, and writes `bytes` at byte `at`.
fn written(folder: &Folder, overlays: &[&str], at: u64, bytes: &[u8]) {
    let server = Server::start(folder, &line(overlays));
    let (mut stream, _) = client(folder);
    assert_eq!(write(&mut stream, at, bytes), 0, "{}", server.line);
    drop(stream);
    server.end(Signal::INT);
}

fn packed() -> Folder {
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    folder
}

#[test]
fn each_snapshot_stays_as_it_was_under_the_next() {
    let Some(python) = python() else {
        return;
    };
    if is_ignored(Signal::INT) || !tools::has(&["nbdcopy"]) {
        return;
    }
    let folder = packed();
    fs::copy(folder.path("disk.img"), folder.path("model")).unwrap();
    let names = ["monday", "tuesday", "wednesday"];
    let mut before: Vec<Vec<u8>> = Vec::new();
    for count in 1..=names.len() {
        let overlays = &names[..count];
        let server = Server::start(&folder, &line(overlays));
        for job in ["check", "work", "check"] {
            let done = script(python, &folder, job);
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{overlays:?} {job}: {said}");
        }
        let socket = folder.path("socket");
        let uri = format!("nbd+unix:///?socket={}", socket.display());
        tools::run(&folder, &format!("nbdcopy {uri} copy.img"));
        assert!(content(&folder, "copy.img") == content(&folder, "model"));
        let (_, said) = server.end(Signal::INT);
        assert!(!said.contains("cannot"), "{said}");
        for (name, before) in overlays.iter().zip(&before) {
            assert!(content(&folder, name) == *before, "{name} was written");
        }
        before.push(content(&folder, overlays[count - 1]));
    }
    let info = folder.line("image info --json tuesday");
    let info = json(&info.succeeded().stdout);
    assert_eq!(
        (&info["base"], &info["base_format"]),
        (&"monday".into(), &"overlay".into())
    );
    let all = "--overlay monday --overlay tuesday --overlay wednesday";
    folder
        .line(&format!("image pack disk.zst all.zst {all}"))
        .succeeded();
    folder.line("image unpack all.zst all.img").succeeded();
    folder
        .line(&format!("image unpack disk.zst too.img {all}"))
        .succeeded();
    for image in ["all.img", "too.img"] {
        assert!(content(&folder, image) == content(&folder, "model"));
    }
}

#[test]
fn overlays_of_another_stack_are_refused() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = packed();
    written(&folder, &["monday"], 5000, &[1; 100]);
    let kept = content(&folder, "monday");
    written(&folder, &["monday", "tuesday"], 5050, &[2; 100]);
    let refused = |overlays: &[&str], parts: &[&str]| {
        folder.line(&line(overlays)).failed(1, parts);
        assert!(!folder.path("socket").exists());
    };
    let order = "name overlays in the order in which they were made";
    refused(
        &["tuesday", "monday"],
        &["tuesday: lies over monday", "not over disk.zst", order],
    );
    refused(&["tuesday"], &["tuesday: lies over monday", order]);
    refused(&["monday", "monday"], &["monday: in use by another evener"]);
    refused(&["none", "tuesday"], &["none: cannot open it", "No such"]);
    // A server that writes nothing changes nothing.
    Server::start(&folder, &line(&["monday"])).end(Signal::INT);
    let server = Server::start(&folder, &line(&["monday", "tuesday"]));
    let start = "writes go to tuesday (4 KiB so far), on top of monday; ";
    assert!(server.line.contains(start), "{}", server.line);
    let (mut stream, _) = client(&folder);
    let mut wanted = [1; 150];
    wanted[50..].fill(2);
    assert_eq!(read(&mut stream, 5000, 150).unwrap(), wanted);
    // Others may read the lower one, too, but nobody may write it.
    let other = line(&["monday"]).replace("socket", "other");
    folder.line(&other).failed(1, &["monday: in use"]);
    drop(stream);
    server.end(Signal::INT);
    // The same bytes in the same place are not known to be so.
    written(&folder, &["monday"], 5000, &[1; 100]);
    refused(
        &["monday", "tuesday"],
        &["tuesday: lies over monday as that was", "since"],
    );
    let pack = "image pack disk.zst out.zst --overlay monday --overlay tuesday";
    folder
        .line(pack)
        .failed(1, &["tuesday: lies over monday as that was", order]);
    folder.file("monday", kept);
    folder.line(pack).succeeded();
}

#[test]
fn a_snapshot_whose_server_was_killed_can_be_written_over() {
    let folder = packed();
    let server = Server::start(&folder, &line(&["monday"]));
    let (mut stream, _) = client(&folder);
    assert_eq!(write(&mut stream, 5000, &[1; 100]), 0);
    server.end(Signal::KILL);
    for value in [2, 3] {
        let server = Server::start(&folder, &line(&["monday", "tuesday"]));
        let (mut stream, _) = client(&folder);
        assert_eq!(read(&mut stream, 5000, 50).unwrap(), [1; 50]);
        assert_eq!(write(&mut stream, 5050, &[value; 10]), 0);
        assert_eq!(read(&mut stream, 5050, 10).unwrap(), [value; 10]);
        server.end(Signal::KILL);
    }
}
