//! Checks output names that belong to another format.

use std::ffi::OsStr;

use super::SessionError;
use crate::codec::{Codec, ZSTD};

/// A format of output.
pub struct Written {
    /// Which command writes it, in the words of messages.
    what: &'static str,
    /// How its files are named.
    endings: &'static [&'static str],
    /// What comes before another program can make its own format of it.
    before: Option<&'static str>,
}

/// The output of `unpack`.
pub static RAW_OUTPUT: Written = Written {
    what: "unpack writes raw images",
    endings: &[".img", ".raw", ".iso"],
    before: None,
};

static IN_ZSTD: Written = Written {
    what: "pack writes zstd's seekable format",
    endings: &[".zst", ".zstd"],
    before: Some(UNPACK),
};

static IN_EVB: Written = Written {
    what: "pack with this codec writes evener's own container",
    endings: &[".evb"],
    before: Some(UNPACK),
};

const UNPACK: &str = "evener image unpack";
const PACK: &str = "evener image pack --codec zstd";

/// Endings of names that say which format a file has, and what makes such a file of a raw image.
const ENDINGS: [(&str, Option<&str>); 23] = [
    (".qcow2", Some("qemu-img convert -O qcow2")),
    (".qcow", Some("qemu-img convert -O qcow")),
    (".vmdk", Some("qemu-img convert -O vmdk")),
    (".vhd", Some("qemu-img convert -O vpc")),
    (".vhdx", Some("qemu-img convert -O vhdx")),
    (".vdi", Some("qemu-img convert -O vdi")),
    (".ova", None),
    (".tar", None),
    (".iso", Some(UNPACK)),
    (".raw", Some(UNPACK)),
    (".gz", Some("gzip")),
    (".tgz", None),
    (".xz", Some("xz")),
    (".bz2", Some("bzip2")),
    (".lz", Some("lzip")),
    (".lz4", Some("lz4")),
    (".lzo", Some("lzop")),
    (".zip", Some("zip")),
    (".7z", Some("7z a")),
    (".cloop", None),
    (".zst", Some(PACK)),
    (".zstd", Some(PACK)),
    (".evb", Some("evener image pack --codec lz4")),
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
    let found = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    let Some((_, program)) =
        found.filter(|(ending, _)| is_file && !written.endings.contains(ending))
    else {
        return Ok(());
    };
    let name = evener_files::one_line(&output.to_string_lossy());
    let (what, ending) = (written.what, written.endings[0]);
    let how = match (*program, written.before) {
        (None, _) => String::new(),
        (Some(evener), _) if evener.starts_with("evener") => format!(", or use `{evener}`"),
        (Some(program), None) => format!(", then run `{program}`"),
        (Some(program), Some(before)) => format!(", or use `{before}`, then `{program}`"),
    };
    Err(SessionError::Request(format!(
        "{name}: {what}; name it {ending}{how}"
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
