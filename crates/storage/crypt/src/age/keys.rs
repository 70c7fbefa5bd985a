//! Recipients, identities and passphrases: wrapping and unwrapping the key of a file.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, Hrp};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::error::{HeaderError, KeyError};
use super::header::decode;
use super::{FileKey, Header, Stanza, hkdf, random};
use crate::chacha20poly1305::ChaCha20Poly1305;
use crate::chosen;
use crate::gcm::TAG;
use crate::keys::RandomError;

/// Bytes of a wrapped file key.
const WRAPPED: usize = 16 + TAG;
/// The work factor of new passphrases, as in age: scrypt with 256 MiB.
pub const DEFAULT_WORK: u8 = 18;
/// The largest accepted work factor, as in age: 4 GiB.
pub const MAX_WORK: u8 = 22;
const X25519: &str = "X25519";
const SCRYPT: &str = "scrypt";

/// An X25519 public key, to which a file can be encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recipient(PublicKey);

/// The secret key that belongs to a recipient.
#[derive(Clone)]
pub struct Identity(StaticSecret);

impl FromStr for Recipient {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Recipient, KeyError> {
        if text.to_ascii_uppercase().starts_with("AGE-SECRET-KEY-") {
            return Err(KeyError::IsIdentity);
        }
        let shown = || evener_files::one_line(text);
        if let Some(kind) = unsupported(text) {
            return Err(KeyError::Unsupported(kind));
        }
        if !text.starts_with("age1") {
            return Err(KeyError::NoRecipient(shown()));
        }
        match bytes("age", text) {
            Some(key) => Ok(Recipient(PublicKey::from(*key))),
            // A plugin's name stands between the two ones, or the prefix is of another kind of key.
            None if text[4..].contains('1') => Err(KeyError::Unsupported("recipients of plugins")),
            None => Err(KeyError::BadRecipient(shown())),
        }
    }
}

impl std::fmt::Display for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = bech32::encode_lower::<Bech32>(Hrp::parse_unchecked("age"), self.0.as_bytes());
        f.write_str(&text.expect("32 bytes are few"))
    }
}

impl Identity {
    /// Generates an identity.
    ///
    /// # Errors
    /// The operating system provides no randomness.
    pub fn generate() -> Result<Identity, RandomError> {
        Ok(Identity(StaticSecret::from(*Zeroizing::new(random()?))))
    }

    /// Parses an identity.
    ///
    /// # Errors
    /// The text is not an identity.
    pub fn parse(text: &str) -> Result<Identity, KeyError> {
        if text.starts_with("age1") {
            return Err(KeyError::IsRecipient);
        }
        if let Some(kind) = unsupported(text) {
            return Err(KeyError::Unsupported(kind));
        }
        if !text.starts_with("AGE-SECRET-KEY-1") {
            return Err(KeyError::NoIdentity);
        }
        let key = bytes("AGE-SECRET-KEY-", text).ok_or(KeyError::BadIdentity)?;
        Ok(Identity(StaticSecret::from(*key)))
    }

    /// The identity as text.
    pub fn to_text(&self) -> Zeroizing<String> {
        let prefix = Hrp::parse_unchecked("AGE-SECRET-KEY-");
        let text = bech32::encode_upper::<Bech32>(prefix, self.0.as_bytes());
        Zeroizing::new(text.expect("32 bytes are few"))
    }

    /// The recipient that belongs to this identity.
    pub fn recipient(&self) -> Recipient {
        Recipient(PublicKey::from(&self.0))
    }

    fn unwrap(&self, share: [u8; 32], body: &[u8; WRAPPED]) -> Option<Result<FileKey, ()>> {
        let shared = self.0.diffie_hellman(&PublicKey::from(share));
        if !shared.was_contributory() {
            return Some(Err(()));
        }
        let key = wrap_key(shared.as_bytes(), &share, &self.recipient());
        open(&key, body).map(Ok)
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(..)")
    }
}

/// The kind of a recipient or an identity that is not supported.
fn unsupported(text: &str) -> Option<&'static str> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
    if starts(&[
        "ssh-",
        "-----BEGIN OPENSSH",
        "-----BEGIN RSA",
        "-----BEGIN PRIVATE",
        "github:",
    ]) {
        Some("keys of ssh")
    } else if starts(&["age1pq1", "AGE-SECRET-KEY-PQ-1"]) {
        Some("post-quantum keys")
    } else if starts(&["age1tag1", "age1tagpq1", "AGE-PLUGIN-"]) {
        Some("keys of plugins")
    } else {
        None
    }
}

/// The 32 bytes of a text in Bech32.
fn bytes(prefix: &str, text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let checked = CheckedHrpstring::new::<Bech32>(text).ok()?;
    let mut key = Zeroizing::new([0; 32]);
    let mut bytes = checked.byte_iter();
    key.iter_mut().try_for_each(|byte| {
        *byte = bytes.next()?;
        Some(())
    })?;
    let whole = bytes.next().is_none() && checked.validate_segwit_padding().is_ok();
    (whole && checked.hrp().as_str() == prefix).then_some(key)
}

impl Recipient {
    /// Wraps the file key for this recipient.
    ///
    /// # Errors
    /// The operating system provides no randomness, or the recipient is a point that keeps no secret.
    pub fn wrap(&self, key: &FileKey) -> Result<Stanza, HeaderError> {
        let secret = StaticSecret::from(*Zeroizing::new(random()?));
        let share = PublicKey::from(&secret);
        let shared = secret.diffie_hellman(&self.0);
        if !shared.was_contributory() {
            return Err(HeaderError::Stanza {
                number: 1,
                kind: X25519,
                what: "is a point that keeps nothing secret",
            });
        }
        let wrap = wrap_key(shared.as_bytes(), share.as_bytes(), self);
        Ok(Stanza {
            args: vec![X25519.to_owned(), STANDARD_NO_PAD.encode(share.as_bytes())],
            body: seal(&wrap, key),
        })
    }
}

fn wrap_key(shared: &[u8; 32], share: &[u8; 32], to: &Recipient) -> Zeroizing<[u8; 32]> {
    let salt = [&share[..], to.0.as_bytes()].concat();
    hkdf(shared, &salt, b"age-encryption.org/v1/X25519")
}

fn aead(wrap: &[u8; 32]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(wrap, chosen::CHACHA20_POLY1305.level())
}

fn seal(wrap: &[u8; 32], key: &FileKey) -> Vec<u8> {
    let mut body = vec![0; WRAPPED];
    aead(wrap).seal(&[0; 12], &key.0, &mut body);
    body
}

fn open(wrap: &[u8; 32], body: &[u8; WRAPPED]) -> Option<FileKey> {
    let mut key = FileKey([0; 16]);
    aead(wrap).open(&[0; 12], body, &mut key.0).ok()?;
    Some(key)
}

/// Returns the file key of a file with this header, from the first matching identity.
///
/// # Errors
/// No identity matches, or the header is damaged or was altered.
pub fn unwrap(header: &Header, identities: &[Identity]) -> Result<FileKey, HeaderError> {
    if passphrase_stanza(header)?.is_some() {
        return Err(HeaderError::NeedsPassphrase);
    }
    for (i, stanza) in header.stanzas.iter().enumerate() {
        if stanza.args[0] != X25519 {
            continue;
        }
        let wrong = |what| HeaderError::Stanza {
            number: i + 1,
            kind: X25519,
            what,
        };
        let [_, share] = &stanza.args[..] else {
            return Err(wrong("has not two words"));
        };
        let share = decode(share.as_bytes()).and_then(|share| share.try_into().ok());
        let share = share.ok_or(wrong("has no key of 32 bytes"))?;
        let body = stanza.body[..].try_into();
        let body = body.map_err(|_| wrong("has no body of 32 bytes"))?;
        for identity in identities {
            match identity.unwrap(share, body) {
                Some(Ok(key)) => {
                    header.verify(&key)?;
                    return Ok(key);
                }
                Some(Err(())) => return Err(wrong("has a key that keeps nothing secret")),
                None => {}
            }
        }
    }
    Err(HeaderError::NoMatch(kinds(header)))
}

/// Returns the file key of a file with this header, from a passphrase.
///
/// # Errors
/// The passphrase is wrong; the header has none, or has too large a work factor; or it is damaged or was altered.
pub fn unwrap_passphrase(header: &Header, passphrase: &[u8]) -> Result<FileKey, HeaderError> {
    let Some(stanza) = passphrase_stanza(header)? else {
        return Err(HeaderError::NeedsIdentity(kinds(header)));
    };
    let (salt, work) = parameters(stanza)?;
    let body = stanza.body[..].try_into();
    let body = body.map_err(|_| wrong_scrypt("has no body of 32 bytes"))?;
    let wrap = stretched(passphrase, &salt, work)?;
    let key = open(&wrap, body).ok_or(HeaderError::WrongPassphrase)?;
    header.verify(&key)?;
    Ok(key)
}

/// Wraps the file key with a passphrase.
///
/// # Errors
/// The operating system provides no randomness or no memory.
pub fn wrap_passphrase(key: &FileKey, passphrase: &[u8], work: u8) -> Result<Stanza, HeaderError> {
    let salt: [u8; 16] = random()?;
    let wrap = stretched(passphrase, &salt, work)?;
    Ok(Stanza {
        args: vec![
            SCRYPT.to_owned(),
            STANDARD_NO_PAD.encode(salt),
            work.to_string(),
        ],
        body: seal(&wrap, key),
    })
}

/// The work factor of a file that needs a passphrase: the base-2 logarithm of the number of 1 KiB blocks.
///
/// # Errors
/// The header is damaged, or the work factor is too large.
pub fn work_factor(header: &Header) -> Result<Option<u8>, HeaderError> {
    let stanza = passphrase_stanza(header)?;
    stanza
        .map(|stanza| parameters(stanza).map(|(_, work)| work))
        .transpose()
}

fn wrong_scrypt(what: &'static str) -> HeaderError {
    HeaderError::Stanza {
        number: 1,
        kind: SCRYPT,
        what,
    }
}

/// The stanza of a passphrase, which must be the only one.
fn passphrase_stanza(header: &Header) -> Result<Option<&Stanza>, HeaderError> {
    let found = header
        .stanzas
        .iter()
        .find(|stanza| stanza.args[0] == SCRYPT);
    match found {
        Some(_) if header.stanzas.len() > 1 => Err(wrong_scrypt("is not the only recipient")),
        found => Ok(found),
    }
}

fn parameters(stanza: &Stanza) -> Result<([u8; 16], u8), HeaderError> {
    let [_, salt, work] = &stanza.args[..] else {
        return Err(wrong_scrypt("has not three words"));
    };
    let salt = decode(salt.as_bytes()).and_then(|salt| salt.try_into().ok());
    let salt = salt.ok_or(wrong_scrypt("has no salt of 16 bytes"))?;
    let digits = work.bytes().all(|byte| byte.is_ascii_digit()) && !work.starts_with('0');
    let work: u64 = match digits {
        true => work.parse().unwrap_or(u64::MAX),
        false => return Err(wrong_scrypt("has no work factor in decimal digits")),
    };
    match u8::try_from(work) {
        Ok(work) if work <= MAX_WORK => Ok((salt, work)),
        _ => Err(HeaderError::Work(work)),
    }
}

fn stretched(
    passphrase: &[u8],
    salt: &[u8; 16],
    work: u8,
) -> Result<Zeroizing<[u8; 32]>, HeaderError> {
    let bytes = 1024usize << work;
    // The crate takes the memory without asking whether it can be had.
    if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(HeaderError::Memory(bytes as u64 >> 20));
    }
    let salt = [b"age-encryption.org/v1/scrypt", &salt[..]].concat();
    let params = scrypt::Params::new(work, 8, 1).expect("the work factor was checked");
    let mut key = Zeroizing::new([0; 32]);
    scrypt::scrypt(passphrase, &salt, &params, &mut *key).expect("32 bytes can be derived");
    Ok(key)
}

/// The kinds of recipients of a file, as a message names them.
pub(crate) fn kinds(header: &Header) -> String {
    counted(header.stanzas.iter().map(|stanza| stanza.args[0].as_str()))
}

/// Kinds, each with how often it is there: `2 x X25519, ssh-rsa`.
pub(crate) fn counted<'a>(kinds: impl Iterator<Item = &'a str>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for kind in kinds {
        match counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    let named = counts.iter().map(|(kind, count)| match count {
        1 => (*kind).to_owned(),
        count => format!("{count} x {kind}"),
    });
    named.collect::<Vec<_>>().join(", ")
}
