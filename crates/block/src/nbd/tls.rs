//! The certificates of a server, as qemu and nbdkit keep them in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// The certificate of an authority, by which clients are known.
const AUTHORITY: &str = "ca-cert.pem";
/// The certificates of the server, its own first.
const SERVER: &str = "server-cert.pem";
/// The key of the server.
const KEY: &str = "server-key.pem";

/// How clients are served with TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// What the server shows, and what it wants of clients.
    pub(super) config: Arc<ServerConfig>,
    /// Clients without TLS are refused.
    pub(super) is_required: bool,
}

/// A folder whose certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct TlsError {
    /// The file.
    file: PathBuf,
    /// Why.
    what: String,
}

impl Tls {
    /// Reads `server-cert.pem` and `server-key.pem` of a folder; with `verifies_clients` also `ca-cert.pem`, by which
    /// clients have to be signed.
    ///
    /// # Errors
    /// One of them is not there, or is not what it should be.
    pub fn read(folder: &Path, verifies_clients: bool, is_required: bool) -> Result<Tls, TlsError> {
        let failed = |name: &str, what: String| TlsError {
            file: folder.join(name),
            what,
        };
        let provider = Arc::new(default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(SERVER, error.to_string()))?;
        let config = match verifies_clients {
            false => config.with_no_client_auth(),
            true => {
                let mut roots = RootCertStore::empty();
                for cert in certificates(folder, AUTHORITY)? {
                    let added = roots.add(cert);
                    added.map_err(|error| failed(AUTHORITY, error.to_string()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                let verifier = verifier.map_err(|error| failed(AUTHORITY, error.to_string()))?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(folder, SERVER)?;
        let key = PrivateKeyDer::from_pem_file(folder.join(KEY));
        let key =
            key.map_err(|error| failed(KEY, said(error, "a private key without a passphrase")))?;
        let config = config.with_single_cert(chain, key);
        Ok(Tls {
            config: Arc::new(config.map_err(|error| failed(KEY, error.to_string()))?),
            is_required,
        })
    }
}

impl Tls {
    /// Whether clients without TLS are refused.
    pub fn is_required(&self) -> bool {
        self.is_required
    }
}

fn certificates(folder: &Path, name: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file = folder.join(name);
    let read = CertificateDer::pem_file_iter(&file).and_then(Iterator::collect);
    let failed = |what| TlsError {
        file: file.clone(),
        what,
    };
    let read: Vec<_> = read.map_err(|error| failed(said(error, "certificates")))?;
    match read.is_empty() {
        true => Err(failed("has no certificate in PEM".to_owned())),
        false => Ok(read),
    }
}

/// What is wrong with a file that should have `what` in it.
fn said(error: pem::Error, what: &str) -> String {
    match error {
        pem::Error::Io(error) => format!("cannot be read: {}", evener_files::error_text(&error)),
        pem::Error::NoItemsFound => format!("has not {what} in PEM"),
        error => format!("has not {what} in PEM: {error}"),
    }
}
