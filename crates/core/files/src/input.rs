//! Input files and pipes.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek};
use std::path::Path;

use crate::error::{Error, one_line};
use crate::source_file::SourceFile;
use crate::system::{FileId, peek_pipe, read_ahead, widen_pipe};
use crate::watch::Watch;
use crate::{STDIN, standard};

/// An open file, named pipe, or the standard input.
#[derive(Debug)]
pub struct InputFile {
    /// The open file.
    pub file: File,
    /// The name for messages.
    pub name: String,
    metadata: Metadata,
}

impl InputFile {
    /// Opens the input with this name: `-` is the standard input, `./-` a file called `-`.
    ///
    /// # Errors
    /// The input does not exist, may not be read, is a directory, or is a terminal. For a terminal, `terminal` says
    /// what to do instead.
    pub fn named(text: &OsStr, terminal: &'static str) -> Result<InputFile, Error> {
        match text.to_str() {
            Some("-" | "/dev/stdin") => InputFile::stdin(terminal),
            _ => InputFile::open(Path::new(text)),
        }
    }

    /// The metadata of the input with this name, without opening it. `None` if the system does not provide it.
    pub fn metadata_of(text: &OsStr) -> Option<Metadata> {
        match text.to_str() {
            Some("-" | "/dev/stdin") => standard::input().ok()?.metadata().ok(),
            _ => std::fs::metadata(text).ok(),
        }
    }

    /// Opens a file or a named pipe.
    ///
    /// # Errors
    /// It does not exist, may not be read, or is a directory.
    pub fn open(path: &Path) -> Result<InputFile, Error> {
        let name = one_line(&path.to_string_lossy());
        match File::open(path) {
            Ok(file) => InputFile::from_file(file, name),
            Err(reason) => Err(Error::Open { name, reason }),
        }
    }

    /// Uses an open file or pipe, from its current position. `name` is its name in messages.
    ///
    /// # Errors
    /// It is a directory.
    pub fn from_file(file: File, name: impl Into<String>) -> Result<InputFile, Error> {
        let name = name.into();
        match file.metadata() {
            Ok(metadata) if metadata.is_dir() => Err(Error::Open {
                name,
                reason: io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"),
            }),
            Ok(metadata) => Ok(InputFile {
                file,
                name,
                metadata,
            }),
            Err(reason) => Err(Error::Open { name, reason }),
        }
    }

    /// Opens the standard input.
    ///
    /// # Errors
    /// It is closed, open for writing only, or a terminal.
    pub fn stdin(terminal: &'static str) -> Result<InputFile, Error> {
        let name = STDIN.to_owned();
        let stdin = standard::input()?;
        if stdin.is_terminal() {
            let reason = terminal;
            return Err(Error::Unfit { name, reason });
        }
        InputFile::from_file(stdin, name)
    }

    /// Whether the input is a regular file, which can be read at any offset.
    pub fn is_file(&self) -> bool {
        self.metadata.is_file()
    }

    /// Whether a read may wait for a writer, as with a pipe.
    pub fn may_wait(&self) -> bool {
        !self.is_file()
    }

    /// The bytes from the current position to the end of a regular file. `None` for other inputs.
    pub fn remaining(&self) -> Option<u64> {
        let at = self
            .is_file()
            .then(|| (&self.file).stream_position().ok())??;
        Some(self.metadata.len().saturating_sub(at))
    }

    /// Returns the first bytes of a pipe, at most `most`, and leaves them in the pipe. Waits for the first byte; at
    /// the end of the pipe, there are none. `None` if the input is not a pipe.
    pub fn peek_pipe(&self, most: usize) -> Option<Vec<u8>> {
        peek_pipe(&self.file, most)
    }

    /// The identity of a file; `None` for pipes.
    pub fn id(&self) -> Option<FileId> {
        FileId::of(&self.metadata)
    }

    /// Starts to watch the file for changes. `None` for anything but a regular file.
    pub fn watch(&self) -> Option<Watch> {
        // Without a free descriptor the file is read without a watch.
        Watch::new(&self.file, &self.name, &self.metadata)
            .ok()
            .flatten()
    }

    /// The input as the source of an output.
    pub fn source_file(&self) -> SourceFile {
        SourceFile::of(&self.metadata)
    }

    /// Reads until `buffer` is full or the input ends, and returns the number of bytes read. `byte` is their offset,
    /// for error messages.
    ///
    /// # Errors
    /// The read fails.
    pub fn fill(&mut self, buffer: &mut [u8], byte: u64) -> Result<usize, Error> {
        let mut got = 0;
        while got < buffer.len() {
            match self.file.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(reason) => {
                    return Err(Error::Read {
                        name: self.name.clone(),
                        byte: byte + got as u64,
                        reason,
                    });
                }
            }
        }
        Ok(got)
    }

    /// Tells the system that the input will be read sequentially.
    pub fn expect_sequential(&self) {
        widen_pipe(&self.file);
        read_ahead(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;
    use std::io::SeekFrom;

    #[test]
    fn remaining_bytes_count_from_the_position() {
        let folder = Folder::new();
        let path = folder.file("in", b"0123456789");
        let mut input = InputFile::open(&path).unwrap();
        (&input.file).seek(SeekFrom::Start(4)).unwrap();
        assert_eq!(input.remaining(), Some(6));
        let mut buffer = [0; 8];
        assert_eq!(input.fill(&mut buffer, 4).unwrap(), 6);
        assert_eq!(&buffer[..6], b"456789");
    }

    #[test]
    fn directories_and_missing_files_are_refused() {
        for (path, said) in [
            ("/", "it is a directory"),
            ("/no/such", "No such file or directory; check the name"),
        ] {
            let error = InputFile::open(Path::new(path)).unwrap_err().to_string();
            assert_eq!(error, format!("{path}: cannot open for reading: {said}"));
        }
    }
}
