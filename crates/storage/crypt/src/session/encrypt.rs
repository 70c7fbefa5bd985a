//! Encrypting a file.

use std::ffi::OsStr;

use evener_files::OutputFile;

use super::{Error, Secret, Session, open};
use crate::bulk::{Bulk, BulkSink, BulkSource, Seal};
use crate::chosen;
use crate::chunked::{FileKey, Scheme};
use crate::keys::{self, Cost, PassphraseHeader};

/// Encrypts `input` into `output`, both file names or `-`, as Cobblestone-256. `context` is needed to decrypt it.
/// With a passphrase, the file starts with a [`PassphraseHeader`].
///
/// # Errors
/// The input cannot be read, the output cannot be written, or there is no randomness or memory for a key.
pub fn encrypt(
    input: &OsStr,
    output: &OsStr,
    secret: &Secret,
    context: &[u8],
) -> Result<Session<Seal>, Error> {
    let file = open(input)?;
    let (key, header) = new_key(&file.name, secret, context)?;
    let sink = BulkSink::new(
        OutputFile::named(output, &file.source_file().kept())?,
        header,
    );
    Ok(Session {
        source: BulkSource::to_end::<Seal>(file, 0, 0),
        service: Bulk::new(Seal(key)),
        sink,
    })
}

/// A new key for one file, which messages call `name`, and the header of the file.
pub(super) fn new_key(
    name: &str,
    secret: &Secret,
    context: &[u8],
) -> Result<(FileKey, Vec<u8>), Error> {
    let simd = chosen::GCM.level();
    let salt = keys::salt()?;
    let scheme = Scheme::Cobblestone256;
    let made = |key: &[u8], context: &[u8]| {
        FileKey::create(scheme, key, context, &salt, simd).map_err(|cause| Error::Header {
            name: name.to_owned(),
            cause,
        })
    };
    match secret {
        Secret::Key(key) => {
            let (key, header) = made(key.bytes(), context)?;
            Ok((key, header.to_vec()))
        }
        Secret::Passphrase(passphrase) => {
            let wrong = |cause| Error::Passphrase {
                name: name.to_owned(),
                cause,
            };
            let front = PassphraseHeader::generate(Cost::DEFAULT).map_err(wrong)?;
            let key = front.key(passphrase).map_err(wrong)?;
            let (key, header) = made(key.bytes(), &front.context(context))?;
            Ok((key, [&front.to_bytes()[..], &header].concat()))
        }
    }
}
