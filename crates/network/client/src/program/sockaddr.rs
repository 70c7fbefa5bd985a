//! Addresses as system calls have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The length of `sockaddr_in6`, the longest that is of interest.
pub const MOST: usize = 28;

/// The address of a `sockaddr`; none if it is of another family, or cut. One of IPv4 that is told as one of IPv6 is one of
/// IPv4.
pub fn decode(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    match i32::from(family) {
        libc::AF_INET => {
            let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            // The kernel asks for the whole structure, too.
            bytes.get(..16)?;
            Some(SocketAddr::new(Ipv4Addr::from(ip).into(), port))
        }
        libc::AF_INET6 => {
            let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let ip = Ipv6Addr::from(ip);
            if let Some(four) = ip.to_ipv4_mapped() {
                return Some(SocketAddr::new(four.into(), port));
            }
            let scope = match bytes.get(24..28) {
                Some(scope) => u32::from_ne_bytes(scope.try_into().ok()?),
                None => 0,
            };
            Some(SocketAddrV6::new(ip, port, 0, scope).into())
        }
        _ => None,
    }
}

/// A `sockaddr` of a socket of IPv6 or IPv4: of 28 or 16 bytes.
pub fn encode(address: SocketAddr, six: bool) -> Vec<u8> {
    let mut bytes = vec![0; if six { MOST } else { 16 }];
    let family = if six { libc::AF_INET6 } else { libc::AF_INET };
    bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) if !six => bytes[4..8].copy_from_slice(&ip.octets()),
        IpAddr::V4(ip) => bytes[8..24].copy_from_slice(&ip.to_ipv6_mapped().octets()),
        // A socket of IPv4 has no such address.
        IpAddr::V6(_) if !six => {}
        IpAddr::V6(ip) => bytes[8..24].copy_from_slice(&ip.octets()),
    }
    if let (SocketAddr::V6(address), true) = (address, six) {
        bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for (text, six, len) in [
            ("10.1.0.2:80", false, 16),
            ("10.1.0.2:80", true, 28),
            ("[fd00::1]:443", true, 28),
        ] {
            let address: SocketAddr = text.parse().unwrap();
            let bytes = encode(address, six);
            assert_eq!(bytes.len(), len);
            assert_eq!(decode(&bytes), Some(address));
        }
    }

    #[test]
    fn any_bytes_are_an_address_or_none() {
        for family in 0..20_u16 {
            for len in 0..=MOST {
                let mut bytes = [0xFF; MOST];
                bytes[..2].copy_from_slice(&family.to_ne_bytes());
                let decoded = decode(&bytes[..len]);
                let least = match i32::from(family) {
                    libc::AF_INET => 16,
                    libc::AF_INET6 => 24,
                    _ => usize::MAX,
                };
                assert_eq!(decoded.is_some(), len >= least, "{family} {len}");
            }
        }
    }
}
