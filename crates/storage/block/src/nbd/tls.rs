//! The certificates of a server, in a folder as for qemu and nbdkit.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use evener_files::{Exposed, one_line};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tracing::warn;

pub use crate::certificates::TlsError;
use crate::certificates::{certificates, identity, mismatch, name_of};

/// The certificate of an authority, by which clients are known.
const AUTHORITY: &str = "ca-cert.pem";
/// The certificates of the server, its own first.
const SERVER: &str = "server-cert.pem";
/// The key of the server.
const KEY: &str = "server-key.pem";

/// The TLS settings of a server.
#[derive(Clone, Debug)]
pub struct Tls {
    /// What the server shows, and what it wants of clients.
    pub(super) config: Arc<ServerConfig>,
    /// Clients without TLS are refused.
    pub(super) is_required: bool,
    verifies_clients: bool,
    certificate: CertificateDer<'static>,
}

impl Tls {
    /// Reads `server-cert.pem` and `server-key.pem` from a folder; with `verifies_clients` also `ca-cert.pem`, which
    /// must have signed the certificates of clients.
    ///
    /// # Errors
    /// A file is missing or invalid. If other users can read the key, this logs a warning.
    pub fn read(folder: &Path, verifies_clients: bool, is_required: bool) -> Result<Tls, TlsError> {
        if !folder.is_dir() {
            let what = format!("is not a folder; name one with {SERVER} and {KEY}");
            return Err(TlsError::new(folder, what));
        }
        let at = |name: &str| folder.join(name);
        let unfit = |name: &str, what: String| TlsError::new(&at(name), what);
        let provider = Arc::new(default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| unfit(SERVER, error.to_string()))?;
        let config = match verifies_clients {
            false => config.with_no_client_auth(),
            true => {
                let mut roots = RootCertStore::empty();
                for cert in certificates(&at(AUTHORITY))? {
                    let added = roots.add(cert);
                    added.map_err(|_| unfit(AUTHORITY, "has no valid certificate".to_owned()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                let verifier = verifier.map_err(|error| unfit(AUTHORITY, error.to_string()))?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let (chain, key) = identity(&at(SERVER), &at(KEY))?;
        let exposed = fs::metadata(at(KEY)).ok();
        if let Some(exposed) = exposed.as_ref().and_then(Exposed::of) {
            warn!("{}: {exposed}", one_line(&at(KEY).to_string_lossy()));
        }
        let certificate = chain.first().cloned().unwrap_or_else(|| Vec::new().into());
        let config = config.with_single_cert(chain, key);
        let config = config.map_err(|error| mismatch(&at(SERVER), &at(KEY), &error))?;
        Ok(Tls {
            config: Arc::new(config),
            is_required,
            verifies_clients,
            certificate,
        })
    }

    /// Whether clients without TLS are rejected.
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// The files that a client needs.
    pub fn client_files(&self) -> &'static str {
        match self.verifies_clients {
            true => "ca-cert.pem, client-cert.pem and client-key.pem",
            false => "ca-cert.pem",
        }
    }

    /// One of these names of this machine for which the certificate is, or another name that the certificate has.
    pub(super) fn host(&self, names: &[&str]) -> Option<String> {
        name_of(&self.certificate, names)
    }
}
