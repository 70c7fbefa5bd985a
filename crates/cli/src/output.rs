//! What commands print, and the files they write besides their output.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use evener_files::{FileId, OutputFile, STDOUT, SourceFile, Target, error_text};
use serde::Serialize;

use crate::failure::Failure;

/// Checks that there is a standard output, for commands that print only after a while.
pub fn can_print() -> Result<(), Failure> {
    Ok(OutputFile::printed().map(drop)?)
}

/// Text on the standard output.
pub fn print(text: impl fmt::Display) -> Result<(), Failure> {
    printed(|out| writeln!(out, "{text}"))
}

/// Texts on the standard output as they come, with an empty line between two.
pub fn print_each(texts: impl Iterator<Item = String>) -> Result<(), Failure> {
    printed(|out| {
        texts.enumerate().try_for_each(|(i, text)| {
            let between = if i > 0 { "\n" } else { "" };
            writeln!(out, "{between}{}", text.trim_end())
        })
    })
}

/// A secret line. No copy of it stays in a buffer.
pub fn print_secret(line: &[u8]) -> Result<(), Failure> {
    let mut stdout = OutputFile::printed()?;
    stdout
        .write_all(line)
        .map_err(|error| cannot_write(STDOUT, &error))
}

/// JSON on the standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    printed(|out| json(out, value))
}

/// Passes the standard output to `write`, which may also print through `std`.
pub fn printed(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = OutputFile::printed()?;
    let written = buffered(&mut stdout, write).and_then(|()| io::stdout().flush());
    written.map_err(|error| cannot_write(STDOUT, &error))
}

fn buffered(
    out: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let written = write(&mut out).and_then(|()| out.flush());
    // Dropping the buffer would try again to write what failed.
    let _ = out.into_parts();
    written
}

fn cannot_write(name: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::closed_pipe(),
        _ => Failure::running(format!("{name}: cannot write: {}", error_text(error))),
    }
}

fn json(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)
}

/// Whether a name stands for the standard output.
pub fn is_stdout(name: &OsStr) -> bool {
    name == "-" || name == "/dev/stdout"
}

/// A file for a report or a trace, or the standard output. It is created before the work, so that a bad name fails at once.
/// The file gets its name when it is complete.
pub struct SideOutput {
    file: OutputFile,
    is_stdout: bool,
}

impl SideOutput {
    /// Creates the file `name`; `-` is the standard output.
    pub fn create(name: &OsStr) -> Result<SideOutput, Failure> {
        let is_stdout = is_stdout(name);
        let file = match is_stdout {
            true => OutputFile::printed()?,
            false => OutputFile::create(Path::new(name), &SourceFile::default())?,
        };
        Ok(SideOutput { file, is_stdout })
    }

    /// Whether it is the standard output.
    pub fn is_stdout(&self) -> bool {
        self.is_stdout
    }

    /// Its name, unless it is the standard output.
    pub fn name(&self) -> Option<&str> {
        (!self.is_stdout).then(|| self.file.name())
    }

    /// Writes the file with `write` and gives it its name.
    pub fn write(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        buffered(&mut self.file, write)
            .and_then(|()| self.file.commit(u64::MAX))
            .map_err(|error| cannot_write(self.file.name(), &error))
    }

    /// Writes a value as JSON.
    pub fn write_json(self, value: &impl Serialize) -> Result<(), Failure> {
        self.write(|out| json(out, value))
    }
}

/// The identity of the file of that name, if there is one; `-` is the file to which the standard output is redirected.
pub fn file_id(name: &OsStr) -> Option<FileId> {
    match is_stdout(name) {
        true => OutputFile::printed().ok()?.id(),
        false => FileId::of(&fs::metadata(name).ok()?),
    }
}

/// Refuses files that would overwrite one another: each of `sides` is a flag and a name.
pub fn check_distinct(
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

/// Refuses files to which the standard output is redirected, for a command that always prints there.
pub fn check_not_stdout(sides: &[(&str, Option<&OsStr>)]) -> Result<(), Failure> {
    let Some(id) = file_id("-".as_ref()) else {
        return Ok(());
    };
    let mut named = sides.iter().filter_map(|&(flag, name)| Some((flag, name?)));
    match named.find(|(_, name)| !is_stdout(name) && file_id(name) == Some(id)) {
        Some((flag, name)) => Err(same(flag, name, "the standard output")),
        None => Ok(()),
    }
}

fn same(flag: &str, name: &OsStr, other: &str) -> Failure {
    let name = name.to_string_lossy();
    Failure::request(format!(
        "{flag} {name}: is {other} as well; choose another file"
    ))
}

fn is_same(a: &OsStr, b: &OsStr) -> bool {
    let id = file_id(a);
    (is_stdout(a) && is_stdout(b))
        || (id.is_some() && id == file_id(b))
        || (!is_stdout(a) && place(a).is_some_and(|at| place(b) == Some(at)))
}

/// The path of a file that exists or will be created.
fn place(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if let Ok(found) = fs::canonicalize(path) {
        // Two outputs may go to the same device.
        return found.is_file().then_some(found);
    }
    let directory = match path.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    Some(fs::canonicalize(directory).ok()?.join(path.file_name()?))
}
