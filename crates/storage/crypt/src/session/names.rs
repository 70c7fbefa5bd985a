//! Names of files in a directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use evener_files::one_line;

use super::Error;

/// The ending of an encrypted file.
const SEALED: &str = ".sealed";
/// That of one in age's format.
const AGE: &str = ".age";

/// The file in `directory` for the encrypted `input`: its name with `.sealed`, or with `.age` for that format.
///
/// # Errors
/// The input has no name, such as the standard input.
pub fn sealed_in(directory: &Path, input: &OsStr, age: bool) -> Result<PathBuf, Error> {
    let mut name = name_of(input)?.to_owned();
    name.push(if age { AGE } else { SEALED });
    Ok(directory.join(name))
}

/// The file in `directory` for the decrypted `input`: its name without `.sealed` or `.age`.
///
/// # Errors
/// The input has no name or another ending.
pub fn opened_in(directory: &Path, input: &OsStr) -> Result<PathBuf, Error> {
    let name = name_of(input)?.as_bytes();
    let mut endings = [SEALED, AGE].into_iter();
    let rest = endings.find_map(|ending| name.strip_suffix(ending.as_bytes()));
    match rest {
        Some(rest @ [_, ..]) => Ok(directory.join(OsStr::from_bytes(rest))),
        _ => Err(Error::NoEnding { name: shown(input) }),
    }
}

fn name_of(input: &OsStr) -> Result<&OsStr, Error> {
    // What comes by a descriptor has the name of the descriptor.
    let given = ["-", "/dev/stdin"].iter().any(|name| input == *name);
    let given = given || Path::new(input).parent() == Some(Path::new("/dev/fd"));
    match Path::new(input).file_name() {
        Some(name) if !given => Ok(name),
        _ => Err(Error::NoName { name: shown(input) }),
    }
}

fn shown(input: &OsStr) -> String {
    one_line(&input.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let folder = Path::new("out");
        for age in [false, true] {
            let sealed = sealed_in(folder, OsStr::new("a/b.tar"), age).unwrap();
            let ending = if age { "age" } else { "sealed" };
            assert_eq!(sealed, PathBuf::from(format!("out/b.tar.{ending}")));
            let back = opened_in(Path::new("."), sealed.as_os_str()).unwrap();
            assert_eq!(back, Path::new("./b.tar"));
        }
        let in_memory = sealed_in(folder, OsStr::new("/dev/shm/a"), false);
        assert_eq!(in_memory.unwrap(), Path::new("out/a.sealed"));
        for none in ["-", "/dev/stdin", "/dev/fd/3", "..", "/", ""] {
            assert!(
                sealed_in(folder, OsStr::new(none), false).is_err(),
                "{none}"
            );
        }
        for none in ["a.tar", ".age", "a.sealed/..", "-"] {
            assert!(opened_in(folder, OsStr::new(none)).is_err(), "{none}");
        }
    }
}
