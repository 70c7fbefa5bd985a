//! What an encrypted file tells without a key.

use std::ffi::OsStr;
use std::fmt;

use evener_runtime::quantity::Size;
use serde::Serialize;

use super::age::read_header;
use super::{Error, open};
use crate::age::{self, Header, NONCE};
use crate::chunked::{HEADER, HeaderError, Layout};
use crate::keys::{PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

/// What is known of an encrypted file without decrypting it. `Display` gives some lines for people, `Serialize` is for
/// programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspected {
    /// The file.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// Bytes of the file, if it is one and no pipe.
    pub size: Option<u64>,
    /// Bytes of its text, if they follow from its size.
    pub text_size: Option<u64>,
}

/// The format of an encrypted file, and what it needs to be decrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// Cobblestone-256 with the key of a key file. Such a file has no mark, so this is what is left.
    Key,
    /// Cobblestone-256 with the key of a passphrase.
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
        /// Whether it is in lines of text.
        armored: bool,
        /// Bytes of the header.
        header: u64,
        /// The kind of each recipient.
        recipients: Vec<String>,
        /// The work factor of scrypt, if it needs a passphrase: the logarithm to base two of the KiB of memory.
        work_factor: Option<u8>,
    },
}

/// Inspects `input`, the name of a file or `-`. Nothing but its beginning is read.
///
/// # Errors
/// It cannot be read, or is too short or damaged.
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
        Err(PassphraseError::NoHeader) if got < PASSPHRASE_HEADER => {
            let cause = HeaderError::Short { got };
            return Err(Error::Header { name, cause });
        }
        Err(PassphraseError::NoHeader) => (Format::Key, HEADER),
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
        write!(f, "  format    {format}\n  needs     {needs}")?;
        if let Some(size) = self.size {
            write!(f, "\n  file      {} ({size} bytes)", Size(size))?;
        }
        if let Some(text) = self.text_size {
            write!(f, "\n  text      {} ({text} bytes)", Size(text))?;
        }
        Ok(())
    }
}

impl Format {
    /// The format and what decrypts it, as people read it.
    fn told(&self) -> (String, String) {
        match self {
            Format::Key => (
                "Cobblestone-256 with a key file, unless it is something else: such files have no mark"
                    .to_owned(),
                "the key file it was encrypted with: -k KEYFILE".to_owned(),
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
                        recipients.join(", ")
                    ),
                };
                (format!("age, version 1{text}"), needs)
            }
        }
    }
}
