//! Certificates and keys in PEM files, and what goes wrong with TLS, in words.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use evener_files::{error_text, one_line};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{AlertDescription, CertificateError, Error, InconsistentKeys};

/// A file of certificates that cannot be used, or a folder of them.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", one_line(&file.to_string_lossy()))]
pub struct TlsError {
    /// The file.
    pub(crate) file: PathBuf,
    /// Why.
    pub(crate) what: String,
}

impl TlsError {
    pub(crate) fn new(file: &Path, what: impl Into<String>) -> TlsError {
        TlsError {
            file: file.to_owned(),
            what: what.into(),
        }
    }
}

/// The certificates in a file, at least one.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let read: Vec<_> = read.map_err(|error| unread(file, error, "certificates"))?;
    match read.is_empty() {
        true => Err(TlsError::new(file, "has no certificates in PEM")),
        false => Ok(read),
    }
}

/// The certificates that one shows, the own one first, and the key to that.
pub fn identity(
    chain: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let certs = certificates(chain)?;
    if let Some(Err(error)) = certs.first().map(ParsedCertificate::try_from) {
        return Err(TlsError::new(chain, refused(&error)));
    }
    let found = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        let is_encrypted = fs::read_to_string(key).is_ok_and(|text| text.contains("ENCRYPTED"));
        match is_encrypted {
            true => TlsError::new(
                key,
                "has a passphrase, which is not asked for; take it off with: openssl pkey -in OLD -out NEW",
            ),
            false => unread(key, error, "a private key"),
        }
    })?;
    Ok((certs, found))
}

/// Why the certificates and the key of [`identity`] do not go together.
pub fn mismatch(chain: &Path, key: &Path, error: &Error) -> TlsError {
    match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            let chain = chain.file_name().unwrap_or_default().to_string_lossy();
            TlsError::new(key, format!("is not the key of {chain}"))
        }
        Error::InvalidCertificate(_) => TlsError::new(chain, refused(error)),
        Error::General(_) => TlsError::new(key, "is not an RSA, ECDSA or Ed25519 key"),
        error => TlsError::new(key, error.to_string()),
    }
}

fn unread(file: &Path, error: pem::Error, what: &str) -> TlsError {
    let what = match error {
        pem::Error::Io(error) => {
            let to_do = match error.kind() {
                io::ErrorKind::PermissionDenied => "; check its permissions",
                _ => "",
            };
            format!("cannot be read: {}{to_do}", error_text(&error))
        }
        pem::Error::NoItemsFound => format!("has not {what} in PEM"),
        pem::Error::MissingSectionEnd { .. } => format!("has not {what} in PEM: it is cut short"),
        error => format!("has not {what} in PEM: {error}"),
    };
    TlsError::new(file, one_line(&what))
}

/// What is wrong with a certificate of one's own.
fn refused(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(reason) if is_old(reason) => format!("{OLD}{NEWER}"),
        Error::InvalidCertificate(CertificateError::BadEncoding) => {
            "has no valid certificate".to_owned()
        }
        error => error.to_string(),
    }
}

const OLD: &str = "has an X.509 certificate of version 1, and version 3 is needed";
const NEWER: &str = "; sign it with extensions: openssl x509 -req -extfile FILE, with subjectAltName=DNS:NAME in it";

/// Whether a certificate has no extensions.
fn is_old(reason: &CertificateError) -> bool {
    matches!(reason, CertificateError::Other(other) if other.to_string() == "UnsupportedCertVersion")
}

/// Why TLS with the other side failed, `None` if the error is not one of TLS. The other side is the subject.
pub fn said(error: &io::Error) -> Option<String> {
    Some(match inner(error)? {
        Error::InvalidCertificate(reason) => of_certificate(reason),
        Error::NoCertificatesPresented => "shows no certificate".to_owned(),
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::InvalidMessage(_) => "does not speak TLS".to_owned(),
        Error::PeerIncompatible(why) => {
            format!("has no version or cipher of TLS that is known here ({why:?})")
        }
        error => format!("breaks TLS: {error}"),
    })
}

fn of_certificate(reason: &CertificateError) -> String {
    use CertificateError::*;
    let what = match reason {
        UnknownIssuer => "that no known authority has signed".to_owned(),
        Expired | ExpiredContext { .. } => "that has expired".to_owned(),
        NotValidYet | NotValidYetContext { .. } => {
            "that is not valid yet; compare the clocks".to_owned()
        }
        InvalidPurpose | InvalidPurposeContext { .. } => "that is for another purpose".to_owned(),
        BadEncoding => "that cannot be read".to_owned(),
        NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<_> = presented.iter().map(|name| plain(name)).collect();
            let (expected, names) = (expected.to_str(), names.join(", "));
            match presented.is_empty() {
                true => format!("that is for no host (subjectAltName), so not for {expected}"),
                false => format!("that is for {names}, and not for {expected}"),
            }
        }
        reason if is_old(reason) => return format!("{OLD}{NEWER}"),
        reason => format!("that is not good: {reason}"),
    };
    one_line(&format!("has a certificate {what}"))
}

/// The name in what rustls says of one: `DnsName("host")`, `IpAddress(::1)`.
fn plain(presented: &str) -> &str {
    let inner = presented
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"')
}

/// A name for which a certificate is: one of `wanted`, otherwise the first that it has, without wildcards.
pub fn name_of(cert: &CertificateDer<'_>, wanted: &[&str]) -> Option<String> {
    let cert = ParsedCertificate::try_from(cert).ok()?;
    let mut presented = Vec::new();
    for name in wanted {
        let Ok(server) = ServerName::try_from(*name) else {
            continue;
        };
        match verify_server_name(&cert, &server) {
            Ok(()) => return Some((*name).to_owned()),
            Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                presented: found,
                ..
            })) => presented = found,
            Err(_) => {}
        }
    }
    let hosts = presented.iter().filter(|name| name.starts_with("DnsName"));
    let name = hosts
        .map(|name| plain(name))
        .find(|name| !name.contains('*'))?;
    Some(name.to_owned())
}

fn of_alert(alert: AlertDescription) -> String {
    use AlertDescription::*;
    match alert {
        UnknownCA => "does not know the authority of the certificate here".to_owned(),
        CertificateRequired => "wants a certificate, and got none".to_owned(),
        BadCertificate | CertificateUnknown | UnsupportedCertificate => {
            format!("does not accept the certificate here ({alert:?})")
        }
        ProtocolVersion => "speaks no version of TLS that is known here".to_owned(),
        alert => format!("ends TLS: {alert:?}"),
    }
}

/// Whether the other side has a certificate of an unknown authority.
pub fn is_unknown_issuer(error: &io::Error) -> bool {
    inner(error).is_some_and(|error| {
        matches!(
            error,
            Error::InvalidCertificate(CertificateError::UnknownIssuer)
        )
    })
}

/// Whether the certificate of the other side is for another name.
pub fn is_other_name(error: &io::Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    inner(error).is_some_and(|error| {
        matches!(
            error,
            Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })
        )
    })
}

/// Whether the other side wants a certificate.
pub fn wants_certificate(error: &io::Error) -> bool {
    let is_that = |error: &Error| {
        matches!(
            error,
            Error::AlertReceived(AlertDescription::CertificateRequired)
        )
    };
    inner(error).is_some_and(is_that)
}

fn inner(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}
