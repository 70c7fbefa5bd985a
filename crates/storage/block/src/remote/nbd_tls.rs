//! TLS towards an NBD server.

use std::io::{self, IoSlice, Read, Write};
use std::path::Path;
use std::sync::Arc;

use evener_files::one_line;
use evener_sockets::Stream;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::nbd_uri::TlsUri;
use crate::certificates::{
    TlsError, certificates, identity, is_other_name, is_unknown_issuer, mismatch, said,
    wants_certificate,
};

/// A stream that is sealed.
pub type Sealed = StreamOwned<ClientConnection, Whole>;

/// A stream that is read and written by one owner.
#[derive(Debug)]
pub struct Whole(pub Stream);

impl Read for Whole {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(room)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    /// An alert, with what was to be sent before it, goes out with one call.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.0).write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins TLS on a stream whose server waits for it.
///
/// # Errors
/// The certificates cannot be read, or the server is another one or breaks off.
pub fn start(stream: Stream, tls: &TlsUri) -> io::Result<Sealed> {
    let name = ServerName::try_from(tls.host.clone()).map_err(io::Error::other)?;
    let config = config(tls.folder.as_deref())?;
    let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut sealed = StreamOwned::new(session, Whole(stream));
    while sealed.conn.is_handshaking() {
        let done = sealed.conn.complete_io(&mut sealed.sock);
        done.map_err(|error| explained(error, tls.folder.as_deref()))?;
    }
    Ok(sealed)
}

/// An error of TLS as a line that says what to do.
pub fn explained(error: io::Error, folder: Option<&Path>) -> io::Error {
    let Some(said) = said(&error) else {
        return error;
    };
    let to_do = match folder {
        None if is_unknown_issuer(&error) => {
            "; name a folder that has it as ca-cert.pem: ?tls-certificates=DIR".to_owned()
        }
        None if wants_certificate(&error) => {
            "; name a folder with client-cert.pem and client-key.pem: ?tls-certificates=DIR"
                .to_owned()
        }
        Some(folder) if is_unknown_issuer(&error) => {
            format!(
                "; ca-cert.pem in {} is of another",
                one_line(&folder.to_string_lossy())
            )
        }
        Some(folder) if wants_certificate(&error) => {
            let folder = one_line(&folder.to_string_lossy());
            format!("; put client-cert.pem and client-key.pem into {folder}")
        }
        _ if is_other_name(&error) => "; name one that it is for: ?tls-hostname=NAME".to_owned(),
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("the server {said}{to_do}"))
}

/// What a folder has: `ca-cert.pem` and, for servers that want it, `client-cert.pem` and `client-key.pem`. Without a
/// folder the authorities are those of the system.
fn config(folder: Option<&Path>) -> io::Result<ClientConfig> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let mut roots = RootCertStore::empty();
    let Some(folder) = folder else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(config.with_root_certificates(roots).with_no_client_auth());
    };
    let authority = folder.join("ca-cert.pem");
    let certs = certificates(&authority).map_err(io::Error::other)?;
    if roots.add_parsable_certificates(certs).0 == 0 {
        let unfit = TlsError::new(&authority, "has no valid certificate");
        return Err(io::Error::other(unfit));
    }
    let config = config.with_root_certificates(roots);
    let (own, key) = (
        folder.join("client-cert.pem"),
        folder.join("client-key.pem"),
    );
    if !own.exists() {
        return Ok(config.with_no_client_auth());
    }
    let (chain, found) = identity(&own, &key).map_err(io::Error::other)?;
    let config = config.with_client_auth_cert(chain, found);
    config.map_err(|error| io::Error::other(mismatch(&own, &key, &error)))
}
