//! Which file of a tar is the disk image.

use super::entry::Entry;
use crate::error::Error;
use crate::format::{Foreign, RAW, SEEKABLE, XZ, recognise_pipe};

/// How files are named that hold a disk.
const ENDINGS: [&str; 10] = [
    ".raw", ".img", ".iso", ".qcow2", ".qcow", ".vmdk", ".vhd", ".vhdx", ".vdi", ".evb",
];
/// Endings behind those, of programs that compress.
const PACKED: [&str; 4] = [".zst", ".xz", ".gz", ".bz2"];
/// The most names in a message.
const SHOWN: usize = 6;

/// What was seen of the files of a tar.
#[derive(Default)]
pub struct Found {
    images: Names,
    others: Names,
}

/// Names, of which the first few are kept.
#[derive(Default)]
struct Names {
    shown: Vec<String>,
    count: usize,
}

impl Found {
    /// Takes note of a file by its first bytes. `true`: it is a disk image, the first of the tar.
    pub fn note(&mut self, entry: &Entry, front: &[u8]) -> bool {
        let is_image = is_image(entry.name(), front);
        match is_image {
            true => self.images.add(entry.name()),
            false => self.others.add(entry.name()),
        }
        is_image && self.images.count == 1
    }

    /// Checks that there are not several images; `None` if there is none.
    pub fn one(&self, name: &str) -> Result<Option<()>, Error> {
        match self.images.count {
            0 | 1 => Ok((self.images.count == 1).then_some(())),
            _ => {
                let images = self.images.shown();
                Err(refused(
                    name,
                    format!(
                        "has several disk images in it: {images}; unpack it with tar and name one"
                    ),
                ))
            }
        }
    }

    /// Why a tar without an image is refused.
    pub fn none(&self, name: &str) -> Error {
        let what = match self.others.count {
            0 => "has no file in it".to_owned(),
            _ => format!("has no disk image in it, but {}", self.others.shown()),
        };
        refused(name, format!("{what}; unpack it with tar"))
    }
}

/// Why a tar is refused whose image is not read.
pub fn is_foreign(name: &str, image: &str, format: &str) -> Error {
    refused(
        name,
        format!(
            "has {image} in it, which looks like {format} and is not read; unpack it with tar, and convert that to raw, \
             as qemu-img convert does"
        ),
    )
}

fn refused(name: &str, what: String) -> Error {
    let name = name.to_owned();
    Error::Archive { name, what }
}

impl Names {
    fn add(&mut self, name: &str) {
        self.count += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(name.to_owned());
        }
    }

    fn shown(&self) -> String {
        let shown = self.shown.join(", ");
        match self.count - self.shown.len() {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }
}

/// Whether a file is a disk image, by its name or its first bytes.
fn is_image(name: &str, front: &[u8]) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    // What macOS stores beside a file.
    if base.starts_with("._") {
        return false;
    }
    let (format, foreign) = recognise_pipe(front);
    // Not all that is compressed is a disk.
    let tells = ![RAW.name, SEEKABLE.name, XZ.name].contains(&format.name);
    tells
        || foreign.is_some_and(Foreign::is_disk)
        || is_named(&base)
        || front.get(510..512) == Some(&[0x55, 0xaa])
}

fn is_named(base: &str) -> bool {
    let packed = PACKED.iter().find_map(|ending| base.strip_suffix(ending));
    let base = packed.unwrap_or(base);
    ENDINGS.iter().any(|ending| base.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_told_by_its_name_or_its_first_bytes() {
        let boot = [&[0; 510][..], &[0x55, 0xaa]].concat();
        for (name, front, wanted) in [
            ("disk.raw", &b""[..], true),
            ("a/b/Disk.IMG", b"", true),
            ("disk.img.xz", b"", true),
            ("machine.ovf", b"<?xml", false),
            ("machine.mf", b"SHA1", false),
            ("machine-disk1", b"KDMV", true),
            ("disk", b"QFI\xfb", true),
            ("disk", &boot, true),
            ("disk", b"", false),
            ("._disk.raw", b"", false),
            ("notes.txt.xz", b"\xfd7zXZ\0", false),
            ("notes.txt", b"text", false),
        ] {
            assert_eq!(is_image(name, front), wanted, "{name}");
        }
    }
}
