//! Names of numbered pictures.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A pattern such as `frames-%05d.png`, as FFmpeg has it: `%d` or `%05d` is a number, and `%%` a percent sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    folder: PathBuf,
    /// What the name has before and behind the number, percent signs written once.
    before: Vec<u8>,
    behind: Vec<u8>,
    digits: usize,
}

/// Numbered pictures without a gap.
pub(crate) struct Sequence {
    /// The number of the first.
    pub(crate) first: u64,
    pub(crate) files: Vec<PathBuf>,
    /// Pictures behind the gap.
    pub(crate) beyond: usize,
}

impl Sequence {
    pub(crate) fn count(&self) -> u64 {
        self.files.len() as u64
    }
}

impl Numbered {
    /// Reads a pattern; `None` if the name of the file has no number, or several.
    pub(crate) fn of(path: &Path) -> Option<Numbered> {
        let name = path.file_name()?.as_bytes();
        let (mut parts, mut digits) = (vec![Vec::new()], 0);
        let mut at = 0;
        while let Some(&byte) = name.get(at) {
            at += 1;
            if byte == b'%' {
                let rest = &name[at..];
                let width = rest.iter().take_while(|b| b.is_ascii_digit()).count();
                match rest.get(width) {
                    Some(b'd') => {
                        let text = std::str::from_utf8(&rest[..width]).ok()?;
                        digits = text.parse().unwrap_or(1);
                        parts.push(Vec::new());
                        at += width + 1;
                        continue;
                    }
                    Some(b'%') if width == 0 => at += 1,
                    _ => return None,
                }
            }
            parts.last_mut()?.push(byte);
        }
        let [before, behind] = <[Vec<u8>; 2]>::try_from(parts).ok()?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        Some(Numbered {
            folder,
            before,
            behind,
            digits,
        })
    }

    /// The pictures that are there, in the order of their numbers.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.found().into_iter().map(|(_, path)| path).collect()
    }

    /// The pictures from the first on to the last before a number that is missing; `None` if there are none.
    pub(crate) fn sequence(&self) -> Option<Sequence> {
        let found = self.found();
        let first = found.first()?.0;
        let follows = |&(at, (number, _)): &(u64, &(u64, PathBuf))| *number == first + at;
        let count = (0..).zip(&found).take_while(follows).count();
        let beyond = found.len() - count;
        let files = found.into_iter().take(count).map(|(_, path)| path);
        Some(Sequence {
            first,
            files: files.collect(),
            beyond,
        })
    }

    fn found(&self) -> Vec<(u64, PathBuf)> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut found: Vec<(u64, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                Some((self.number(path.file_name()?)?, path))
            })
            .collect();
        found.sort();
        found
    }

    fn number(&self, name: &OsStr) -> Option<u64> {
        let rest = name.as_bytes().strip_prefix(&self.before[..])?;
        let number = rest.strip_suffix(&self.behind[..])?;
        let fits = number.len() == self.digits || number.len() > self.digits && number[0] != b'0';
        let plain = number.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(number).ok()?;
        text.parse().ok().filter(|_| fits && plain)
    }

    /// Whether both name the same pictures.
    pub(crate) fn is_same(&self, other: &Numbered) -> bool {
        let folder = |one: &Numbered| fs::canonicalize(&one.folder).ok();
        let same = (&self.before, &self.behind) == (&other.before, &other.behind);
        same && folder(self).is_some_and(|own| Some(own) == folder(other))
    }

    /// The pattern in another folder, as FFmpeg takes it.
    pub(crate) fn within(&self, folder: &Path) -> OsString {
        let mut text = escaped(folder.as_os_str().as_bytes());
        text.push(b'/');
        text.extend(escaped(&self.before));
        text.extend(format!("%0{}d", self.digits).bytes());
        text.extend(escaped(&self.behind));
        OsString::from_vec(text)
    }
}

/// The name of one picture, where `%%` is a percent sign as in a pattern.
pub(crate) fn with_single_percents(path: &Path) -> PathBuf {
    let Some(name) = path.file_name() else {
        return path.to_owned();
    };
    let mut bytes = name.as_bytes().iter().peekable();
    let mut single = Vec::new();
    while let Some(&byte) = bytes.next() {
        single.push(byte);
        if byte == b'%' {
            bytes.next_if(|&&next| next == b'%');
        }
    }
    path.with_file_name(OsString::from_vec(single))
}

/// With percent signs that FFmpeg takes for such.
fn escaped(text: &[u8]) -> Vec<u8> {
    let twice = |&byte: &u8| std::iter::repeat_n(byte, 1 + usize::from(byte == b'%'));
    text.iter().flat_map(twice).collect()
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;

    #[test]
    fn a_pattern_has_one_number() {
        let of = |text: &str| Numbered::of(Path::new(text));
        let within = |text: &str| of(text).map(|one| one.within(Path::new("/t%/x")));
        for (text, full) in [
            ("a-%d.png", "/t%%/x/a-%01d.png"),
            ("d/%05d.jpg", "/t%%/x/%05d.jpg"),
            ("d%d/50%%-%3d.ppm", "/t%%/x/50%%-%03d.ppm"),
        ] {
            assert_eq!(within(text), Some(full.into()), "{text}");
        }
        for text in [
            "a.png",
            "a%.png",
            "%d-%d.png",
            "d%d/a.png",
            "a%5x.png",
            "",
            "a%%d.png",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn two_percent_signs_are_one_in_the_name_of_a_picture() {
        for (text, single) in [
            ("x%%d.png", "x%d.png"),
            ("d%%/50%.png", "d%%/50%.png"),
            ("/a/%%%%%.png", "/a/%%%.png"),
            ("a.png", "a.png"),
        ] {
            assert_eq!(with_single_percents(Path::new(text)), Path::new(single));
        }
    }

    #[test]
    fn pictures_are_found_in_their_order() {
        let folder = Folder::new();
        for name in [
            "p-10.png",
            "p-02.png",
            "p-100.png",
            "p-1.png",
            "p-003.png",
            "q-01.png",
            "p-1x.png",
        ] {
            folder.file(name, "");
        }
        let pattern = Numbered::of(&folder.path("p-%02d.png")).unwrap();
        let names: Vec<_> = pattern
            .files()
            .iter()
            .map(|path| path.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["p-02.png", "p-10.png", "p-100.png"]);
        let sequence = pattern.sequence().unwrap();
        let all = (sequence.first, sequence.files.len(), sequence.beyond);
        assert_eq!(all, (2, 1, 2));
        assert!(pattern.is_same(&Numbered::of(&folder.path("./p-%2d.png")).unwrap()));
        assert!(!pattern.is_same(&Numbered::of(&folder.path("q-%2d.png")).unwrap()));
    }
}
