//! `evener queens`

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::run::{Done, Folder};
use crate::signals::{ended, is_ignored, send, unfinished};

/// OEIS A000170 and A002562.
const TOTALS: [(u64, u64); 13] = [
    (1, 1),
    (1, 1),
    (0, 0),
    (0, 0),
    (2, 1),
    (10, 2),
    (4, 1),
    (40, 6),
    (92, 12),
    (352, 46),
    (724, 92),
    (2680, 341),
    (14_200, 1787),
];
/// Of a board that takes a second or two with no vector instructions.
const SIXTEEN: &str = "N = 16: 14772512 solutions\n";

#[test]
fn known_totals() {
    let folder = Folder::new();
    for (n, (total, fundamental)) in TOTALS.into_iter().enumerate() {
        let done = folder.line(&format!("queens {n} --fundamental"));
        let plural = if total == 1 { "" } else { "s" };
        assert_eq!(
            done.succeeded().text(),
            format!("N = {n}: {total} solution{plural}, {fundamental} fundamental\n")
        );
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
    for plan in ["sequential", "farm", "farm/steal", "sequential/mailbox/3"] {
        for workers in [1, 3] {
            let line = format!("queens 13 --plan {plan} --workers {workers}");
            assert_eq!(
                folder.line(&line).succeeded().text(),
                "N = 13: 73712 solutions\n"
            );
        }
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn programs_read_it_as_json() {
    let folder = Folder::new();
    let done = folder.line("queens 12 --fundamental --json - --trace t.json --explain");
    let json: Value = serde_json::from_slice(&done.succeeded().stdout).unwrap();
    assert_eq!(json["n"], 12);
    assert_eq!(json["total"], 14_200);
    assert_eq!(json["fundamental"], 1787);
    assert_eq!(json["resumed_starts"], 0);
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    assert!(json["plan"]["structure"].is_string() && json["decisions"].is_array());
    assert!(
        done.stderr
            .contains("N = 12: 14200 solutions, 1787 fundamental")
    );
    assert!(done.stderr.contains("queens, N = 12, "), "{}", done.stderr);
    assert_eq!(folder.names(), ["t.json"]);
}

#[test]
fn boards_are_shown_and_drawn() {
    let folder = Folder::new();
    let one = folder.line("queens 4 --show");
    assert_eq!(
        one.succeeded().text(),
        "· ♛ · ·\n· · · ♛\n♛ · · ·\n· · ♛ ·\n"
    );
    let two = "· ♛ · ·\n· · · ♛\n♛ · · ·\n· · ♛ ·\n\n· · ♛ ·\n♛ · · ·\n· · · ♛\n· ♛ · ·\n";
    assert_eq!(folder.line("queens 4 --show 2").succeeded().text(), two);
    let all = folder.line("queens 4 --show 100 --svg b.svg");
    assert_eq!(all.succeeded().text().matches('♛').count(), 8);
    assert!(
        all.stderr.starts_with("b.svg: a board of 4 x 4, "),
        "{}",
        all.stderr
    );
    let printed = folder.line("queens 4 --svg -");
    assert!(printed.succeeded().text().starts_with("<svg ") && printed.stderr.is_empty());
    let picture = fs::read_to_string(folder.path("b.svg")).unwrap();
    assert_eq!(picture.matches("<use ").count(), 4);
    folder
        .line("queens 3 --show")
        .failed(1, &["N = 3", "no solution"]);
}

#[test]
fn boards_are_shown_as_they_come() {
    let begin = Instant::now();
    let done = Folder::new().cut_short("queens 17 --show 100000000", &mut [0; 100]);
    done.lost_its_reader();
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    for (line, status, says) in [
        ("queens 31", 2, "31 is not in 0..=30"),
        ("queens 31 --show", 2, "31 is not in 0..=30"),
        ("queens eight", 2, "not a whole number"),
        ("queens -- -8", 2, "-8 is not in 0..=30"),
        ("queens 99999999999", 2, "not in 0..=30"),
        ("queens", 2, "<N>"),
        ("queens 8 --plan tiled", 2, "sequential, farm"),
        (
            "queens 8 --checkpoint c --plan tiled",
            2,
            "sequential, farm",
        ),
        ("queens 8 --show --checkpoint c", 2, "cannot be used with"),
        (
            "queens 8 --checkpoint c --checkpoint-every=-1",
            2,
            "--checkpoint-every",
        ),
        ("queens 8 --checkpoint c --json c", 2, "as well"),
        (
            "queens 8 --svg b.png",
            2,
            "b.png: pictures are SVG; use a name that ends in .svg",
        ),
        ("queens 8 --checkpoint folder", 1, "directory"),
        ("queens 8 --checkpoint none/c", 1, "none"),
        ("queens 8 --checkpoint /dev/null", 1, "not a regular file"),
    ] {
        folder.line(line).failed(status, &[says]);
    }
    assert_eq!(folder.names(), ["folder"]);
}

#[test]
fn a_board_without_starts_was_not_counted_before() {
    for n in [2, 3] {
        let done = Folder::new().line(&format!("queens {n}"));
        assert_eq!(done.succeeded().stderr, format!("N = {n}: counted\n"));
    }
}

#[test]
fn checkpoints_of_something_else_are_refused_and_stay() {
    let folder = Folder::new();
    let done = folder.line("queens 10 --checkpoint ten.txt");
    assert_eq!(done.succeeded().text(), "N = 10: 724 solutions\n");
    let whole = fs::read_to_string(folder.path("ten.txt")).unwrap();
    // What is complete is told again at once.
    let again = folder.line("queens 10 --checkpoint ten.txt --json r.json");
    assert_eq!(again.succeeded().text(), "N = 10: 724 solutions\n");
    let json: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    assert_eq!(
        (&json["total"], &json["report"]["units"]),
        (&724.into(), &0.into())
    );

    let newer = whole.replacen("version 2", "version 7", 1);
    let changed = whole.replacen(" 7", " 8", 1);
    for (n, bytes, says) in [
        (
            11,
            whole.as_str(),
            "of N = 10, not of N = 11; name another file",
        ),
        (10, newer.as_str(), "of version 7"),
        (10, changed.as_str(), "damaged at line"),
        (
            10,
            &whole[..whole.len() / 2],
            "remove the file to begin anew",
        ),
        (10, "my thesis\n", "is not a checkpoint; name another file"),
        (10, "", "is not a checkpoint"),
    ] {
        fs::write(folder.path("c.txt"), bytes).unwrap();
        let done = folder.line(&format!("queens {n} --checkpoint c.txt"));
        done.failed(1, &["c.txt: ", says]);
        assert_eq!(fs::read_to_string(folder.path("c.txt")).unwrap(), bytes);
    }
}

/// Runs with no vector instructions, for time to be ended in.
fn slowly(folder: &Folder) -> std::process::Command {
    let line = "queens 16 --checkpoint c.txt --checkpoint-every 0 --workers 2";
    let mut command = folder.evener(line.split(' '));
    command.env("EVENER_CPU", "scalar");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Ranges that a checkpoint has.
fn ranges(folder: &Folder) -> usize {
    let text = fs::read_to_string(folder.path("c.txt")).unwrap_or_default();
    text.lines().filter(|line| line.contains("..")).count()
}

#[test]
fn whatever_kills_it_the_total_is_exact() {
    let folder = Folder::new();
    let (mut killed, mut before) = (0, 0);
    // Spread over the run by a multiplicative generator: moments are random enough, and the same each time.
    let mut state = 12_345u64;
    let done = loop {
        let child = slowly(&folder).spawn().unwrap();
        state = state * 48_271 % 0x7fff_ffff;
        let until = Instant::now() + Duration::from_millis(20 + state % 250);
        let mut child = child;
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        if killed == 40 || child.try_wait().unwrap().is_some() {
            break ended(child);
        }
        send(&child, Signal::KILL);
        child.wait().unwrap();
        killed += 1;
        let now = ranges(&folder);
        assert!(now >= before, "{now} ranges after {before}");
        before = now;
    };
    assert_eq!(done.succeeded().text(), SIXTEEN);
    assert!(killed > 0, "it was never killed");
    assert!(Done::of(&mut slowly(&folder)).succeeded().text() == SIXTEEN);
}

#[test]
fn what_is_done_is_kept_on_ctrl_c() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    let child = slowly(&folder).spawn().unwrap();
    let begin = Instant::now();
    while ranges(&folder) < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(1));
    }
    send(&child, Signal::INT);
    let done = ended(child);
    assert_eq!((done.status, done.text().as_str()), (Some(130), ""));
    let lines: Vec<&str> = done.stderr.lines().collect();
    let [line] = lines[..] else {
        panic!("{lines:?}")
    };
    assert!(line.starts_with("interrupted: N = 16 is ") && line.contains(" % done and kept"));
    assert!(line.ends_with("to resume: evener queens 16 --checkpoint c.txt"));
    assert_eq!(folder.names(), ["c.txt"]);
    let done = folder.line("queens 16 --checkpoint c.txt --json r.json");
    assert_eq!(done.succeeded().text(), SIXTEEN);
    let json: Value = serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    assert!(json["resumed_starts"].as_u64().unwrap() > 0);
}

#[test]
fn no_picture_is_left_of_a_board_that_was_not_found() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    let mut child = folder
        .evener("queens 30 --svg out.svg".split(' '))
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while unfinished(&folder).is_none() && child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(1));
    }
    send(&child, Signal::INT);
    assert_eq!(ended(child).status, Some(130));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn a_checkpoint_is_no_stream() {
    let folder = Folder::new();
    let done = folder.line("queens 5 --checkpoint -");
    done.failed(2, &["--checkpoint -: ", "./-"]);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn a_log_has_lines_on_how_far_it_is() {
    let folder = Folder::new();
    let done = folder.line("queens 16 --workers 1 --log-every 0");
    let lines: Vec<&str> = done.succeeded().stderr.lines().collect();
    let (_, far) = lines.split_last().unwrap();
    let shares = far.iter().map(|line| -> f64 {
        assert!(
            line.contains(" % after ") && line.ends_with(" left"),
            "{line}"
        );
        line.split(' ').next().unwrap().parse().unwrap()
    });
    let shares: Vec<f64> = shares.collect();
    assert!(!shares.is_empty() && shares.is_sorted(), "{shares:?}");
    assert!(
        shares.iter().all(|share| (0.0..=100.0).contains(share)),
        "{shares:?}"
    );
    let silent = folder.line("--quiet queens 16 --log-every 0");
    assert_eq!(silent.succeeded().stderr, "");
}
