//! Output files and pipes.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::destination::Destination;
use crate::error::{Error, NoText, one_line};
use crate::source_file::SourceFile;
use crate::staged::Staged;
use crate::stall::blocking_call;
use crate::system::{self, FileId};
use crate::{STDOUT, standard};

/// Bytes of the blocks that become holes if they are zero: some pages.
const HOLE: usize = 16 << 10;

/// The output of a stream.
pub trait Target: Write {
    /// Ends the output after `bytes` bytes. Bytes beyond them are an incomplete unit and are cut off.
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

/// Writes all of `bytes`, as [`Write::write_all`] does.
///
/// # Errors
/// A write fails. The error has the number of bytes written before, and the system's reason.
pub fn write_whole(out: &mut impl Write, bytes: &[u8]) -> Result<(), (u64, io::Error)> {
    let mut taken = 0;
    while taken < bytes.len() {
        let reason = match out.write(&bytes[taken..]) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(more) => {
                taken += more;
                continue;
            }
            Err(reason) if reason.kind() == io::ErrorKind::Interrupted => continue,
            Err(reason) => reason,
        };
        return Err((taken as u64, reason));
    }
    Ok(())
}

/// A file that is being written.
///
/// A regular file is [`Staged`]: it gets its name in [`Target::commit`], and is removed if it is dropped before.
/// Pipes, devices and the standard output are written in place.
pub struct OutputFile {
    file: File,
    staged: Option<Box<Staged>>,
    name: String,
    /// The end of the last hole: the file is at least this long.
    hole: Option<u64>,
    /// It stores what is written. Otherwise a write waits for the reader.
    keeps: bool,
    /// It is a terminal, which gets text only.
    shows: bool,
}

impl OutputFile {
    /// Creates the output with this name: `-` is the standard output, `./-` a file called `-`. A committed file is on
    /// the disk, since users may then delete its source.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn named(text: &OsStr, source: &SourceFile) -> Result<OutputFile, Error> {
        if is_stdout(text) {
            let file = OutputFile::stdout()?;
            source.exclude(file.id(), &file.name)?;
            return Ok(file);
        }
        let mut output = OutputFile::create(Path::new(text), source)?;
        output.staged = output.staged.map(|staged| Box::new(staged.durable()));
        Ok(output)
    }

    /// As [`OutputFile::named`], for output that may be text. A terminal as the standard output shows the text, until
    /// something else is written.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn shown(text: &OsStr, source: &SourceFile) -> Result<OutputFile, Error> {
        if is_stdout(text) {
            let mut stdout = OutputFile::printed()?;
            if stdout.file.is_terminal() {
                stdout.shows = true;
                return Ok(stdout);
            }
        }
        OutputFile::named(text, source)
    }

    /// Checks whether [`OutputFile::named`], or with `shown` [`OutputFile::shown`], would accept the output. Opens no
    /// pipe.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn check(text: &OsStr, source: &SourceFile, shown: bool) -> Result<(), Error> {
        let there = std::fs::metadata(text);
        let opened = is_stdout(text) || there.map_or(true, |it| it.is_file() || it.is_dir());
        match (opened, shown) {
            (false, _) => Ok(()),
            (true, true) => OutputFile::shown(text, source).map(drop),
            (true, false) => OutputFile::named(text, source).map(drop),
        }
    }

    /// Creates `path`, or opens it if it is a pipe or a device. A symbolic link is kept, and its target is replaced.
    /// A new file has at most the permissions of its source; a replaced file keeps its permissions.
    ///
    /// # Errors
    /// The output is its own source; the directory is missing or not writable; or the file exists and is not
    /// writable.
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
                let staged = staged.modified(source.modified());
                Ok(OutputFile::of(file, Some(Box::new(staged)), name))
            }
        }
    }

    /// Opens the standard output for a stream.
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

    /// Opens the standard output for printed text.
    ///
    /// # Errors
    /// It is closed, or open for reading only.
    pub fn printed() -> Result<OutputFile, Error> {
        let file = standard::output()?;
        Ok(OutputFile::of(file, None, STDOUT.to_owned()))
    }

    fn of(file: File, staged: Option<Box<Staged>>, name: String) -> OutputFile {
        let keeps = staged.is_some() || file.metadata().is_ok_and(|it| FileId::of(&it).is_some());
        OutputFile {
            file,
            staged,
            name,
            hole: None,
            keeps,
            shows: false,
        }
    }

    /// Appends `bytes` zero bytes: a hole in a regular file, written bytes elsewhere.
    ///
    /// # Errors
    /// A write fails.
    pub fn skip(&mut self, bytes: u64) -> io::Result<()> {
        if self.staged.is_none() {
            let zeros = &mut io::repeat(0).take(bytes);
            return io::copy(zeros, self).map(drop);
        }
        let ahead = i64::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.hole = Some(self.file.seek(SeekFrom::Current(ahead))?);
        Ok(())
    }

    /// Appends `bytes`. In a regular file, blocks of zeros become holes. Blocks are counted from the first byte of
    /// `bytes`.
    ///
    /// # Errors
    /// A write fails.
    pub fn write_sparse(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.staged.is_none() {
            return self.write_all(bytes);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let zero = run_of(rest, is_zero);
            if zero > 0 {
                self.skip(zero as u64)?;
            }
            rest = &rest[zero..];
            let full = run_of(rest, |block| !is_zero(block));
            self.write_all(&rest[..full])?;
            rest = &rest[full..];
        }
        Ok(())
    }

    /// The name of the output in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that the output has room for `bytes` bytes before the first is written. Only disks have a known
    /// capacity; a file grows.
    ///
    /// # Errors
    /// The output is a smaller disk.
    pub fn fits(&self, bytes: u64) -> Result<(), Error> {
        let room = self.room().map_err(|reason| Error::Create {
            name: self.name.clone(),
            reason,
        })?;
        match room {
            Some(has) if has < bytes => Err(Error::Small {
                name: self.name.clone(),
                needs: bytes,
                has,
            }),
            _ => Ok(()),
        }
    }

    /// How many bytes a disk takes from here on; `None` if it is none.
    fn room(&self) -> io::Result<Option<u64>> {
        if !self.file.metadata()?.file_type().is_block_device() {
            return Ok(None);
        }
        let mut file = &self.file;
        let at = file.stream_position()?;
        // The metadata of a disk have no size.
        let end = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(at))?;
        Ok(Some(end.saturating_sub(at)))
    }

    /// Whether a write may wait for a reader, as with a pipe.
    pub fn may_wait(&self) -> bool {
        !self.keeps
    }

    /// The identity of the file being written, not of an older file that it will replace.
    pub fn id(&self) -> Option<FileId> {
        self.file.metadata().ok().as_ref().and_then(FileId::of)
    }
}

fn is_stdout(text: &OsStr) -> bool {
    matches!(text.to_str(), Some("-" | "/dev/stdout"))
}

/// Whether a terminal shows the bytes as text, which nothing in them controls.
fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    // Two bytes of UTF-8 are a control character, too.
    let wide = |pair: &[u8]| matches!(pair, [0xC2, 0x80..=0x9F]);
    !bytes.iter().any(control) && !bytes.windows(2).any(wide)
}

fn is_zero(block: &[u8]) -> bool {
    // A comparison of slices takes as many bytes at once as the processor can.
    block == &[0; HOLE][..block.len()]
}

/// Bytes of the blocks at the beginning of `bytes` that `are` so.
fn run_of(bytes: &[u8], are: impl Fn(&[u8]) -> bool) -> usize {
    let blocks = bytes.chunks(HOLE).take_while(|block| are(block));
    blocks.map(<[u8]>::len).sum()
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.shows && !is_text(bytes) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, NoText));
        }
        match self.keeps {
            true => self.file.write(bytes),
            false => blocking_call(|| self.file.write(bytes)),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.shows {
            let first = slices.iter().find(|slice| !slice.is_empty());
            return self.write(first.map_or(&[], |slice| slice));
        }
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
    fn a_terminal_shows_text_and_nothing_that_controls_it() {
        for text in ["", "a line\r\n\twith a tab\n", "Größe, 大小, é"] {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        for other in ["\0", "\x1b[31m", "\u{9b}31m", "a\x7f"] {
            assert!(!is_text(other.as_bytes()), "{other:?}");
        }
        let gzip = [0x1f, 0x8b, 8];
        assert!(!is_text(&gzip));
    }

    #[test]
    fn a_check_tells_what_creating_would_and_leaves_nothing() {
        let folder = Folder::new();
        let input = folder.file("in", "text");
        let source = SourceFile::of(&fs::metadata(&input).unwrap());
        let check = |name: &str| OutputFile::check(folder.path(name).as_os_str(), &source, false);
        check("out").unwrap();
        OutputFile::check("/dev/full".as_ref(), &source, true).unwrap();
        for (name, says) in [
            ("in", "is an input as well"),
            ("none/out", "make the directory first"),
            ("", "it is a directory"),
            ("/proc/x", "No such file or directory"),
        ] {
            let error = check(name).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("; make") || name == "none/out", "{error}");
        }
        assert_eq!(folder.names(), ["in"]);
    }

    #[test]
    fn only_a_disk_can_be_too_small() {
        let folder = Folder::new();
        let path = folder.path("out");
        let output = OutputFile::create(&path, &SourceFile::default()).unwrap();
        output.fits(u64::MAX).unwrap();
        let null = OutputFile::create("/dev/null".as_ref(), &SourceFile::default()).unwrap();
        null.fits(u64::MAX).unwrap();
        let Some(disk) = evener_testing::Disk::new(1 << 20) else {
            return;
        };
        let mut output = OutputFile::create(disk.path(), &SourceFile::default()).unwrap();
        output.fits(1 << 20).unwrap();
        let error = output.fits((1 << 20) + 1).unwrap_err().to_string();
        assert!(
            error.contains("1048577 bytes") && error.contains("has room for 1048576"),
            "{error}"
        );
        // What is written already counts, and the place stays.
        output.write_all(&[1; 4096]).unwrap();
        output.fits((1 << 20) - 4096).unwrap();
        output.fits(1 << 20).unwrap_err();
        output.write_all(&[2; 4096]).unwrap();
        let written = fs::read(disk.path()).unwrap();
        assert_eq!((written[4095], written[4096], written[8192]), (1, 2, 0));
    }

    #[test]
    fn a_write_that_fails_says_how_far_it_got() {
        let mut room = [0; 7];
        let mut out = &mut room[..];
        assert!(write_whole(&mut out, b"four").is_ok());
        let (taken, reason) = write_whole(&mut out, b"four").unwrap_err();
        assert_eq!((taken, reason.kind()), (3, io::ErrorKind::WriteZero));
        assert_eq!(&room, b"fourfou");
    }

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
    fn blocks_of_zeros_take_no_space() {
        let folder = Folder::new();
        let mut text = vec![0; 40 * HOLE + 100];
        text[3 * HOLE] = 1;
        text[4 * HOLE - 1] = 1;
        text[20 * HOLE + 5] = 1;
        for (name, pieces) in [("whole", text.len()), ("pieces", 7 * HOLE), ("odd", 1000)] {
            let path = folder.path(name);
            let mut output = OutputFile::create(&path, &SourceFile::default()).unwrap();
            for piece in text.chunks(pieces) {
                output.write_sparse(piece).unwrap();
            }
            output.commit(text.len() as u64).unwrap();
            assert!(fs::read(&path).unwrap() == text, "{name}");
            let blocks = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).unwrap());
            assert!(blocks * 512 <= 3 * HOLE as u64, "{name}: {blocks}");
        }
        assert_eq!(run_of(&[0; 10], |block| block == [0; 10]), 10);
        assert_eq!(run_of(&[], |_| true), 0);
    }

    #[test]
    fn what_is_kept_of_a_source_is_on_the_output() {
        let folder = Folder::new();
        let (source, path) = (folder.file("source", "text"), folder.path("out"));
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 0);
        let file = File::options().write(true).open(&source).unwrap();
        file.set_modified(time).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o500);
        file.set_permissions(rights).unwrap();
        let kept = SourceFile::of(&fs::metadata(&source).unwrap()).kept();
        let mut output = OutputFile::create(&path, &kept).unwrap();
        output.write_all(b"text").unwrap();
        output.commit(4).unwrap();
        assert_eq!(mode(&path), mode(&source));
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
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
