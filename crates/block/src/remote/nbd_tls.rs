//! TLS towards an NBD server.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use evener_sockets::Stream;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::nbd_uri::TlsUri;

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
        sealed.conn.complete_io(&mut sealed.sock)?;
    }
    Ok(sealed)
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
    roots.add_parsable_certificates(certificates(&folder.join("ca-cert.pem"))?);
    let config = config.with_root_certificates(roots);
    let own = folder.join("client-cert.pem");
    if !own.exists() {
        return Ok(config.with_no_client_auth());
    }
    let file = folder.join("client-key.pem");
    let key = PrivateKeyDer::from_pem_file(&file).map_err(|error| unread(&file, error))?;
    let config = config.with_client_auth_cert(certificates(&own)?, key);
    config.map_err(io::Error::other)
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error| unread(file, error))
}

fn unread(file: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: cannot be read: {error}", file.display()))
}
