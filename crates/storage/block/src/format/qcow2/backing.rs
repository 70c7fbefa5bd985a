//! The file under a qcow2 image.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::header::Header;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::fields::Fields;
use crate::format::types::Format;
use crate::format::{RAW, qcow2};
use crate::image::Image;

/// The header extension with the name of the format of the backing file.
const FORMAT: u32 = 0xe279_2aca;

/// Opens the backing file of an image, if it has one. Its format has to be named: a guest that may write to a raw image
/// could make it look like another format, which names any file.
///
/// # Errors
/// It cannot be opened, or is named in a way that is not read.
pub(super) fn open(
    format: &Format,
    file: &ImageFile,
    header: &Header,
) -> Result<Option<Image>, Error> {
    let Some((at, len)) = header.backing else {
        return Ok(None);
    };
    let unsupported = |what: String| format.unsupported(file, what);
    let name = file.bytes(at, len.into())?;
    let is_chosen = file.is_over_chosen();
    let shown = evener_files::one_line(&String::from_utf8_lossy(&name));
    let path = name.strip_prefix(b"file:").unwrap_or(&name);
    // A colon before the first slash makes it a protocol of QEMU.
    let before = path.split(|&byte| byte == b'/').next().unwrap_or(path);
    let is_path = !before.contains(&b':') && !path.contains(&0);
    if name.len() != len as usize || !(is_path || is_chosen) {
        let what =
            format!("has the backing file '{shown}', which is not a path; use qemu-img convert");
        return Err(unsupported(what));
    }
    let known = match extension(file, header, FORMAT)?.as_deref() {
        Some(b"raw") => &RAW,
        Some(b"qcow2") => &qcow2::QCOW2,
        Some(other) => {
            let other = evener_files::one_line(&String::from_utf8_lossy(other));
            let what = format!(
                "has the backing file '{shown}' in the format {other}; raw and qcow2 are read; use qemu-img convert"
            );
            return Err(unsupported(what));
        }
        None => {
            let what = format!(
                "does not say of which format its backing file '{shown}' is; say it with qemu-img rebase -u -b {shown} -F"
            );
            return Err(unsupported(what));
        }
    };
    let under = file.under(Path::new(OsStr::from_bytes(path)));
    let under =
        under.map_err(|why| unsupported(format!("has the backing file '{shown}', which {why}")))?;
    // Which image names it would not be known otherwise.
    let under =
        under.map_err(|error| unsupported(format!("has the backing file '{shown}': {error}")))?;
    Image::of(under, Some(known)).map(Some)
}

/// The data of a header extension.
fn extension(file: &ImageFile, header: &Header, wanted: u32) -> Result<Option<Vec<u8>>, Error> {
    let area = file.bytes(header.length, header.cluster() - header.length)?;
    let mut rest = &area[..];
    while rest.len() >= 8 {
        let mut fields = Fields(rest);
        let (kind, len) = (fields.be32(), fields.be32() as usize);
        let Some(data) = fields.0.get(..len).filter(|_| kind != 0) else {
            break;
        };
        if kind == wanted {
            return Ok(Some(data.to_vec()));
        }
        rest = fields.0.get(len.next_multiple_of(8)..).unwrap_or(&[]);
    }
    Ok(None)
}
