//! Formats that are not supported, recognised by their magic numbers.
//!
//! File systems and ISO images are not among them, since their bytes are what a raw image holds. Tars are in `archive/`.

use super::Ends;
use crate::error::Error;

/// A format that is not supported.
#[derive(Debug)]
pub struct Foreign {
    /// What messages call it.
    pub name: &'static str,
    kind: Kind,
    at: At,
    magic: &'static [u8],
}

#[derive(Debug)]
enum Kind {
    /// A disk in a container of its own.
    Disk,
    /// Something that has to be unpacked first.
    Packed,
    /// Encrypted data.
    Encrypted,
}

#[derive(Debug)]
enum At {
    /// This number of bytes from the beginning.
    Front(usize),
    /// This number of bytes before the end.
    End(usize),
}

/// What gzip is called.
pub const GZIP: &str = "gzip";

use At::{End, Front};
use Kind::{Disk, Encrypted, Packed};

const fn row(name: &'static str, kind: Kind, at: At, magic: &'static [u8]) -> Foreign {
    Foreign {
        name,
        kind,
        at,
        magic,
    }
}

/// All that are recognised, by the offset and the bytes of their magic numbers.
static TABLE: [Foreign; 37] = [
    row("a VMDK image", Disk, Front(0), b"KDMV"),
    row("a VMDK image", Disk, Front(0), b"COWD"),
    row(
        "a VMDK descriptor",
        Disk,
        Front(0),
        b"# Disk DescriptorFile",
    ),
    row("a VDI image", Disk, Front(64), b"\x7f\x10\xda\xbe"),
    row("a VHDX image", Disk, Front(0), b"vhdxfile"),
    row("a VHD image", Disk, Front(0), b"conectix"),
    row("a VHD image", Disk, End(512), b"conectix"),
    row("a Parallels image", Disk, Front(0), b"WithoutFreeSpace"),
    row("a Parallels image", Disk, Front(0), b"WithouFreSpacExt"),
    row("a QED image", Disk, Front(0), b"QED\0"),
    row("a Bochs image", Disk, Front(0), b"Bochs Virtual HD Image"),
    row("an Apple disk image", Disk, End(512), b"koly\0\0\0\x04"),
    row(
        "an Android sparse image",
        Disk,
        Front(0),
        b"\x3a\xff\x26\xed",
    ),
    row("an EnCase image", Disk, Front(0), b"EVF\x09\x0d\x0a\xff\0"),
    row("a partclone image", Disk, Front(0), b"partclone-image"),
    row("a WIM image", Disk, Front(0), b"MSWIM\0\0\0"),
    row("a LUKS volume", Encrypted, Front(0), b"LUKS\xba\xbe"),
    row(
        "a file encrypted with age",
        Encrypted,
        Front(0),
        b"age-encryption.org/",
    ),
    row(GZIP, Packed, Front(0), b"\x1f\x8b\x08"),
    row("bzip2", Packed, Front(4), b"1AY&SY"),
    row("LZ4", Packed, Front(0), b"\x04\x22\x4d\x18"),
    row("LZ4", Packed, Front(0), b"\x02\x21\x4c\x18"),
    row("lzip", Packed, Front(0), b"LZIP\x01"),
    row("lzop", Packed, Front(0), b"\x89LZO\0\r\n\x1a\n"),
    row("lrzip", Packed, Front(0), b"LRZI\0"),
    row("Snappy", Packed, Front(0), b"\xff\x06\0\0sNaPpY"),
    row("an old zstd", Packed, Front(0), b"\x27\xb5\x2f\xfd"),
    row("compress (.Z)", Packed, Front(0), b"\x1f\x9d\x90"),
    row("7z", Packed, Front(0), b"7z\xbc\xaf\x27\x1c"),
    row("ZIP", Packed, Front(0), b"PK\x03\x04"),
    row("RAR", Packed, Front(0), b"Rar!\x1a\x07"),
    row("a cabinet", Packed, Front(0), b"MSCF\0\0\0\0"),
    row("xar", Packed, Front(0), b"xar!"),
    row("cpio", Packed, Front(0), b"070701"),
    row("cpio", Packed, Front(0), b"070707"),
    row("ar, as packages of Debian", Packed, Front(0), b"!<arch>\n"),
    row("a package of RPM", Packed, Front(0), b"\xed\xab\xee\xdb"),
];

impl Foreign {
    /// The format that the ends of a file look like.
    pub fn of(ends: &Ends) -> Option<&'static Foreign> {
        TABLE.iter().find(|foreign| foreign.fits(ends))
    }

    /// Whether it is a disk in a container of its own.
    pub fn is_disk(&self) -> bool {
        matches!(self.kind, Disk)
    }

    fn fits(&self, ends: &Ends) -> bool {
        let there = match self.at {
            Front(at) => ends.head.get(at..),
            End(before) => {
                let from = ends.tail.len().checked_sub(before);
                from.and_then(|from| ends.tail.get(from..))
            }
        };
        there.is_some_and(|there| there.starts_with(self.magic))
    }

    /// The refusal of `name`, which would be taken for a raw image.
    pub fn refuse(&self, name: &str) -> Error {
        let what = match self.kind {
            Disk => "is not supported; convert it to raw first, as qemu-img convert does",
            Encrypted => "has to be decrypted first",
            Packed if self.name == GZIP => {
                "can only be unpacked from front to back; evener image pack makes an image of it"
            }
            Packed => "is not supported; unpack it with its own program first",
        };
        Error::Foreign {
            name: name.to_owned(),
            format: self.name,
            what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_recognised_by_its_magic_number() {
        for foreign in &TABLE {
            let mut ends = Ends::default();
            assert!(!foreign.fits(&ends), "{}: an empty file", foreign.name);
            ends.head = vec![0x11; 512];
            ends.tail = vec![0x11; 512];
            assert!(Foreign::of(&ends).is_none());
            let (end, at) = match foreign.at {
                Front(at) => (&mut ends.head, at),
                End(before) => (&mut ends.tail, 512 - before),
            };
            end[at..at + foreign.magic.len()].copy_from_slice(foreign.magic);
            let found = Foreign::of(&ends).map(|found| found.name);
            assert_eq!(found, Some(foreign.name));
            assert!(foreign.magic.len() >= 3, "{}", foreign.name);
        }
    }
}
