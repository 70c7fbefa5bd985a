//! The terminal while a passphrase is asked for: signals are signals, and it is left as it was.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::{content, keyed};
use crate::run::Folder;
use crate::signals::{is_ignored, send};

/// A process that has a terminal of its own.
struct Seat {
    child: Child,
    master: File,
    slave: File,
    seen: String,
}

impl Seat {
    /// `program` in a session of its own; nothing where sessions cannot be made.
    fn new(folder: &Folder, program: &[&str]) -> Option<Seat> {
        let found = Command::new("setsid").arg("--version").output();
        if !found.is_ok_and(|done| done.status.success()) {
            evener_testing::skip("there is no setsid");
            return None;
        }
        let master = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        fcntl_setfl(&master, flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(name).unwrap();
        let evener = folder.evener([""; 0]);
        let mut command = folder.command("setsid");
        command.arg("-c").args(program);
        command.env("TERM", "dumb");
        command.env("EVENER", evener.get_program());
        command.stdin(slave.try_clone().unwrap());
        command.stdout(slave.try_clone().unwrap());
        command.stderr(Stdio::from(slave.try_clone().unwrap()));
        // It makes itself a session leader, which the leader of a group cannot.
        command.arg0("setsid");
        let child = command.spawn().unwrap();
        Some(Seat {
            child,
            master,
            slave,
            seen: String::new(),
        })
    }

    fn evener(folder: &Folder, line: &str) -> Option<Seat> {
        let program = env!("CARGO_BIN_EXE_evener");
        let words: Vec<&str> = [program].into_iter().chain(line.split(' ')).collect();
        Seat::new(folder, &words)
    }

    /// Reads until the terminal shows `text` once more.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let from = self.seen.len();
        let mut chunk = [0; 1024];
        let begin = Instant::now();
        while !self.seen[from..].contains(text) {
            match self.master.read(&mut chunk) {
                Ok(got) => self.seen.push_str(&String::from_utf8_lossy(&chunk[..got])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let late = begin.elapsed() > Duration::from_secs(60);
                    assert!(!late, "no '{text}' in {:?}", self.seen);
                    thread::sleep(Duration::from_millis(2));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Whether the terminal shows what is typed, a line at a time and with signals.
    fn is_usual(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    /// Waits until it is so, or not.
    #[track_caller]
    fn becomes_usual(&self, usual: bool) {
        until(|| self.is_usual() == usual);
    }

    fn is_stopped(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        stat.unwrap().rsplit(") ").next().unwrap().starts_with('T')
    }

    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn until(mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "it does not happen"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

const ASK: &str = "encrypt -p plain -o out";
const QUESTION: &str = "assphrase (empty to generate one): ";
const AGAIN: &str = "Repeat the passphrase: ";
/// What comes before a passphrase that was made.
const MADE: &str = "write it down): ";

fn folder() -> Folder {
    let folder = keyed();
    folder.file("plain", "text");
    folder
}

#[test]
fn keys_that_end_it_end_it_and_leave_the_terminal_as_it_was() {
    let folder = folder();
    for (key, signal) in [("\x03", Signal::INT), ("\x1c", Signal::QUIT)] {
        if is_ignored(signal) {
            continue;
        }
        for again in [false, true] {
            let Some(mut seat) = Seat::evener(&folder, ASK) else {
                return;
            };
            seat.shows(QUESTION);
            if again {
                seat.types("secret words\n");
                seat.shows(AGAIN);
            }
            assert!(!seat.is_usual());
            seat.types("half of a pass");
            seat.types(key);
            let status = seat.ended();
            assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
            assert!(seat.is_usual());
            assert!(!seat.seen.contains("secret"), "{}", seat.seen);
        }
    }
    assert_eq!(folder.names(), ["key", "plain"]);
}

#[test]
fn signals_from_elsewhere_end_it_too() {
    let folder = folder();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        if is_ignored(signal) {
            continue;
        }
        let Some(mut seat) = Seat::evener(&folder, ASK) else {
            return;
        };
        seat.shows(QUESTION);
        send(&seat.child, signal);
        let status = seat.ended();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert!(seat.is_usual());
    }
}

#[test]
fn a_script_does_not_go_on_after_ctrl_c() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let script = format!("\"$EVENER\" {ASK}; echo went on > went-on");
    let Some(mut seat) = Seat::new(&folder, &["bash", "-c", &script]) else {
        return;
    };
    seat.shows(QUESTION);
    seat.types("\x03");
    assert!(!seat.ended().success());
    assert!(seat.is_usual());
    assert_eq!(folder.names(), ["key", "plain"]);
}

#[test]
fn a_process_that_is_stopped_gives_the_terminal_back_meanwhile() {
    let folder = folder();
    let Some(mut seat) = Seat::evener(&folder, ASK) else {
        return;
    };
    seat.shows(QUESTION);
    send(&seat.child, Signal::TSTP);
    until(|| seat.is_stopped());
    assert!(seat.is_usual());
    send(&seat.child, Signal::CONT);
    seat.shows(QUESTION);
    seat.becomes_usual(false);
    seat.types("correct horse\n");
    seat.shows(AGAIN);
    // The second time as well, and with a signal that cannot be caught, after which a shell sets the terminal itself.
    send(&seat.child, Signal::STOP);
    until(|| seat.is_stopped());
    send(&seat.child, Signal::CONT);
    seat.shows(AGAIN);
    seat.becomes_usual(false);
    seat.types("correct horse\n");
    assert!(seat.ended().success());
    assert!(seat.is_usual());
    assert!(!seat.seen.contains("horse"), "{}", seat.seen);
    folder.file("words", "correct horse");
    let back = folder.line("decrypt --passphrase-file words out");
    assert_eq!(back.succeeded().stdout, b"text");
    assert_eq!(content(&folder, "plain"), b"text");
}

#[test]
fn an_end_of_file_is_no_passphrase() {
    let folder = folder();
    let Some(mut seat) = Seat::evener(&folder, ASK) else {
        return;
    };
    seat.shows(QUESTION);
    seat.types("\x04");
    seat.shows("terminal: cannot read the passphrase");
    assert_eq!(seat.ended().code(), Some(1));
    assert!(seat.is_usual());
}

#[test]
fn nothing_typed_has_a_passphrase_made() {
    let folder = folder();
    for age in ["", " --age"] {
        let line = format!("{ASK}{age}");
        let Some(mut seat) = Seat::evener(&folder, &line) else {
            return;
        };
        seat.shows(QUESTION);
        seat.types("\n");
        seat.shows(MADE);
        seat.shows("\n");
        assert!(seat.ended().success());
        assert!(seat.is_usual());
        let made = seat.seen.split(MADE).nth(1).unwrap();
        let made = made.lines().next().unwrap();
        assert_eq!(made.len(), 29, "{made}");
        folder.file("words", made);
        let back = folder.line("decrypt --passphrase-file words out");
        assert_eq!(back.succeeded().stdout, b"text");
    }
    // What is there is not decrypted with nothing.
    let Some(mut seat) = Seat::evener(&folder, "decrypt -p out") else {
        return;
    };
    seat.shows("Passphrase: ");
    seat.types("\n");
    seat.shows("terminal: the passphrase is empty");
    assert_eq!(seat.ended().code(), Some(1));
}

#[test]
fn of_two_passphrases_the_old_one_is_asked_for_first() {
    let folder = folder();
    folder.file("words", "old words");
    let line = "encrypt --age --passphrase-file words plain -o out";
    folder.line(line).succeeded();
    let line = "rewrap -p --new-passphrase --in-place out";
    let Some(mut seat) = Seat::evener(&folder, line) else {
        return;
    };
    for (question, answer) in [
        ("Passphrase: ", "old words\n"),
        (QUESTION, "new words\n"),
        (AGAIN, "new words\n"),
    ] {
        seat.shows(question);
        seat.types(answer);
    }
    seat.shows("out: ");
    assert!(seat.ended().success());
    assert!(
        seat.is_usual() && !seat.seen.contains("words"),
        "{}",
        seat.seen
    );
    folder.file("words", "new words");
    let back = folder.line("decrypt --passphrase-file words out");
    assert_eq!(back.succeeded().stdout, b"text");
}

#[test]
fn what_cannot_be_is_told_before_anything_is_asked() {
    let folder = folder();
    folder.file(
        "a.gpg",
        b"\x8c\x0d\x04\x09\x03\x02\x23\x31\xd7\x94\x29\x22\x21\x17\xff\xd2",
    );
    folder.line("keygen --age -o identity").succeeded();
    folder.line("keygen --age -o other").succeeded();
    folder
        .line("encrypt -i identity plain -o keys.age")
        .succeeded();
    let names = folder.names();
    for (line, says) in [
        ("encrypt -p plain", "standard output: is a terminal"),
        ("encrypt -p none -o out", "none: cannot open"),
        ("encrypt -p plain -o none/out", "make the directory first"),
        ("encrypt -p none no -o dir/", "no: cannot open"),
        ("encrypt -p --age plain -o .", "./plain.age: "),
        ("decrypt -p plain -o out", "not encrypted with a passphrase"),
        ("decrypt -p keys.age -o out", "use -i IDENTITY"),
        ("decrypt -p a.gpg -o out", "gpg does"),
        (
            "rewrap -p --new-passphrase plain -o out",
            "is not an age file",
        ),
        ("rewrap -p --new-passphrase a.gpg -o out", "gpg does"),
        (
            "rewrap -p --new-passphrase keys.age -o out",
            "use -i IDENTITY",
        ),
        (
            "rewrap -i other --new-passphrase keys.age -o out",
            "none of these identities",
        ),
        (
            "rewrap -i identity --new-passphrase keys.age -o none/out",
            "make the directory first",
        ),
    ] {
        if line.contains("-o .") {
            fs::create_dir(folder.path("plain.age")).unwrap();
        }
        let Some(mut seat) = Seat::evener(&folder, line) else {
            return;
        };
        seat.shows(says);
        assert_eq!(seat.ended().code(), Some(1), "{line}");
        assert!(
            !seat.seen.contains("assphrase:") && !seat.seen.contains("assphrase ("),
            "{}",
            seat.seen
        );
        let _ = fs::remove_dir(folder.path("plain.age"));
    }
    assert_eq!(folder.names(), names);
}

#[test]
fn a_terminal_is_shown_text_and_nothing_else() {
    let folder = folder();
    let text = "Grüße\n\tfrom a file\n";
    folder.file("plain", text);
    folder.file("binary", "text, and then \x1b[2J");
    folder.line("keygen --age -o identity").succeeded();
    for name in ["plain", "binary"] {
        let line = format!("encrypt -k key {name} -o {name}.sealed");
        folder.line(&line).succeeded();
    }
    let shown = |line: &str| {
        let script = format!("\"$EVENER\" {line}; echo \"ended $? at last\"");
        let mut seat = Seat::new(&folder, &["bash", "-c", &script])?;
        seat.shows(" at last");
        assert!(seat.ended().success());
        Some(seat.seen.trim_end().replace("\r\n", "\n"))
    };
    let Some(seen) = shown("decrypt -k key plain.sealed") else {
        return;
    };
    assert_eq!(seen, format!("{text}ended 0 at last"));
    let part = shown("decrypt -k key --range 0-7 plain.sealed").unwrap();
    assert_eq!(part, "Grüßeended 0 at last");
    let seen = shown("decrypt -k key binary.sealed").unwrap();
    assert!(
        seen.contains("is a terminal, and this is not text") && seen.ends_with("ended 1 at last"),
        "{seen}"
    );
    assert!(!seen.contains("and then"), "{seen}");
    let seen = shown("encrypt -a -i identity plain").unwrap();
    assert!(
        seen.starts_with("-----BEGIN AGE") && seen.ends_with("-----\nended 0 at last"),
        "{seen}"
    );
    let seen = shown("encrypt -i identity plain").unwrap();
    assert!(seen.contains("standard output: is a terminal"), "{seen}");
}

#[test]
fn a_large_file_with_a_new_header_shows_how_far_it_is() {
    let folder = folder();
    folder.file("plain", vec![0; 64 << 20]);
    folder.line("keygen --age -o identity").succeeded();
    folder
        .line("encrypt -i identity plain -o file.age")
        .succeeded();
    let line = "TERM=xterm \"$EVENER\" rewrap -i identity -R <(\"$EVENER\" keygen -y identity) file.age -o new.age";
    let Some(mut seat) = Seat::new(&folder, &["bash", "-c", line]) else {
        return;
    };
    seat.shows("new.age: 64");
    assert!(seat.ended().success());
    assert!(seat.seen.contains(" of 64 MiB, "), "{}", seat.seen);
}
