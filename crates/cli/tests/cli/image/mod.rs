//! Disk images.

mod bad;
mod chain;
mod compressed;
mod directory;
mod disk;
mod exports;
mod faults;
mod formats;
mod input;
mod model;
mod overlay;
mod round;
pub mod serve;
mod tars;
mod tls;
mod tools;
mod urls;

use std::fs;
use std::process::Stdio;
use std::thread;

use serde_json::Value;

use crate::run::{Done, Folder};

/// An image of 3 MiB and a bit: text, a hole, bytes that do not shrink.
fn image() -> Vec<u8> {
    let mut bytes = vec![0; (3 << 20) + 777];
    for (i, byte) in bytes[..1 << 20].iter_mut().enumerate() {
        *byte = (i / 100) as u8;
    }
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for byte in &mut bytes[2 << 20..] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    bytes
}

/// A folder with that image, `disk.img`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("disk.img", image());
    folder
}

/// A file of a folder, which must be there.
#[track_caller]
fn content(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Runs a command line with `input` in the pipe it reads.
fn piped(folder: &Folder, line: &str, input: &[u8]) -> Done {
    let mut command = folder.evener(line.split_whitespace());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let (mut to, input) = (child.stdin.take().unwrap(), input.to_vec());
    // It may end before it has read all, or any.
    let feeder = thread::spawn(move || drop(std::io::Write::write_all(&mut to, &input)));
    let done = child.wait_with_output().unwrap().into();
    feeder.join().unwrap();
    done
}
