//! Which programs a library can be put before.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Scripts that are interpreted by scripts, as many as the kernel follows.
const SCRIPTS: usize = 4;
/// The longest first line of a script that the kernel reads.
const LINE: usize = 256;
/// `PT_INTERP`: the segment that names the program which loads libraries.
const INTERPRETER: u32 = 3;
/// Where a file of 64 bits says where its segments are described, how long a description is, how many there are.
const TABLE_AT: usize = 32;
const ENTRY_AT: usize = 54;
const COUNT_AT: usize = 56;
const HEADER: usize = 64;

/// Whether a program is linked statically, so that `LD_PRELOAD` says nothing to it. For a script it is its interpreter that
/// counts. False for what cannot be read: running it says why.
pub fn is_static(program: &OsStr) -> bool {
    let mut path = find(program);
    for _ in 0..SCRIPTS {
        let Some(file) = path.as_deref().and_then(|path| File::open(path).ok()) else {
            return false;
        };
        match interpreter(&file) {
            Some(next) => path = Some(next),
            None => return lacks_interpreter(&file).unwrap_or(false),
        }
    }
    false
}

/// The file of a program's name, as `execvp` finds it.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
}

/// What a script says that interprets it.
fn interpreter(file: &File) -> Option<PathBuf> {
    let mut line = Vec::with_capacity(LINE);
    file.take(LINE as u64).read_to_end(&mut line).ok()?;
    let line = line
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let word = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    (!word.is_empty()).then(|| OsStr::from_bytes(word).into())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Whether a file is a program of 64 bits without a segment that names an interpreter.
fn lacks_interpreter(file: &File) -> Option<bool> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    let (is_64, little) = (header[4] == 2, header[5] == 1);
    if !header.starts_with(b"\x7FELF") || !is_64 || !little {
        return None;
    }
    let table = u64::from_le_bytes(number(&header, TABLE_AT)?);
    let entry = u64::from(u16::from_le_bytes(number(&header, ENTRY_AT)?));
    for at in 0..u64::from(u16::from_le_bytes(number(&header, COUNT_AT)?)) {
        let mut kind = [0; 4];
        let at = table.checked_add(at * entry)?;
        file.read_exact_at(&mut kind, at).ok()?;
        if u32::from_le_bytes(kind) == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file with a header and segments of these kinds.
    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[..6].copy_from_slice(b"\x7FELF\x02\x01");
        bytes[TABLE_AT..TABLE_AT + 8].copy_from_slice(&(HEADER as u64).to_le_bytes());
        bytes[ENTRY_AT..ENTRY_AT + 2].copy_from_slice(&56_u16.to_le_bytes());
        bytes[COUNT_AT..COUNT_AT + 2].copy_from_slice(&(kinds.len() as u16).to_le_bytes());
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    #[test]
    fn programs_are_told_apart_by_their_segments() {
        let folder = tempfile::tempdir().unwrap();
        let with = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            is_static(path.as_os_str())
        };
        assert!(with("static", &elf(&[1, 1, 7])));
        assert!(!with("dynamic", &elf(&[6, 3, 1])));
        assert!(!with("cut", &elf(&[1, 1])[..100]));
        assert!(!with("empty", b""));
        let mut far = elf(&[1]);
        far[TABLE_AT..TABLE_AT + 8].fill(0xFF);
        assert!(!with("far", &far));
        let script = format!("#! {} -x\necho", folder.path().join("static").display());
        assert!(with("script", script.as_bytes()));
        let loops = format!("#!{}\n", folder.path().join("loop").display());
        assert!(!with("loop", loops.as_bytes()));
        assert!(!is_static(OsStr::new("no such program")));
        // The shell of every distribution that has the programs of these tests is linked dynamically.
        assert!(!is_static(OsStr::new("sh")));
    }
}
