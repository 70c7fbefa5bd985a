//! Where the gateway may connect to, and which addresses of this machine it may open. It is no open proxy: what a client
//! names is refused unless the operator allows it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A target that the operator allows: a host's name, an address, or a network as `ADDRESS/BITS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A name, in small letters.
    Host(String),
    /// All addresses that have the first bits in common with this one; so many.
    Network(IpAddr, u8),
}

/// What is allowed.
#[derive(Clone, Debug, Default)]
pub struct Access {
    local: bool,
    allowed: Vec<Target>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Clients may come from other machines.
    #[error(
        "{0}: the allow-list does not name it, and the gateway does not listen at loopback only; --allow {0} lets clients ask for it"
    )]
    Closed(String),
    /// The host has such an address.
    #[error(
        "{host}: {address} is a {kind} address, and the allow-list does not name it; --allow {address} lets clients ask for it"
    )]
    Kind {
        /// As the client names it.
        host: String,
        /// Its address.
        address: IpAddr,
        /// What the address is for.
        kind: &'static str,
    },
    /// The name has no address.
    #[error("{0}: the host has no address")]
    Nowhere(String),
}

impl Denied {
    /// What a client may read: no more of a host's addresses than it said itself.
    pub fn for_clients(&self) -> String {
        match self {
            Denied::Kind { host, address, .. } if host.parse() != Ok(*address) => format!(
                "{host}: it is not public, and the allow-list does not name it; --allow {host} lets clients ask for it"
            ),
            denied => denied.to_string(),
        }
    }
}

/// A target is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// It is nothing of the kind.
    #[error("{0}: not a host, an address or a network as ADDRESS/BITS")]
    Malformed(String),
    /// It is a part of an address.
    #[error("{0}: not a whole address; a network is ADDRESS/BITS, as in 192.168.1.0/24")]
    Part(String),
    /// It has bits that are no part of the network.
    #[error("{text}: the network of these bits is {network}/{bits}; one address has no /BITS")]
    HostBits {
        /// As it was given.
        text: String,
        /// Its address without them.
        network: IpAddr,
        /// How many bits are the network's.
        bits: u8,
    },
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Target, BadTarget> {
        let bad = || BadTarget::Malformed(text.to_owned());
        let (place, bits) = match text.split_once('/') {
            Some((place, bits)) => (place, Some(bits.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let place = place.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = place.parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(most);
            let network = network(address, bits);
            return match bits <= most {
                true if network == address => Ok(Target::Network(address, bits)),
                true => Err(BadTarget::HostBits {
                    text: text.to_owned(),
                    network,
                    bits,
                }),
                false => Err(bad()),
            };
        }
        if !place.is_empty()
            && place
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        {
            return Err(BadTarget::Part(text.to_owned()));
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        match bits.is_none() && !place.is_empty() && place.bytes().all(is_name) {
            true => Ok(Target::Host(name(place))),
            false => Err(bad()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Host(name) => f.write_str(name),
            Target::Network(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

impl Access {
    /// `local` says that only clients of this machine can ask; then public addresses need no target.
    pub fn new(local: bool, allowed: Vec<Target>) -> Access {
        Access { local, allowed }
    }

    /// Whether a client may name this host at all. What it resolves to is for [`connect`](Access::connect).
    ///
    /// # Errors
    /// [`Denied`] if no address of the host could be allowed.
    pub fn ask(&self, host: &str) -> Result<(), Denied> {
        if let Ok(address) = host.parse() {
            return self.connect(host, [address]).map(drop);
        }
        // The addresses of a name decide where networks are allowed.
        let networks = (self.allowed.iter()).any(|target| matches!(target, Target::Network(..)));
        match self.local || networks || self.is_named(host) {
            true => Ok(()),
            false => Err(Denied::Closed(host.to_owned())),
        }
    }

    /// Those of a host's addresses that may be connected to. Only what is checked here may be used: the name can resolve
    /// to something else the next time.
    ///
    /// # Errors
    /// [`Denied`] if there is none.
    pub fn connect(
        &self,
        host: &str,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Vec<IpAddr>, Denied> {
        let is_named = self.is_named(host);
        let mut denied = Denied::Nowhere(host.to_owned());
        let mut permitted = Vec::new();
        for address in addresses {
            match kind(address) {
                _ if self.has(address) => permitted.push(address),
                None if self.local || is_named => permitted.push(address),
                None => denied = Denied::Closed(host.to_owned()),
                Some(kind) if is_named && kind != MULTICAST => permitted.push(address),
                Some(kind) => {
                    let host = host.to_owned();
                    denied = Denied::Kind {
                        host,
                        address,
                        kind,
                    };
                }
            }
        }
        match permitted.is_empty() {
            true => Err(denied),
            false => Ok(permitted),
        }
    }

    /// Whether a client may have an address of this machine opened, or a group joined.
    ///
    /// # Errors
    /// [`Denied`] if clients may come from other machines and no target names it.
    pub fn open(&self, address: IpAddr) -> Result<(), Denied> {
        match self.local || self.has(address) {
            true => Ok(()),
            false => Err(Denied::Closed(address.to_string())),
        }
    }

    fn is_named(&self, host: &str) -> bool {
        let host = name(host);
        let is = |target: &Target| matches!(target, Target::Host(name) if *name == host);
        self.allowed.iter().any(is)
    }

    fn has(&self, address: IpAddr) -> bool {
        let of = |target: &Target| match target {
            Target::Network(network, bits) => {
                common_bits(*network, address.to_canonical()) >= u32::from(*bits)
            }
            Target::Host(_) => false,
        };
        self.allowed.iter().any(of)
    }
}

fn name(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// An address of whose bits only the first are kept.
fn network(address: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX
                .checked_shl(32u32.saturating_sub(bits))
                .unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX
                .checked_shl(128u32.saturating_sub(bits))
                .unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// How many bits two addresses begin with that are the same; none if they are of different versions.
fn common_bits(one: IpAddr, other: IpAddr) -> u32 {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        // A network of no bits has the addresses of its version only.
        _ => 0,
    }
}

const MULTICAST: &str = "multicast";

/// What an address is for that is none of the public Internet (the registries of RFC 6890); `None` for those that are.
fn kind(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [127, ..] => Some("loopback"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Some("private"),
        [169, 254, ..] => Some("link-local"),
        [224..=239, ..] => Some(MULTICAST),
        [0 | 240..=255, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => Some("reserved"),
        _ => None,
    }
}

fn kind_v6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        [0xfc00..=0xfdff, ..] => Some("private"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xff00..=0xffff, ..] => Some(MULTICAST),
        // Those that carry an address of version 4, and those of protocols and examples.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => {
            Some("reserved")
        }
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(local: bool, targets: &[&str]) -> Access {
        Access::new(
            local,
            targets.iter().map(|text| text.parse().unwrap()).collect(),
        )
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn targets_are_read() {
        for (text, shown) in [
            ("Camera.Example.", "camera.example"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("[fd00::1]", "fd00::1/128"),
            ("fd00::/8", "fd00::/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "host/8",
            "a b",
            "rtsp://camera",
            "192.168.1",
            "192.168.1/24",
            "192.168.1.5/24",
            "fd00::1/8",
            "::/129",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_that_are_not_public_are_known() {
        for (text, expected) in [
            ("127.1.2.3", "loopback"),
            ("::1", "loopback"),
            ("::ffff:127.0.0.1", "loopback"),
            ("10.0.0.1", "private"),
            ("172.31.0.1", "private"),
            ("192.168.1.1", "private"),
            ("100.64.0.1", "private"),
            ("::ffff:10.0.0.1", "private"),
            ("fd12::1", "private"),
            ("169.254.169.254", "link-local"),
            ("fe80::1", "link-local"),
            ("239.1.1.1", "multicast"),
            ("ff02::1", "multicast"),
            ("0.0.0.0", "reserved"),
            ("::", "reserved"),
            ("255.255.255.255", "reserved"),
            ("2002:7f00:1::", "reserved"),
            ("64:ff9b::7f00:1", "reserved"),
            ("2001:0:1::", "reserved"),
        ] {
            assert_eq!(kind(ip(text)), Some(expected), "{text}");
        }
        for text in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2a00:1450::1",
            "2001:4860::8888",
        ] {
            assert_eq!(kind(ip(text)), None, "{text}");
        }
    }

    #[test]
    fn at_loopback_public_hosts_are_allowed_and_others_by_name_or_network() {
        let access = access(true, &["192.168.1.0/24", "camera.lan"]);
        assert_eq!(
            access.connect("a.example", [ip("8.8.8.8")]),
            Ok(vec![ip("8.8.8.8")])
        );
        // A name that resolves to both gets what is public.
        let both = [ip("10.0.0.1"), ip("8.8.8.8")];
        assert_eq!(access.connect("a.example", both), Ok(vec![ip("8.8.8.8")]));
        let denied = access
            .connect("rebound.example", [ip("10.0.0.1")])
            .unwrap_err();
        assert_eq!(
            denied.for_clients(),
            "rebound.example: it is not public, and the allow-list does not name it; --allow rebound.example lets clients ask for it"
        );
        assert_eq!(
            denied.to_string(),
            "rebound.example: 10.0.0.1 is a private address, and the allow-list does not name it; --allow 10.0.0.1 lets clients ask for it"
        );
        assert!(
            access
                .connect("a.example", [ip("::ffff:192.168.1.7")])
                .is_ok()
        );
        assert!(access.connect("CAMERA.lan.", [ip("10.0.0.1")]).is_ok());
        assert!(access.connect("camera.lan", [ip("239.1.1.1")]).is_err());
        let asked = access.ask("192.168.2.1").unwrap_err();
        assert_eq!(asked.for_clients(), asked.to_string());
        assert_eq!(access.connect("a", []), Err(Denied::Nowhere("a".into())));
        assert_eq!(access.open(ip("239.1.1.1")), Ok(()));
    }

    #[test]
    fn beyond_loopback_only_targets_are_allowed() {
        let none = access(false, &[]);
        assert_eq!(
            none.ask("a.example"),
            Err(Denied::Closed("a.example".into()))
        );
        assert_eq!(none.ask("8.8.8.8"), Err(Denied::Closed("8.8.8.8".into())));
        assert!(none.open(ip("127.0.0.1")).is_err() && none.open(ip("239.1.1.1")).is_err());

        let named = access(false, &["camera.example"]);
        assert_eq!(named.ask("Camera.example"), Ok(()));
        assert!(named.ask("a.example").is_err());
        assert!(named.connect("camera.example", [ip("8.8.8.8")]).is_ok());

        let network = access(false, &["10.0.0.0/8", "239.0.0.0/8"]);
        assert_eq!(network.ask("a.example"), Ok(()));
        assert!(network.connect("a.example", [ip("8.8.8.8")]).is_err());
        assert_eq!(
            network.connect("a.example", [ip("10.9.9.9")]),
            Ok(vec![ip("10.9.9.9")])
        );
        assert_eq!(network.open(ip("239.1.1.1")), Ok(()));
    }
}
