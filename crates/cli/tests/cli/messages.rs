//! What is said of a job, while it runs and at its end.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::run::{Done, Folder, status_of};
use crate::signals::{ended, is_ignored, send, wait_for_output};
use crate::terminal::pair;

const KEY: &str = "--key 30313233343536373839616263646566";
const CTR: &str = "--key 30313233343536373839616263646566 --iv 30313233343536373839616263646566";

/// A folder with a key, ten bytes, sixteen bytes, what they become, and a disk of 3 MiB.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.line("keygen -o key").succeeded();
    folder.file("ten", "0123456789");
    folder.file("sixteen", "0123456789abcdef");
    folder.file("disk.img", vec![7; 3 << 20]);
    for line in [
        "encrypt -k key ten -o ten.sealed",
        "image pack disk.img disk.zst",
    ] {
        folder.line(line).succeeded();
    }
    folder
}

/// Every command that runs a stream, and how its closing line begins.
fn commands() -> Vec<(String, &'static str)> {
    let own = |line: &str, begin| (line.to_owned(), begin);
    vec![
        own(
            "filter blur -i testsrc:16x16:1 -o out.y4m",
            "out.y4m: 1 frame",
        ),
        own("filter blur -i testsrc:16x16:3 -o -", "3 frames"),
        own("filter blur -i testsrc:16x16:3 -o null:", "3 frames"),
        own("encrypt -k key ten -o out", "out: 82 bytes"),
        own("encrypt -k key ten", "82 bytes"),
        own("decrypt -k key ten.sealed -o out", "out: 10 bytes"),
        own(
            "decrypt -k key ten.sealed --range 2-5 -o out",
            "out: 3 bytes",
        ),
        (format!("ctr {CTR} ten -o out"), "out: 10 bytes"),
        (
            format!("product encrypt {KEY} sixteen -o out"),
            "out: 16 bytes",
        ),
        own("image pack disk.img out", "out: 3 MiB packed into "),
        own("image unpack disk.zst out", "out: 3 MiB"),
        own("image unpack disk.zst -", "3 MiB"),
        own("image verify disk.zst", "disk.zst: 3 MiB checked"),
        own("queens 8", "N = 8: counted"),
    ]
}

#[test]
fn the_closing_line_says_what_was_done() {
    let folder = folder();
    for (line, begin) in commands() {
        let done = folder.line(&line);
        let said = &done.succeeded().stderr;
        let rest = said.strip_prefix(begin);
        let rest = rest.unwrap_or_else(|| panic!("{line}: {said}"));
        assert!(
            rest.starts_with([' ', '\n', '.', '1', '2', '3']),
            "{line}: {said}"
        );
        for jargon in ["\u{b7}", "sequential", "units", "fifo", " 0 MiB"] {
            assert!(!said.contains(jargon), "{line}: {said}");
        }
    }
}

#[test]
fn how_it_ran_comes_last_and_for_what_took_its_time() {
    let folder = Folder::new();
    let line =
        "filter gaussian=8,posterize=256 -i testsrc:640x480:40 -o out.y4m --plan tiled --workers 2";
    let mut command = folder.evener(line.split(' '));
    let done = Done::of(command.env("EVENER_CPU", "scalar"));
    let said = done.succeeded().stderr.trim_end();
    let parts: Vec<&str> = said.split(", ").collect();
    let [what, rate, how] = parts[..] else {
        panic!("{said}")
    };
    assert!(what.starts_with("out.y4m: 40 frames in "), "{said}");
    assert!(what.ends_with(" s") || what.ends_with(" ms"), "{said}");
    assert!(rate.ends_with(" fps"), "{said}");
    assert_eq!(how, "on 2 workers");
    let folder = self::folder();
    let done = folder.line("encrypt -k key ten -o out");
    assert!(
        !done.succeeded().stderr.contains("worker"),
        "{}",
        done.stderr
    );
}

#[test]
fn the_plan_is_told_to_those_who_ask() {
    let folder = folder();
    let line = "encrypt -k key disk.img -o out --plan sequential/steal/4 --workers 1 --explain";
    let done = folder.line(line);
    let ran = "\nran     sequential \u{b7} steal \u{b7} 4 chunks \u{b7} 1 worker\n";
    assert!(done.succeeded().stderr.contains(ran), "{}", done.stderr);
    let last = done.stderr.lines().last().unwrap();
    assert!(last.starts_with("out: 3 MiB"), "{last}");
}

#[test]
fn programs_are_told_the_bytes() {
    let folder = folder();
    for (line, bytes) in [
        ("encrypt -k key ten -o out", 82.into()),
        ("image pack disk.img out", (3u64 << 20).into()),
        (
            "filter blur -i testsrc:16x16:3 -o null:",
            serde_json::Value::Null,
        ),
    ] {
        let done = folder.line(&format!("{line} --json -"));
        let report: serde_json::Value = serde_json::from_slice(&done.succeeded().stdout).unwrap();
        assert_eq!(report["bytes"], bytes, "{line}");
    }
}

#[test]
fn quiet_is_quiet_and_keeps_results_warnings_and_errors() {
    let folder = folder();
    for (line, _) in commands() {
        for quiet in [format!("-q {line}"), format!("{line} --quiet")] {
            assert_eq!(folder.line(&quiet).succeeded().stderr, "", "{quiet}");
        }
    }
    let done = folder.line("-q queens 8 --json -");
    assert_eq!(done.succeeded().stderr, "N = 8: 92 solutions\n");
    folder
        .line("-q decrypt -k key disk.img -o out")
        .failed(1, &["disk.img"]);

    let logged = folder
        .evener("-q encrypt -k key ten -o out".split(' '))
        .env("EVENER_LOG", "debug")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(logged.stderr).unwrap(), "");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(folder.path("key"), mode).unwrap();
    let warned = folder.line("-q encrypt -k key ten -o out");
    let said = &warned.succeeded().stderr;
    assert!(said.starts_with("evener: warning: key: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn quiet_and_more_contradict_each_other() {
    let folder = folder();
    for line in [
        "-q encrypt -k key ten -o out --explain",
        "encrypt -k key ten -o out --explain -q",
        "-q queens 8 -v",
        "-v queens 8 --quiet",
        "-qv topology",
    ] {
        folder
            .line(line)
            .failed(2, &["--quiet and --", "leave one out"]);
    }
}

#[test]
fn an_interrupted_run_says_what_became_of_the_file() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    for (line, begin, end) in [
        (
            "encrypt -k key /dev/zero -o out",
            "interrupted: ",
            " done, out was not written\n",
        ),
        (
            "image pack /dev/stdin out",
            "interrupted: ",
            " done, out was not written\n",
        ),
    ] {
        let mut command = folder.evener(line.split(' '));
        command.stdin(File::open("/dev/urandom").unwrap());
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        wait_for_output(&folder, 1);
        send(&child, Signal::INT);
        let done = ended(child);
        assert_eq!(done.status, Some(130), "{}", done.stderr);
        assert!(done.stderr.starts_with(begin), "{line}: {}", done.stderr);
        assert!(done.stderr.ends_with(end), "{line}: {}", done.stderr);
        assert!(!folder.path("out").exists());
    }
}

/// A command that writes to a terminal.
struct Terminal {
    child: Child,
    master: OwnedFd,
    seen: String,
}

impl Terminal {
    fn start(mut command: Command, columns: u16) -> Terminal {
        let (master, slave) = pair(columns);
        command.env("TERM", "xterm");
        command.stdout(Stdio::from(slave.try_clone().unwrap()));
        let child = command.stderr(Stdio::from(slave)).spawn().unwrap();
        Terminal {
            child,
            master,
            seen: String::new(),
        }
    }

    /// Reads on; `false` at the end of the terminal, of which Linux says EIO.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 4096];
        let read = File::from(self.master.try_clone().unwrap()).read(&mut chunk);
        let n = read.unwrap_or(0);
        self.seen.push_str(&String::from_utf8_lossy(&chunk[..n]));
        n > 0
    }

    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            assert!(self.read(), "no '{text}' in {:?}", self.seen);
        }
    }

    /// Its exit status, what it wrote, and what of that is left on the screen.
    fn end(mut self) -> (Option<i32>, String, String) {
        while self.read() {}
        let status = status_of(self.child.wait().unwrap());
        let left = self.seen.rsplit("\u{1b}[2K").next().unwrap();
        let left = left.trim_matches(['\r', '\n']).to_owned();
        (status, self.seen, left)
    }
}

#[test]
fn a_stalled_input_is_said_to_be_waited_for() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    // All are started before the first is waited for: it takes a second until they say so.
    let started = ["sequential", "farm", "pipeline"].map(|plan| {
        let command = match plan {
            "pipeline" => format!("product encrypt {KEY} - -o {plan}"),
            _ => format!("ctr {CTR} - -o {plan}"),
        };
        let mut command = folder.evener(format!("{command} --plan {plan}").split(' '));
        command.stdin(Stdio::piped());
        let mut terminal = Terminal::start(command, 60);
        let mut to = terminal.child.stdin.take().unwrap();
        to.write_all(&vec![0; 2 << 20]).unwrap();
        (plan, terminal, to)
    });
    for (plan, mut terminal, to) in started {
        terminal.wait_for("2 MiB, waiting for input");
        send(&terminal.child, Signal::INT);
        let (status, seen, left) = terminal.end();
        drop(to);
        assert_eq!(status, Some(130), "{seen:?}");
        // The bar is gone, though the run was ended.
        let said = format!("interrupted: 2 MiB done, {plan} was not written");
        assert_eq!(left, said, "{seen:?}");
    }
}

#[test]
fn a_run_that_is_ended_at_once_leaves_no_bar_either() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let fifo = folder.path("out.fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let command = folder.evener(format!("ctr {CTR} /dev/zero -o out.fifo").split(' '));
    let mut terminal = Terminal::start(command, 80);
    // A reader that stops when the bar is there: then the stream cannot end by itself.
    let enough = Arc::new(AtomicBool::new(false));
    let reader = {
        let enough = Arc::clone(&enough);
        thread::spawn(move || {
            let mut pipe = File::open(fifo).unwrap();
            while !enough.load(Ordering::Relaxed) {
                pipe.read_exact(&mut [0; 4096]).unwrap();
            }
            pipe
        })
    };
    terminal.wait_for("iB/s");
    enough.store(true, Ordering::Relaxed);
    let _pipe = reader.join().unwrap();
    while terminal.child.try_wait().unwrap().is_none() {
        send(&terminal.child, Signal::INT);
        thread::sleep(Duration::from_millis(10));
    }
    let (_, seen, left) = terminal.end();
    assert!(!left.contains("iB/s"), "{seen:?}");
}

#[test]
fn progress_is_in_bytes_and_gone_when_a_run_fails() {
    let folder = folder();
    // Eight blocks and a bit: that it ends within a block shows at the end.
    let mut command =
        folder.evener(format!("product encrypt {KEY} - -o out --workers 1").split(' '));
    command.stdin(Stdio::piped()).env("EVENER_CPU", "scalar");
    let mut terminal = Terminal::start(command, 80);
    let mut to = terminal.child.stdin.take().unwrap();
    to.write_all(&vec![0; 1 << 20]).unwrap();
    terminal.wait_for("iB/s");
    to.write_all(b"bit").unwrap();
    drop(to);
    let (status, seen, left) = terminal.end();
    assert_eq!(status, Some(1), "{seen:?}");
    assert!(!seen.contains("units"), "{seen:?}");
    assert!(left.starts_with("evener: "), "{left:?}");
}

#[test]
fn a_narrow_terminal_gets_whole_words() {
    let folder = Folder::new();
    let line = "filter gaussian=6,posterize=256 -i testsrc:1280x720:30 -o null: --plan backward --workers 1";
    for columns in [40, 50, 60] {
        let terminal = Terminal::start(folder.evener(line.split(' ')), columns);
        let (status, seen, _) = terminal.end();
        assert_eq!(status, Some(0), "{seen:?}");
        let drawn = seen.split(['\r', '\n', '\u{1b}']);
        let texts = drawn.filter_map(|part| part.split(" %  ").nth(1));
        for text in texts.map(str::trim_end).filter(|text| !text.is_empty()) {
            let whole = ["frames", "fps", "left"]
                .iter()
                .any(|end| text.ends_with(end));
            assert!(whole, "{columns}: {text:?}");
        }
    }
}

/// Whether a terminal is told of colours, bold or underlined text: SGR, which ends with m.
fn is_styled(seen: &str) -> bool {
    let told = seen.split("\u{1b}[").skip(1);
    let number = |c: char| c.is_ascii_digit() || c == ';';
    told.map(|rest| rest.trim_start_matches(number))
        .any(|rest| rest.starts_with('m'))
}

#[test]
fn no_color_is_honoured_and_quiet_draws_nothing() {
    let folder = Folder::new();
    let line = "filter blur -i testsrc:640x480:60 -o null:";
    for line in [line, "--help", "image"] {
        let mut command = folder.evener(line.split(' '));
        command.env("NO_COLOR", "1");
        let (_, seen, _) = Terminal::start(command, 80).end();
        assert!(!is_styled(&seen), "{seen:?}");
    }
    let quiet = folder.evener(format!("-q {line}").split(' '));
    assert_eq!(Terminal::start(quiet, 80).end().1, "");
}

#[test]
fn no_hint_is_one_that_cannot_work() {
    let folder = folder();
    for (line, part) in [
        (
            "filter -vf blur -i testsrc:16x16:1 -o null:",
            "unexpected argument '-vf' found",
        ),
        (
            "filter blur -i -dash.mp4 -o null:",
            "a file of that name is written ./-dash.mp4",
        ),
        (
            "filter blur -i testsrc:16x16:1 -o -d.y4m",
            "a file of that name is written ./-d.y4m",
        ),
        (
            "decrypt -k key ten.sealed -o -x",
            "a file of that name is written ./-x",
        ),
        (
            "decrypt -k key --range -5x ten.sealed",
            "'-5x' is not a range; write FROM-TO, FROM- or -COUNT",
        ),
        ("ctr --key -0a --iv 00 ten", "is written --key=-0a"),
        (
            "ctr --key 00 --iv 00 --at -5 ten",
            "'-5' for '--at <OFFSET>'",
        ),
        ("queens -5", "'-5' for '<N>'"),
        ("queens 8 --show -1", "'-1' for '--show"),
        ("queens eight", "not a whole number"),
        ("queens 8 --svg -b.svg", "is written --svg=-b.svg"),
        (
            "filters --list",
            "unexpected argument '--list' found; see --help",
        ),
        (
            "filter blur --threads 2 -i a -o b",
            "did you mean --workers?",
        ),
        (
            "filter blur --worker 2 -i a -o b",
            "similar argument exists: '--workers'",
        ),
        (
            "encrypt --password a ten",
            "'--password' found; did you mean -p (--passphrase)?",
        ),
        ("image serve disk.zst", "one of --nbd <ADDRESS>, --ublk"),
        (
            "gateway",
            "one of --listen <tcp:HOST:PORT>, --config <FILE.toml>",
        ),
        ("queens 8 --thraeds 2", "did you mean --workers?"),
        ("encode -i a -o b -vf blur", "did you mean --filter?"),
        ("encode -i a -o b --frames 9", "evener filter null --frames"),
        ("encode a.mp4 b.mp4", "-i a.mp4 -o b.mp4"),
        ("filter blur a.mp4", "-i a.mp4 -o OUT"),
        ("encrypt -k key ten ten -o out", "add a slash: -o out/"),
        (
            "image unpack disk.zst -f",
            "unexpected argument '-f' found; see --help",
        ),
        ("pack a b", "evener image pack"),
        ("serve a", "evener image serve"),
        ("image filter blur", "evener filter"),
        ("decypt -k key a", "'decrypt'"),
        ("image pak a b", "'pack'"),
    ] {
        let done = folder.line(line);
        done.failed(2, &[part]);
        assert!(!done.stderr.contains("use '--"), "{}", done.stderr);
    }
    // The hints do work.
    folder.file("-dash", "0123456789");
    folder.line("encrypt -k key ./-dash -o ./-x").succeeded();
    folder.line("queens 4 --svg=-b.svg").succeeded();
    folder.line("queens 4 --svg ./-c.svg").succeeded();
    assert!(folder.names().contains(&"-b.svg".to_owned()));
}

#[test]
fn a_line_is_written_at_once() {
    let folder = folder();
    for (line, lines) in [
        ("image pack disk.img out", 1),
        ("image pack nothing out", 1),
        ("image pack disk.img out2 --explain", 4),
    ] {
        // Each write is a message of its own.
        let (here, there) = UnixDatagram::pair().unwrap();
        here.set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let mut command = folder.evener(line.split(' '));
        let mut child = command.stderr(OwnedFd::from(there)).spawn().unwrap();
        let mut room = [0; 4096];
        let mut said = Vec::new();
        loop {
            let has_ended = child.try_wait().unwrap().is_some();
            match here.recv(&mut room) {
                Ok(len) => said.push(String::from_utf8_lossy(&room[..len]).into_owned()),
                Err(_) if has_ended => break,
                Err(_) => {}
            }
        }
        assert!(said.len() >= lines, "{line}: {said:?}");
        for text in &said {
            assert!(text.len() > 1 && text.ends_with('\n'), "{line}: {said:?}");
        }
    }
}
