//! The library that `net exec` puts before the C library of a program, as a file.

use std::fs::{self, DirBuilder, File};
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, process};

use evener_runtime::kept::cache_folder;
use siphasher::sip::SipHasher;

/// Where the library is, if it is not to be the one of the command.
const PLACE: &str = "EVENER_SHIM";

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The command was built without it.
    #[error("this build has no library for programs; {PLACE} can name libevener_shim.so")]
    None,
    /// There is no folder for it.
    #[error(
        "neither XDG_CACHE_HOME nor HOME says where the library for programs can be unpacked; set one or {PLACE}"
    )]
    NoFolder,
    /// It cannot be written.
    #[error(
        "the library for programs cannot be unpacked to {path}: {reason}; set XDG_CACHE_HOME or {PLACE}"
    )]
    NotUnpacked {
        /// Where to.
        path: String,
        /// Why.
        reason: io::Error,
    },
    /// The library is not where it was said to be.
    #[error("{PLACE} says {0}, and there is no file")]
    Elsewhere(String),
    /// What was said to be the library is none.
    #[error("{PLACE} says {0}, which is not a library, or cannot be read")]
    NotALibrary(String),
}

/// The file that `EVENER_SHIM` names, else one in the user's cache folder with these bytes.
///
/// A memory file would leave nothing behind, but it is open in the program alone: what closes its file descriptors before
/// it starts another program, as Python and daemons do, would start that without the library.
pub(super) fn library(bytes: &[u8]) -> Result<PathBuf, LibraryError> {
    if let Some(said) = env::var_os(PLACE) {
        return named(PathBuf::from(said));
    }
    if bytes.is_empty() {
        return Err(LibraryError::None);
    }
    let folder = cache_folder().ok_or(LibraryError::NoFolder)?;
    let mut hash = SipHasher::new();
    hash.write(bytes);
    let path = folder.join(format!("libevener_shim-{:016x}.so", hash.finish()));
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    let unpacked = unpack(&folder, &path, bytes);
    let failed = |reason| LibraryError::NotUnpacked {
        path: path.display().to_string(),
        reason,
    };
    unpacked.map_err(failed)?;
    Ok(path)
}

fn named(path: PathBuf) -> Result<PathBuf, LibraryError> {
    let name = path.display().to_string();
    let there = std::path::absolute(&path).ok();
    let there = there.filter(|path| path.is_file());
    let path = there.ok_or_else(|| LibraryError::Elsewhere(name.clone()))?;
    // The loader would go on without it.
    let mut begin = [0; 4];
    let read = File::open(&path).and_then(|mut file| file.read_exact(&mut begin));
    match read.is_ok() && begin == *b"\x7fELF" {
        true => Ok(path),
        false => Err(LibraryError::NotALibrary(name)),
    }
}

/// Programs may load the file at any moment, so it appears whole.
fn unpack(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let part = path.with_extension(format!("so.{}", process::id()));
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}
