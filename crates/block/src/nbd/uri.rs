//! How clients on this machine name an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;

use evener_sockets::Address;

/// A URI by which clients on this machine can connect to an export, from any current folder. `None`: there is no URI for
/// the address.
pub fn uri(address: &Address, export: &str, with_tls: bool) -> Option<String> {
    let export = percent_encoded(export.as_bytes());
    let scheme = if with_tls { "nbds" } else { "nbd" };
    let uri = match address {
        _ if address.abstract_name().is_some() => return None,
        Address::Systemd => return None,
        Address::Unix(path) => {
            // Without a current folder the path stays relative.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let path = percent_encoded(path.as_os_str().as_bytes());
            format!("{scheme}+unix:///{export}?socket={path}")
        }
        Address::Vsock(cid, port) => {
            // 1 is this machine.
            let (cid, end) = (cid.unwrap_or(1), if export.is_empty() { "" } else { "/" });
            format!("{scheme}+vsock://{cid}:{port}{end}{export}")
        }
        Address::Tcp(rest) => {
            let end = if export.is_empty() { "" } else { "/" };
            let host = host(rest);
            format!("{scheme}://{host}{end}{export}")
        }
    };
    Some(uri)
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
            assert_eq!(uri(&address, "", false).unwrap(), expected);
        }
        let relative: Address = "unix:socket".parse().unwrap();
        let expected = format!("nbd+unix:///?socket={here}/socket");
        assert_eq!(uri(&relative, "", false).unwrap(), expected);
        let address: Address = "tcp:localhost:9".parse().unwrap();
        assert_eq!(
            uri(&address, "a b", true).unwrap(),
            "nbds://localhost:9/a%20b"
        );
        let address: Address = "unix:@name".parse().unwrap();
        assert_eq!(uri(&address, "", false), None);
    }
}
