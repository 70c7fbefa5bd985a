//! Checks output names that belong to another format.

use std::ffi::OsStr;

use super::SessionError;
use crate::codec::{Codec, ZSTD};

/// A format of output.
pub struct Written {
    /// What messages call it.
    what: &'static str,
    /// How its files are named.
    endings: &'static [&'static str],
    /// What else could be done.
    to_do: &'static str,
}

/// The output of `unpack`.
pub static RAW_OUTPUT: Written = Written {
    what: "a raw image",
    endings: &[".img", ".raw", ".iso"],
    to_do: "convert that, as qemu-img convert or a program that compresses does",
};

static IN_ZSTD: Written = Written {
    what: "an image in zstd's seekable format",
    endings: &[".zst", ".zstd"],
    to_do: "write a raw image with evener image unpack, and convert that",
};

static IN_EVB: Written = Written {
    what: "an image in evener's own container",
    endings: &[".evb"],
    to_do: "write a raw image with evener image unpack, and convert that",
};

/// Endings of names that say which format a file has.
const ENDINGS: [&str; 23] = [
    ".qcow2", ".qcow", ".vmdk", ".vhd", ".vhdx", ".vdi", ".ova", ".tar", ".iso", ".raw", ".gz",
    ".tgz", ".xz", ".bz2", ".lz", ".lz4", ".lzo", ".zip", ".7z", ".cloop", ".zst", ".zstd", ".evb",
];

/// The output of `pack` with a codec.
pub fn packed(codec: &Codec) -> &'static Written {
    match codec.name == ZSTD.name {
        true => &IN_ZSTD,
        false => &IN_EVB,
    }
}

/// Checks that the name of an output does not belong to another format than the output has. Other programs would
/// misread it.
///
/// # Errors
/// The name belongs to another format.
pub fn named_as(output: &OsStr, written: &Written) -> Result<(), SessionError> {
    let name = output.to_string_lossy().to_ascii_lowercase();
    // What is no file has a name that says nothing of what is in it.
    let is_file = std::fs::metadata(output).map_or(true, |found| found.is_file());
    let ending = ENDINGS.iter().find(|ending| name.ends_with(*ending));
    let Some(other) = ending.filter(|ending| is_file && !written.endings.contains(ending)) else {
        return Ok(());
    };
    let name = evener_files::one_line(&output.to_string_lossy());
    let Written {
        what,
        endings,
        to_do,
    } = written;
    let ending = endings[0];
    Err(SessionError::Request(format!(
        "{name}: would hold {what}, and no {other}; name it {ending}, or for {other} {to_do}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;

    #[test]
    fn a_name_of_another_format_is_refused_and_no_other_name() {
        let refused = |name: &str, written| named_as(name.as_ref(), written).is_err();
        let lz4 = packed(Codec::of_name("lz4").unwrap());
        for name in [
            "x.qcow2", "x.VMDK", "a/x.vhdx", "x.vdi", "x.img.gz", "x.tar", "x.raw", "x.evb",
        ] {
            assert!(refused(name, &IN_ZSTD), "{name}");
        }
        for name in [
            "x.zst",
            "x.img.zst",
            "x.zstd",
            "x.img",
            "x",
            "qcow2",
            "x.qcow2.zst",
            "-",
            "/dev/null",
        ] {
            assert!(!refused(name, &IN_ZSTD), "{name}");
        }
        for name in ["x.zst", "x.lz4", "x.raw"] {
            assert!(refused(name, lz4), "{name}");
        }
        assert!(!refused("x.evb", lz4) && !refused("x", lz4));
        for name in ["x.qcow2", "x.zst", "x.img.xz", "x.evb"] {
            assert!(refused(name, &RAW_OUTPUT), "{name}");
        }
        assert!(!refused("x.iso", &RAW_OUTPUT) && !refused("x.img", &RAW_OUTPUT));
    }
}
