//! What commands print, and the files they write beside the video.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use evener_files::{FileId, OutputFile, Target};
use serde::Serialize;

use crate::failure::Failure;

/// A line on the standard error. Where nobody can be told, nobody is.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Text on the standard output. A reader who has read enough is no failure.
pub fn print(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    quiet(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Texts on the standard output as they come, with an empty line between two. A reader who has read enough ends it.
pub fn print_each(texts: impl Iterator<Item = String>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = texts.enumerate().try_for_each(|(i, text)| {
        let between = if i > 0 { "\n" } else { "" };
        writeln!(out, "{between}{}", text.trim_end())
    });
    quiet(written.and_then(|()| out.flush()))
}

/// A line that nobody is to see twice, as it is: no copy of it stays in a buffer.
pub fn print_secret(line: &[u8]) -> Result<(), Failure> {
    let stdout = io::stdout().lock().as_fd().try_clone_to_owned();
    let written = stdout.and_then(|fd| fs::File::from(fd).write_all(line));
    quiet(written)
}

/// JSON on the standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    quiet(json(&mut out, value).and_then(|()| out.flush()))
}

fn quiet(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(cannot_write("standard output", &error))
        }
        _ => Ok(()),
    }
}

fn cannot_write(name: &str, error: &io::Error) -> Failure {
    let error = error.to_string();
    // The number that std appends tells a user nothing.
    let reason = error.split(" (os error ").next().unwrap_or_default();
    Failure::running(format!("{name}: cannot write: {reason}"))
}

fn json(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)
}

/// Whether a name stands for the standard output.
fn is_stdout(name: &OsStr) -> bool {
    name == "-" || name == "/dev/stdout"
}

/// A file for a report or a trace. Created before the work, so that a name that cannot be is known at once; it has
/// its name only once it is whole.
pub enum Side {
    /// The standard output.
    Stdout,
    /// A file.
    File(Box<OutputFile>),
}

impl Side {
    /// Creates the file `name`; `-` is the standard output.
    pub fn create(name: &OsStr) -> Result<Side, Failure> {
        if is_stdout(name) {
            return Ok(Side::Stdout);
        }
        Ok(Side::File(Box::new(OutputFile::create(Path::new(name))?)))
    }

    /// Writes the file with `write` and gives it its name.
    pub fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Side::Stdout => {
                let mut out = BufWriter::new(io::stdout().lock());
                quiet(write(&mut out).and_then(|()| out.flush()))
            }
            Side::File(mut file) => {
                let mut out = BufWriter::new(&mut *file);
                let result = write(&mut out).and_then(|()| out.flush());
                drop(out);
                result
                    .and_then(|()| file.commit(u64::MAX))
                    .map_err(|error| cannot_write(file.name(), &error))
            }
        }
    }

    /// Writes a value as JSON.
    pub fn write_json(self, value: &impl Serialize) -> Result<(), Failure> {
        self.write(|out| json(out, value))
    }
}

/// The identity of the file of that name, if there is one.
pub fn file_id(name: &OsStr) -> Option<FileId> {
    fs::metadata(name).ok().as_ref().and_then(FileId::of)
}

/// Refuses files that would overwrite one another: each of `sides` is a flag and a name.
pub fn check_apart(
    input: Option<FileId>,
    output: Option<&OsStr>,
    sides: &[(&str, Option<&OsStr>)],
) -> Result<(), Failure> {
    let mut taken: Vec<_> = output
        .map(|name| ("the output", name))
        .into_iter()
        .collect();
    for &(flag, name) in sides {
        let Some(name) = name else { continue };
        let id = file_id(name);
        if id.is_some() && id == input {
            return Err(same(flag, name, "the input"));
        }
        if let Some((other, _)) = taken.iter().find(|(_, other)| is_same(other, name)) {
            return Err(same(flag, name, other));
        }
        taken.push((flag, name));
    }
    Ok(())
}

fn same(flag: &str, name: &OsStr, other: &str) -> Failure {
    let name = name.to_string_lossy();
    Failure::request(format!(
        "{flag} {name}: is {other} as well; choose another file"
    ))
}

fn is_same(a: &OsStr, b: &OsStr) -> bool {
    (is_stdout(a) && is_stdout(b))
        || (!is_stdout(a) && place(a).is_some_and(|at| place(b) == Some(at)))
}

/// Where a file is or will be.
fn place(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if let Ok(found) = fs::canonicalize(path) {
        // Devices may well be written to twice.
        return found.is_file().then_some(found);
    }
    let directory = match path.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    Some(fs::canonicalize(directory).ok()?.join(path.file_name()?))
}
