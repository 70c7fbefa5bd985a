//! Output files and pipes.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::destination::Destination;
use crate::error::{Error, one_line};
use crate::source_file::SourceFile;
use crate::staged::Staged;
use crate::stall::blocking_call;
use crate::system::{self, FileId};
use crate::{STDOUT, standard};

/// The output of a stream.
pub trait Target: Write {
    /// Ends the output after `bytes` bytes. Anything beyond them is an incomplete unit and is cut off.
    ///
    /// # Errors
    /// The output cannot be given its name.
    fn commit(&mut self, bytes: u64) -> io::Result<()>;
}

impl Target for Vec<u8> {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        self.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }
}

impl Target for File {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        match self.metadata()?.len() > bytes {
            true => self.set_len(bytes),
            false => Ok(()),
        }
    }
}

/// A file being written.
///
/// A regular file is [`Staged`]: it gets its name in [`Target::commit`], and is removed if it is dropped before. Pipes,
/// devices and the standard output are written to in place.
pub struct OutputFile {
    file: File,
    staged: Option<Staged>,
    name: String,
    /// The end of the last hole: the file is at least this long.
    hole: Option<u64>,
    /// It stores what is written. Otherwise a write waits for the reader.
    keeps: bool,
}

impl OutputFile {
    /// Creates an output by its text: `-` is the standard output, `./-` a file of that name. A committed
    /// file is on the disk: people delete its source then.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn named(text: &OsStr, source: &SourceFile) -> Result<OutputFile, Error> {
        if matches!(text.to_str(), Some("-" | "/dev/stdout")) {
            let file = OutputFile::stdout()?;
            source.exclude(file.id(), &file.name)?;
            return Ok(file);
        }
        let mut output = OutputFile::create(Path::new(text), source)?;
        output.staged = output.staged.map(Staged::durable);
        Ok(output)
    }

    /// Creates `path`, or opens it if it is a pipe or a device. A symbolic link stays, and its target is replaced. A
    /// new file has at most the rights of its source; a replaced file keeps its rights.
    ///
    /// # Errors
    /// It is its source; the directory is missing or not writable; or the file exists and is not writable.
    pub fn create(path: &Path, source: &SourceFile) -> Result<OutputFile, Error> {
        let name = one_line(&path.to_string_lossy());
        let found = std::fs::metadata(path).ok();
        source.exclude(found.as_ref().and_then(FileId::of), &name)?;
        let create = |reason| Error::Create {
            name: name.clone(),
            reason,
        };
        match Destination::of(path).map_err(create)? {
            Destination::InPlace => {
                let file = File::options().write(true).truncate(true).open(path);
                let file = file.map_err(create)?;
                system::widen_pipe(&file);
                Ok(OutputFile::of(file, None, name))
            }
            Destination::File { path, old } => {
                let (staged, file) = Staged::create(&path, source.mode(), old.as_ref())?;
                Ok(OutputFile::of(file, Some(staged), name))
            }
        }
    }

    /// The standard output, for a stream.
    ///
    /// # Errors
    /// It is closed, open for reading only, or a terminal.
    pub fn stdout() -> Result<OutputFile, Error> {
        let stdout = OutputFile::printed()?;
        if stdout.file.is_terminal() {
            let (name, reason) = (
                stdout.name,
                "is a terminal; send the output to a file or a program",
            );
            return Err(Error::Unfit { name, reason });
        }
        system::widen_pipe(&stdout.file);
        Ok(stdout)
    }

    /// The standard output, for what is printed.
    ///
    /// # Errors
    /// It is closed, or open for reading only.
    pub fn printed() -> Result<OutputFile, Error> {
        let file = standard::output()?;
        Ok(OutputFile::of(file, None, STDOUT.to_owned()))
    }

    fn of(file: File, staged: Option<Staged>, name: String) -> OutputFile {
        let keeps = staged.is_some() || file.metadata().is_ok_and(|it| FileId::of(&it).is_some());
        OutputFile {
            file,
            staged,
            name,
            hole: None,
            keeps,
        }
    }

    /// Appends `bytes` zero bytes: as a hole in a regular file, written anywhere else.
    ///
    /// # Errors
    /// The system cannot.
    pub fn skip(&mut self, bytes: u64) -> io::Result<()> {
        if self.staged.is_none() {
            let zeros = &mut io::repeat(0).take(bytes);
            return io::copy(zeros, self).map(drop);
        }
        let ahead = i64::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.hole = Some(self.file.seek(SeekFrom::Current(ahead))?);
        Ok(())
    }

    /// What messages call the output.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The identity of the file that is written, not of an older file that it will replace.
    pub fn id(&self) -> Option<FileId> {
        self.file.metadata().ok().as_ref().and_then(FileId::of)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.keeps {
            true => self.file.write(bytes),
            false => blocking_call(|| self.file.write(bytes)),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.keeps {
            true => self.file.write_vectored(slices),
            false => blocking_call(|| self.file.write_vectored(slices)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Target for OutputFile {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        if let Some(staged) = &mut self.staged {
            let len = self.file.metadata()?.len();
            let wanted = self.hole.map_or(len, |end| end.max(len)).min(bytes);
            if wanted != len {
                self.file.set_len(wanted)?;
            }
            staged.commit()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use evener_testing::Folder;

    use super::*;

    #[test]
    fn holes_read_as_zero_also_at_the_end() {
        let folder = Folder::new();
        let path = folder.path("out");
        let mut output = OutputFile::create(&path, &SourceFile::default()).unwrap();
        output.skip(3).unwrap();
        output.write_all(b"abc").unwrap();
        output.skip(2).unwrap();
        output.commit(u64::MAX).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"\0\0\0abc\0\0");
    }

    #[test]
    fn bytes_after_the_committed_ones_are_cut_off() {
        let folder = Folder::new();
        let path = folder.path("out");
        let mut file = OutputFile::create(&path, &SourceFile::default()).unwrap();
        file.write_all(b"whole framespart of one").unwrap();
        file.commit(12).unwrap();
        file.commit(12).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole frames");
    }
}
