//! What is known of an encrypted file without a key.

use std::ffi::OsStr;
use std::fmt;

use evener_runtime::quantity::Size;
use serde::Serialize;

use super::age::read_header;
use super::{Error, foreign, open};
use crate::age::{self, Header, NONCE};
use crate::chunked::{HEADER, HeaderError, Layout};
use crate::keys::{PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

/// What is known of an encrypted file without decrypting it. `Display` prints some readable lines, `Serialize` is for
/// programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspected {
    /// The file.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// The size of the file, unless it is a pipe.
    pub size: Option<u64>,
    /// The size of its plaintext, if it follows from the file size.
    pub text_size: Option<u64>,
}

/// The format of an encrypted file, and the secret that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// The file cannot be distinguished from random bytes. If evener encrypted it, it is Cobblestone-256 with a key
    /// from a key file, which has no mark.
    Key,
    /// Cobblestone-256 with a key from a passphrase.
    Passphrase {
        /// Memory of Argon2id, in KiB.
        memory_kib: u32,
        /// Its passes.
        passes: u32,
        /// Its lanes.
        lanes: u32,
    },
    /// Age's format.
    Age {
        /// Whether it is armored, that is, lines of text.
        armored: bool,
        /// Bytes of the header.
        header: u64,
        /// The kind of each recipient.
        recipients: Vec<String>,
        /// The work factor of scrypt, if it needs a passphrase: the base-2 logarithm of the memory in KiB.
        work_factor: Option<u8>,
    },
}

/// Inspects `input`, a file name or `-`. Only its first bytes are read.
///
/// # Errors
/// The input cannot be read, is too short or damaged, or is in no format that evener decrypts.
pub fn inspect(input: &OsStr) -> Result<Inspected, Error> {
    let mut file = open(input)?;
    let (name, size) = (file.name.clone(), file.remaining());
    let mut front = [0; PASSPHRASE_HEADER];
    let got = file.fill(&mut front, 0)?;
    let front = &front[..got];
    if let Some(armored) = age::recognise(front) {
        let (header, _, bytes) = read_header(file, front, armored)?;
        let format = of_age(&header, armored, bytes).map_err(|cause| Error::Age {
            name: name.clone(),
            cause,
        })?;
        let layout = age::LAYOUT.after(bytes + NONCE as u64);
        let text_size = text_size(&name, layout, size.filter(|_| !armored))?;
        return Ok(Inspected {
            name,
            format,
            size,
            text_size,
        });
    }
    let (format, header) = match PassphraseHeader::parse(front) {
        Ok(header) => {
            let cost = header.cost();
            let format = Format::Passphrase {
                memory_kib: cost.memory,
                passes: cost.passes,
                lanes: cost.lanes,
            };
            (format, PASSPHRASE_HEADER + HEADER)
        }
        Err(PassphraseError::NoHeader)
            if got < PASSPHRASE_HEADER && foreign::recognise(front).is_none() =>
        {
            let cause = HeaderError::Short { got };
            return Err(Error::Header { name, cause });
        }
        Err(PassphraseError::NoHeader) => {
            let what = foreign::recognise(front).or_else(|| {
                let not_encrypted = "is not encrypted, or in a way that evener does not know";
                (!foreign::is_noise(front)).then_some(not_encrypted)
            });
            match what {
                Some(what) => return Err(Error::Foreign { name, what }),
                None => (Format::Key, HEADER),
            }
        }
        Err(cause) => return Err(Error::Passphrase { name, cause }),
    };
    let text_size = text_size(&name, Layout::CHUNKED.after(header as u64), size)?;
    Ok(Inspected {
        name,
        format,
        size,
        text_size,
    })
}

fn of_age(header: &Header, armored: bool, bytes: u64) -> Result<Format, age::HeaderError> {
    let kinds = header.stanzas.iter().map(|stanza| stanza.args[0].clone());
    Ok(Format::Age {
        armored,
        header: bytes,
        recipients: kinds.collect(),
        work_factor: age::work_factor(header)?,
    })
}

fn text_size(name: &str, layout: Layout, size: Option<u64>) -> Result<Option<u64>, Error> {
    let sizes = size.map(|size| layout.of_sealed(size)).transpose();
    let sizes = sizes.map_err(|cause| Error::Size {
        name: name.to_owned(),
        cause,
    })?;
    Ok(sizes.map(|sizes| sizes.plain()))
}

impl fmt::Display for Inspected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        let (format, needs) = self.format.told();
        write!(f, "  format     {format}\n  needs      {needs}")?;
        if let Some(size) = self.size {
            write!(f, "\n  file       {}", exact(size))?;
        }
        if let Some(text) = self.text_size {
            let unless = match self.format {
                Format::Key => ", if it is that",
                _ => "",
            };
            write!(f, "\n  plaintext  {}{unless}", exact(text))?;
        }
        Ok(())
    }
}

/// `97.6 KiB (100000 bytes)`, `78 bytes`
fn exact(bytes: u64) -> String {
    match bytes {
        0..1024 => Size(bytes).to_string(),
        _ => format!("{} ({bytes} bytes)", Size(bytes)),
    }
}

impl Format {
    /// The format and what decrypts it, as people read it.
    fn told(&self) -> (String, String) {
        match self {
            Format::Key => (
                "not known: indistinguishable from random bytes; Cobblestone-256 with a key file looks like that"
                    .to_owned(),
                "if it is that, the key file it was encrypted with: -k KEYFILE".to_owned(),
            ),
            Format::Passphrase {
                memory_kib,
                passes,
                lanes,
            } => (
                "Cobblestone-256 with a passphrase".to_owned(),
                format!(
                    "a passphrase: -p; each guess takes Argon2id with {}, {passes} passes and {lanes} lanes",
                    Size(u64::from(*memory_kib) << 10)
                ),
            ),
            Format::Age {
                armored,
                recipients,
                work_factor,
                ..
            } => {
                let text = if *armored { ", in lines of text" } else { "" };
                let needs = match work_factor {
                    Some(work) => format!(
                        "a passphrase: -p; each guess takes scrypt with {} (work factor {work})",
                        Size(1024 << work)
                    ),
                    None => format!(
                        "an identity of one of its recipients: -i IDENTITY; they are {}",
                        age::counted(recipients.iter().map(String::as_str))
                    ),
                };
                (format!("age, version 1{text}"), needs)
            }
        }
    }
}
