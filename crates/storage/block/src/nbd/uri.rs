//! URIs for clients on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use evener_sockets::Address;

use super::tls::Tls;

/// A URI for clients on this machine that connect to an export, valid in any current folder, with TLS if `tls` is
/// given. `DIR` then stands for a folder with the client's files; the server's folder also contains its key. `None`:
/// there is no URI for the address.
pub fn uri(address: &Address, export: &str, tls: Option<&Tls>) -> Option<String> {
    let export = percent_encoded(export.as_bytes());
    let scheme = if tls.is_some() { "nbds" } else { "nbd" };
    let uri = match address {
        _ if address.abstract_name().is_some() => return None,
        Address::Systemd => return None,
        Address::Unix(path) => {
            let path = absolute(path);
            format!("{scheme}+unix:///{export}?socket={path}")
        }
        Address::Vsock(cid, port) => {
            // 1 is this machine.
            let (cid, end) = (cid.unwrap_or(1), if export.is_empty() { "" } else { "/" });
            format!("{scheme}+vsock://{cid}:{port}{end}{export}")
        }
        Address::Tcp(rest) => {
            let end = if export.is_empty() && tls.is_none() {
                ""
            } else {
                "/"
            };
            let host = host(rest);
            let host = tls.and_then(|tls| certified(tls, &host)).unwrap_or(host);
            format!("{scheme}://{host}{end}{export}")
        }
    };
    Some(match tls {
        Some(_) if uri.contains('?') => format!("{uri}&tls-certificates=DIR"),
        Some(_) => format!("{uri}?tls-certificates=DIR"),
        None => uri,
    })
}

/// A path as it is written in a URI. Without a current folder it stays relative.
fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    percent_encoded(path.as_os_str().as_bytes())
}

/// A host and a port as the certificate has the host, which clients compare.
fn certified(tls: &Tls, host: &str) -> Option<String> {
    let (name, port) = host.rsplit_once(':')?;
    let name = name.trim_matches(['[', ']']);
    let is_here = name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let names: &[&str] = if is_here {
        &[name, "localhost"]
    } else {
        &[name]
    };
    let found = tls.host(names)?;
    (found != name).then(|| format!("{found}:{port}"))
}

/// A host and a port by which clients on this machine can connect.
fn host(rest: &str) -> String {
    match rest.parse::<SocketAddr>() {
        Ok(mut address) => {
            match address.ip() {
                ip if !ip.is_unspecified() => {}
                IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            }
            // The sign before the zone of an IPv6 address.
            address.to_string().replace('%', "%25")
        }
        Err(_) => rest.to_owned(),
    }
}

/// Bytes as they are written in a URI, which can stand between quotes of a shell.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, &byte| {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => all.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => all.push(byte.into()),
            _ => all.push_str(&format!("%{byte:02X}")),
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_does_not_depend_on_the_current_folder() {
        let here = std::env::current_dir().unwrap();
        let here = percent_encoded(here.as_os_str().as_bytes());
        for (address, expected) in [
            ("unix:/run/a.sock", "nbd+unix:///?socket=/run/a.sock"),
            (
                "unix:/tmp/a b&c=d'e%+#?.s",
                "nbd+unix:///?socket=/tmp/a%20b%26c%3Dd%27e%25%2B%23%3F.s",
            ),
            ("unix:/tmp/\u{e9}", "nbd+unix:///?socket=/tmp/%C3%A9"),
            ("tcp:127.0.0.1:10809", "nbd://127.0.0.1:10809"),
            ("tcp:0.0.0.0:9", "nbd://127.0.0.1:9"),
            ("tcp:[::]:9", "nbd://[::1]:9"),
            ("tcp:[2001:db8::1]:9", "nbd://[2001:db8::1]:9"),
            ("tcp:localhost:9", "nbd://localhost:9"),
            ("vsock:9", "nbd+vsock://1:9"),
            ("vsock:3:9", "nbd+vsock://3:9"),
        ] {
            let address: Address = address.parse().unwrap();
            assert_eq!(uri(&address, "", None).unwrap(), expected);
        }
        let relative: Address = "unix:socket".parse().unwrap();
        let expected = format!("nbd+unix:///?socket={here}/socket");
        assert_eq!(uri(&relative, "", None).unwrap(), expected);
        let address: Address = "tcp:localhost:9".parse().unwrap();
        assert_eq!(
            uri(&address, "a b", None).unwrap(),
            "nbd://localhost:9/a%20b"
        );
        let address: Address = "unix:@name".parse().unwrap();
        assert_eq!(uri(&address, "", None), None);
    }
}
