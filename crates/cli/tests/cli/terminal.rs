//! The progress bar.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::run::Folder;

/// Both ends of a terminal of `columns`: what a person has, and what a program is given.
pub fn pair(columns: u16) -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size).unwrap();
    (master, slave)
}

/// What `evener` writes to a terminal of `columns`.
pub fn on_terminal(line: &str, term: &str, columns: u16) -> String {
    let folder = Folder::new();
    let (master, slave) = pair(columns);
    let mut command = folder.evener(line.split(' '));
    let mut child = command
        .env("TERM", term)
        .stderr(Stdio::from(slave))
        .spawn()
        .unwrap();
    // The command holds our copy of the terminal, which ends only when all copies are closed.
    drop(command);
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    // Linux says EIO at the end of a terminal.
    while let Ok(n @ 1..) = File::from(master.try_clone().unwrap()).read(&mut chunk) {
        seen.extend_from_slice(&chunk[..n]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn a_terminal_shows_progress_and_then_the_line() {
    let line = "filter gaussian=6,posterize=256 -i testsrc:1280x720:60 -o null: --plan backward --workers 1";
    let seen = on_terminal(line, "xterm", 120);
    for part in [" of 60 frames, ", " fps, ", " left", " %"] {
        assert!(seen.contains(part), "no '{part}' in {seen:?}");
    }
    // The bar is cleared and the line stands alone.
    let last = seen.rsplit("\u{1b}[2K").next().unwrap();
    assert!(
        last.trim_start_matches('\r').starts_with("60 frames in "),
        "{last:?}"
    );
    assert_eq!(last.lines().count(), 1, "{last:?}");
}

#[test]
fn a_narrow_terminal_keeps_the_bar_on_one_line() {
    let line = "filter gaussian=6,posterize=256 -i testsrc:1280x720:40 -o null: --plan backward --workers 1";
    let seen = on_terminal(line, "xterm", 60);
    let drawn = seen
        .split(['\r', '\n'])
        .map(|part| part.replace("\u{1b}[2K", ""));
    for part in drawn.filter(|part| part.contains(" %  ")) {
        assert!(part.chars().count() <= 60, "{part:?}");
    }
}

#[test]
fn a_terminal_that_cannot_draw_gets_the_line_only() {
    let line = "filter blur -i testsrc:320x240:50 -o null:";
    let seen = on_terminal(line, "dumb", 120);
    assert!(seen.starts_with("50 frames"), "{seen:?}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}
