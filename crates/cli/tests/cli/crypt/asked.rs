//! The terminal while a passphrase is asked for: signals are signals, and it is left as it was.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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
            println!("skipped: there is no setsid");
            return None;
        }
        let master = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
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
        while !self.seen[from..].contains(text) {
            let got = self.master.read(&mut chunk).unwrap();
            self.seen.push_str(&String::from_utf8_lossy(&chunk[..got]));
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
const QUESTION: &str = "Passphrase (nothing for one that is made and shown): ";

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
                seat.shows("The same again: ");
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
    seat.shows("again: ");
    // The second time as well, and with a signal that cannot be caught, after which a shell sets the terminal itself.
    send(&seat.child, Signal::STOP);
    until(|| seat.is_stopped());
    send(&seat.child, Signal::CONT);
    seat.shows("again: ");
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
        seat.shows("nothing but you keeps: ");
        seat.shows("\n");
        assert!(seat.ended().success());
        assert!(seat.is_usual());
        let made = seat.seen.split("keeps: ").nth(1).unwrap();
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
        ("again: ", "new words\n"),
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
