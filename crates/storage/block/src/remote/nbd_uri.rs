//! Which NBD server, and which export of it, <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/uri.md>.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use evener_sockets::Address;
use percent_encoding::percent_decode_str;

/// The port of NBD.
const PORT: u16 = 10809;

/// A server and an export of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUri {
    /// Where it listens.
    pub address: Address,
    /// The name of the export.
    pub export: String,
    /// TLS, if it is spoken.
    pub tls: Option<TlsUri>,
}

/// How TLS is spoken with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsUri {
    /// The name in the certificate of the server.
    pub host: String,
    /// A folder with certificates.
    pub folder: Option<PathBuf>,
}

impl NbdUri {
    /// Reads `nbd://HOST[:PORT][/EXPORT]` or `nbd+unix:///[EXPORT]?socket=PATH`. With TLS they begin with `nbds`, and may
    /// have the parameters `tls-certificates`, a folder, and `tls-hostname`, the name in the certificate of the server.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<NbdUri, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let (is_unix, with_tls) = (scheme.ends_with("+unix"), scheme.starts_with("nbds"));
        let wrong = || match is_unix {
            true => format!("write it as {scheme}:///EXPORT?socket=PATH"),
            false => format!("write it as {scheme}://HOST:PORT/EXPORT"),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parameters = Parameters(query.split('&').collect());
        let (socket, folder) = (
            parameters.take("socket="),
            parameters.take("tls-certificates="),
        );
        let named = parameters.take("tls-hostname=");
        let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some(other) = parameters.0.iter().find(|other| !other.is_empty()) {
            let name = other.split('=').next().unwrap_or(other);
            return Err(unknown(name, is_unix, with_tls));
        }
        if !with_tls && (folder.is_some() || named.is_some()) {
            let sealed = scheme.replacen("nbd", "nbds", 1);
            return Err(format!(
                "with certificates write {sealed}:// instead of {scheme}://"
            ));
        }
        if is_unix != socket.is_some() || is_unix != host.is_empty() {
            return Err(wrong());
        }
        // The colons of an IPv6 address stand in brackets.
        let port = host
            .rsplit_once(':')
            .filter(|(_, port)| !port.contains(']'));
        let address = match (socket, port) {
            (Some(socket), _) => Address::Unix(PathBuf::from(OsString::from_vec(socket))),
            (None, Some(_)) => tcp(host).ok_or_else(wrong)?,
            (None, None) => tcp(&format!("{host}:{PORT}")).ok_or_else(wrong)?,
        };
        let host = match (named, port) {
            (Some(named), _) => String::from_utf8(named).map_err(|_| wrong())?,
            (None, _) if is_unix => "localhost".to_owned(),
            (None, Some((host, _))) => host.to_owned(),
            (None, None) => host.to_owned(),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        let folder = folder.map(|folder| PathBuf::from(OsString::from_vec(folder)));
        Ok(NbdUri {
            address,
            export: decoded(export)?,
            tls: with_tls.then_some(TlsUri { host, folder }),
        })
    }
}

/// What is said of a parameter that is not known, or has no value.
fn unknown(name: &str, is_unix: bool, with_tls: bool) -> String {
    let mut known = Vec::new();
    if is_unix {
        known.push("socket=PATH");
    }
    if with_tls {
        known.extend(["tls-certificates=DIR", "tls-hostname=NAME"]);
    }
    match known.is_empty() {
        true => format!("the parameter '{name}' is not known; without TLS there is none"),
        false => {
            let known = known.join(", ");
            format!("the parameter '{name}' is not known; there are {known}")
        }
    }
}

fn tcp(host: &str) -> Option<Address> {
    let is_host = !host.contains('@');
    is_host
        .then(|| format!("tcp:{host}").parse().ok())
        .flatten()
}

/// What stands behind the question mark.
struct Parameters<'a>(Vec<&'a str>);

impl Parameters<'_> {
    /// The bytes of a parameter, which is taken out. An empty one is none.
    fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let place = self.0.iter().position(|one| one.starts_with(name))?;
        let value = self.0.remove(place).strip_prefix(name)?;
        (!value.is_empty()).then(|| percent_decode_str(value).collect())
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| "the name of the export is not UTF-8")?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read() {
        for (text, address, export) in [
            ("nbd://localhost", "tcp:localhost:10809", ""),
            ("nbd://localhost/", "tcp:localhost:10809", ""),
            ("nbd://10.0.0.1:9/a%20b/c", "tcp:10.0.0.1:9", "a b/c"),
            ("nbd://[::1]", "tcp:[::1]:10809", ""),
            ("nbd://[::1]:9/x", "tcp:[::1]:9", "x"),
            ("nbd+unix:///?socket=/run/a.sock", "unix:/run/a.sock", ""),
            ("nbd+unix:///x?socket=a%20b", "unix:a b", "x"),
            ("nbds://host:9/x?tls-certificates=/c", "tcp:host:9", "x"),
            ("nbds+unix:///?socket=a&tls-hostname=b", "unix:a", ""),
        ] {
            let uri = NbdUri::parse(text).unwrap();
            assert_eq!(uri.address.to_string(), address, "{text}");
            assert_eq!(uri.export, export, "{text}");
        }
        let tls = |text| NbdUri::parse(text).unwrap().tls;
        for (text, host, folder) in [
            (
                "nbds://[::1]:9/x?tls-certificates=/c%20d",
                "::1",
                Some("/c d"),
            ),
            ("nbds://host", "host", None),
            ("nbds+unix:///?tls-hostname=b&socket=a", "b", None),
            ("nbds+unix:///?socket=a", "localhost", None),
        ] {
            let (host, folder) = (host.to_owned(), folder.map(PathBuf::from));
            assert_eq!(tls(text), Some(TlsUri { host, folder }), "{text}");
        }
        assert_eq!(tls("nbd://host"), None);
        for text in [
            "nbd://host?tls-certificates=/c",
            "nbds://host?unknown=1",
            "nbd://host?socket=a",
            "nbd://",
            "nbd://:9",
            "nbd://host:port",
            "nbd://user@host",
            "nbd+unix://a?socket=b",
            "nbd+unix:///a",
            "nbd+unix:///?socket=",
            "nbd://host/%ff",
        ] {
            assert!(NbdUri::parse(text).is_err(), "{text}");
        }
    }
}
