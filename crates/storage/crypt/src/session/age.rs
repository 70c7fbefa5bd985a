//! Encrypting and decrypting age files.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use evener_files::{InputFile, OutputFile, one_line};
use zeroize::Zeroizing;

use super::decrypt::Opener;
use super::secret::{open_secret, write_secret};
use super::{Error, Secret, SecretWarning, Session, open};
use crate::age::armor::Decoder;
use crate::age::{self, FileKey, Header, HeaderError, Identity, NONCE, PayloadKey, Recipient};
use crate::bulk::{Bulk, BulkSink, BulkSource, Input};

/// The most bytes of a file of recipients or identities.
const MAX_LIST: u64 = 16 << 20;

/// The recipients of an age file.
pub enum Recipients {
    /// Public keys, at least one.
    Keys(Vec<Recipient>),
    /// Everyone who knows a passphrase.
    Passphrase(Zeroizing<Vec<u8>>),
}

impl Recipients {
    /// The header of a new file that `name` calls, and its key.
    fn header(&self, name: &str) -> Result<(Header, FileKey), Error> {
        let key = FileKey::generate()?;
        Ok((self.header_of(&key, name)?, key))
    }

    /// The header of a file that `name` calls and that has this key.
    pub(super) fn header_of(&self, key: &FileKey, name: &str) -> Result<Header, Error> {
        let failed = |cause| Error::Age {
            name: name.to_owned(),
            cause,
        };
        let stanzas = match self {
            Recipients::Keys(keys) => keys.iter().map(|to| to.wrap(key)).collect(),
            Recipients::Passphrase(text) => {
                age::wrap_passphrase(key, text, age::DEFAULT_WORK).map(|stanza| vec![stanza])
            }
        };
        Ok(Header::new(stanzas.map_err(failed)?, key))
    }
}

/// Encrypts `input` into `output`, both file names or `-`, as an age file. With `armor`, as lines of text.
///
/// # Errors
/// The input cannot be read, the output cannot be written, or there is no randomness or memory for a key.
pub fn encrypt_age(
    input: &OsStr,
    output: &OsStr,
    to: &Recipients,
    armor: bool,
) -> Result<Session<age::Seal>, Error> {
    let file = open(input)?;
    let (header, key) = to.header(&file.name)?;
    let nonce: [u8; NONCE] = age::random()?;
    let front = [&header.to_bytes()[..], &nonce].concat();
    let source = file.source_file().kept();
    let output = match armor {
        true => OutputFile::shown(output, &source)?,
        false => OutputFile::named(output, &source)?,
    };
    Ok(Session {
        source: BulkSource::to_end::<age::Seal>(file, 0, 0),
        service: Bulk::new(age::Seal(PayloadKey::new(&key, &nonce))),
        sink: match armor {
            true => BulkSink::armored(output, front),
            false => BulkSink::new(output, front),
        },
    })
}

/// The header of an age file of which `front` has been read: the rest of the input, and the header's length.
pub(super) fn read_header(
    file: InputFile,
    front: &[u8],
    armored: bool,
) -> Result<(Header, Input, u64), Error> {
    let name = file.name.clone();
    let mut input = Input {
        file,
        armor: armored.then(|| Decoder::new(front)),
    };
    let mut known = if armored { &[][..] } else { front };
    let mut at = 0;
    let header = Header::read(|| {
        let mut byte = [0];
        if known.read(&mut byte).unwrap_or(0) == 0 && input.fill(&mut byte, at)? == 0 {
            return Ok(None);
        }
        at += 1;
        Ok(Some(byte[0]))
    });
    let header = header.map_err(|error| match error {
        HeaderOr::Header(cause) => Error::Age { name, cause },
        HeaderOr::File(error) => error.into(),
    })?;
    Ok((header, input, at))
}

enum HeaderOr {
    Header(HeaderError),
    File(evener_files::Error),
}

impl From<HeaderError> for HeaderOr {
    fn from(error: HeaderError) -> HeaderOr {
        HeaderOr::Header(error)
    }
}

impl From<evener_files::Error> for HeaderOr {
    fn from(error: evener_files::Error) -> HeaderOr {
        HeaderOr::File(error)
    }
}

/// The key of the payload of an age file of which `front` has been read, the rest of the input, and where chunks begin.
pub(super) fn unlock_age(
    file: InputFile,
    front: &[u8],
    armored: bool,
    opener: Opener<'_>,
    context: &[u8],
) -> Result<(PayloadKey, Input, u64), Error> {
    let name = file.name.clone();
    if !context.is_empty() {
        return Err(Error::AgeContext { name });
    }
    let (header, mut input, at) = read_header(file, front, armored)?;
    let key = unwrap(&header, opener, &name)?;
    let mut nonce = [0; NONCE];
    if input.fill(&mut nonce, at)? < NONCE {
        let cause = HeaderError::NoPayload;
        return Err(Error::Age { name, cause });
    }
    let key = PayloadKey::new(&key, &nonce);
    Ok((key, input, at + NONCE as u64))
}

/// The key of the age file with this header, which messages call `name`.
pub(super) fn unwrap(header: &Header, opener: Opener<'_>, name: &str) -> Result<FileKey, Error> {
    let name = name.to_owned();
    let key = match opener {
        Opener::Identities(identities) => age::unwrap(header, identities),
        Opener::Secret(Secret::Passphrase(text)) => age::unwrap_passphrase(header, text),
        Opener::Secret(Secret::Key(_)) => return Err(Error::IsAge { name }),
    };
    key.map_err(|cause| Error::Age { name, cause })
}

/// Reads the recipients in the file at `path`; `-` is the standard input.
///
/// # Errors
/// The file cannot be read, or a line is not a recipient.
pub fn recipient_file(path: &Path) -> Result<Vec<Recipient>, Error> {
    let (name, text, _) = list(path)?;
    age::recipients(&text).map_err(|cause| Error::AgeKey { name, cause })
}

/// Reads the identities in the file at `path`, and returns warnings about the file; `-` is the standard input.
///
/// # Errors
/// The file cannot be read, or a line is not an identity.
pub fn identity_file(path: &Path) -> Result<(Vec<Identity>, Vec<SecretWarning>), Error> {
    let (name, text, warnings) = list(path)?;
    let found = age::identities(&text).map_err(|cause| Error::AgeKey { name, cause })?;
    Ok((found, warnings))
}

type List = (String, Zeroizing<Vec<u8>>, Vec<SecretWarning>);

fn list(path: &Path) -> Result<List, Error> {
    let mut text = Zeroizing::new(Vec::new());
    let (name, read, warnings) = match path.as_os_str() == "-" {
        true => {
            let stdin = InputFile::stdin("is a terminal; pipe the lines in, or name a file")?;
            let read = stdin.file.take(MAX_LIST + 1).read_to_end(&mut text);
            (stdin.name, read, Vec::new())
        }
        false => {
            let name = match path
                .as_os_str()
                .as_encoded_bytes()
                .starts_with(b"AGE-SECRET-KEY-")
            {
                true => "-i (an identity itself, where the name of its file belongs)".to_owned(),
                false => one_line(&path.to_string_lossy()),
            };
            let (file, warnings) = open_secret(path).map_err(|reason| {
                let name = name.clone();
                evener_files::Error::Open { name, reason }
            })?;
            let read = file.take(MAX_LIST + 1).read_to_end(&mut text);
            (name, read, warnings)
        }
    };
    let byte = text.len() as u64;
    match read {
        Err(reason) => Err(evener_files::Error::Read { name, byte, reason }.into()),
        Ok(_) if byte > MAX_LIST => Err(evener_files::Error::Unfit {
            name,
            reason: "has more than 16 MiB, so it is not a list of recipients or identities",
        }
        .into()),
        Ok(_) => Ok((name, text, warnings)),
    }
}

/// Writes a new identity to a new file that only its owner can read, as `age-keygen` does. Returns its recipient.
///
/// # Errors
/// The operating system provides no randomness, or the file exists or cannot be written.
pub fn new_identity_file(path: &Path) -> Result<Recipient, Error> {
    let identity = Identity::generate()?;
    let text = age::identity_lines(&identity);
    write_secret(path, text.as_bytes())?;
    Ok(identity.recipient())
}
