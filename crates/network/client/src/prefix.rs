//! An address with the length of its network's prefix.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address, and how many of its leading bits are those of its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Not that of the network, but of one in it.
    pub address: IpAddr,
    /// 32 or 128 at most.
    pub len: u8,
}

impl Prefix {
    /// Whether another address is in the same network.
    pub fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= u32::from(self.len)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= u32::from(self.len)
            }
            _ => false,
        }
    }
}

impl Prefix {
    /// Whether a machine can have the address: it is no group's, and neither the network itself nor all of it.
    pub fn is_of_a_machine(&self) -> bool {
        let special = match self.address {
            IpAddr::V4(own) => {
                let hosts = u32::MAX.checked_shr(u32::from(self.len)).unwrap_or(0);
                let host = own.to_bits() & hosts;
                // A network of two addresses has neither (RFC 3021).
                let ends = self.len < 31 && (host == 0 || host == hosts);
                ends || own.octets()[0] == 0 || own.is_broadcast()
            }
            IpAddr::V6(own) => own.is_unspecified(),
        };
        !special && !self.address.is_multicast()
    }

    /// The address after this one, if it is in the same network and can be a machine's.
    pub fn next(&self) -> Option<Prefix> {
        let (address, is_broadcast): (IpAddr, bool) = match self.address {
            IpAddr::V4(own) => {
                let next = own.to_bits().checked_add(1)?;
                let hosts = u32::MAX.checked_shr(u32::from(self.len)).unwrap_or(0);
                (Ipv4Addr::from_bits(next).into(), next & hosts == hosts)
            }
            IpAddr::V6(own) => (
                Ipv6Addr::from_bits(own.to_bits().checked_add(1)?).into(),
                false,
            ),
        };
        let next = Prefix { address, ..*self };
        (self.contains(address) && !is_broadcast).then_some(next)
    }
}

impl FromStr for Prefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Prefix, ()> {
        let (address, len) = text.split_once('/').ok_or(())?;
        let address: IpAddr = address.parse().map_err(drop)?;
        let len: u8 = len.parse().map_err(drop)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (len <= most).then_some(Prefix { address, len }).ok_or(())
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_address_is_a_machines_in_the_same_network() {
        for (text, expected) in [
            ("10.1.0.1/24", Some("10.1.0.2/24")),
            ("10.1.0.253/24", Some("10.1.0.254/24")),
            ("10.1.0.254/24", None),
            ("10.1.0.255/24", None),
            ("10.1.0.1/32", None),
            ("255.255.255.255/0", None),
            ("fd00::ffff/64", Some("fd00::1:0/64")),
            ("fd00::1/128", None),
        ] {
            let prefix: Prefix = text.parse().expect("a prefix");
            let next = prefix.next().map(|next| next.to_string());
            assert_eq!(next.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn networks() {
        let prefix: Prefix = "10.1.2.3/20".parse().expect("a prefix");
        assert_eq!(prefix.to_string(), "10.1.2.3/20");
        let contains = |text: &str| prefix.contains(text.parse().expect("an address"));
        assert!(contains("10.1.15.255") && contains("10.1.0.0"));
        assert!(!contains("10.1.16.0") && !contains("::1"));
        let all: Prefix = "::/0".parse().expect("a prefix");
        assert!(all.contains("fd00::1".parse().expect("an address")));
        for text in [
            "10.1.2.3",
            "10.1.2.3/33",
            "::1/129",
            "x/8",
            "10.1.2.3/",
            "10.1.2.3/-1",
        ] {
            assert_eq!(text.parse::<Prefix>(), Err(()), "{text}");
        }
    }
}
