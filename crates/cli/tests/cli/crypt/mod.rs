//! Encrypting and decrypting.

mod age;
mod asked;
mod counter;
mod hidden;
mod inspect;
mod kept;
mod keys;
mod passphrase;
mod range;
mod refused;
mod requests;
mod rewrap;
mod round;
mod several;
mod shared;
mod told;
mod trouble;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::run::{Done, Folder};

/// Numbers of the format, as its specification has them.
const CHUNK: usize = 16 << 10;
const TAG: usize = 16;
const SEALED: usize = CHUNK + TAG;
const HEADER: usize = 56;
const MIB: usize = 1 << 20;

/// Bytes that look like those of no other place.
fn text(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A folder with a key in it.
fn keyed() -> Folder {
    let folder = Folder::new();
    folder.line("keygen -o key").succeeded();
    folder
}

/// Encrypts with the key of a folder, through pipes.
fn seal(folder: &Folder, text: &[u8]) -> Vec<u8> {
    piped(folder, "encrypt -k key", text)
        .succeeded()
        .stdout
        .clone()
}

/// Runs a command line with `input` in the pipe it reads.
fn piped(folder: &Folder, line: &str, input: &[u8]) -> Done {
    fed(&mut folder.evener(line.split_whitespace()), input)
}

/// Runs a command with `input` in the pipe it reads.
fn fed(command: &mut Command, input: &[u8]) -> Done {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let (mut to, input) = (child.stdin.take().unwrap(), input.to_vec());
    // It may end before it has read all, or any.
    let feeder = thread::spawn(move || drop(to.write_all(&input)));
    let done = child.wait_with_output().unwrap().into();
    feeder.join().unwrap();
    done
}

/// A file of a folder, which must be there.
#[track_caller]
fn content(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares without printing megabytes.
#[track_caller]
fn same(got: &[u8], wanted: &[u8], what: &str) {
    let at = got.iter().zip(wanted).position(|(a, b)| a != b);
    let (length, expected) = (got.len(), wanted.len());
    assert!(
        got == wanted,
        "{what}: {length} bytes for {expected}, differing at {at:?}"
    );
}
