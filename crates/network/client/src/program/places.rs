//! Which addresses are the stack's, for a program that does not know of it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::Prefix;

/// The addresses of a stack, and what a program may listen at.
#[derive(Clone, Debug)]
pub struct Places {
    /// The stack's.
    pub prefixes: Vec<Prefix>,
    /// Networks beyond those of the addresses, whose connections are the stack's too.
    pub to: Vec<Prefix>,
    /// Whether programs that listen at no address in particular do so at the stack's.
    pub listen: bool,
}

impl Places {
    /// Whether connections to an address are the stack's.
    pub fn reaches(&self, address: &SocketAddr) -> bool {
        let ip = address.ip();
        let is_near = ip.is_loopback() || ip.is_unspecified();
        let mut networks = self.prefixes.iter().chain(&self.to);
        !is_near && networks.any(|network| network.contains(ip)) && self.source(ip).is_some()
    }

    /// The stack's address that a peer sees: that in its network, or the first of its version.
    pub fn source(&self, peer: IpAddr) -> Option<IpAddr> {
        let near = self.prefixes.iter().find(|own| own.contains(peer));
        let mut all = self.prefixes.iter();
        near.or_else(|| all.find(|own| own.address.is_ipv4() == peer.is_ipv4()))
            .map(|own| own.address)
    }

    /// The address that the stack has for a program that binds to `address`; none if it is the kernel's. `both` if a socket
    /// of IPv6 is one of IPv4 too.
    pub fn binds(&self, address: SocketAddr, both: bool) -> Option<SocketAddr> {
        let has = |four: bool| self.prefixes.iter().any(|p| p.address.is_ipv4() == four);
        if !address.ip().is_unspecified() {
            let own = self.prefixes.iter().any(|p| p.address == address.ip());
            return own.then_some(address);
        }
        // A program that names neither a port nor an address will connect, and to where decides then.
        if !self.listen || address.port() == 0 {
            return None;
        }
        match address.is_ipv4() {
            false if both && has(true) => {
                let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                Some(SocketAddr::new(any, address.port()))
            }
            four => has(four).then_some(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(listen: bool) -> Places {
        Places {
            prefixes: vec!["10.1.0.2/24".parse().unwrap()],
            to: Vec::new(),
            listen,
        }
    }

    #[test]
    fn networks_are_reached_and_what_is_near_is_the_kernels() {
        let all = Places {
            to: ["0.0.0.0/0", "::/0"]
                .map(|all| all.parse().unwrap())
                .to_vec(),
            ..places(false)
        };
        for (text, own, any) in [
            ("10.1.0.1:1", true, true),
            ("10.2.0.1:1", false, true),
            ("127.0.0.1:1", false, false),
            ("0.0.0.0:1", false, false),
            ("[::1]:1", false, false),
            ("[fd00::1]:1", false, false),
        ] {
            let address = text.parse().unwrap();
            assert_eq!(places(false).reaches(&address), own, "{text}");
            assert_eq!(all.reaches(&address), any, "{text}");
        }
    }

    #[test]
    fn programs_bind_where_they_say() {
        for (text, both, without, with) in [
            (
                "10.1.0.2:80",
                false,
                Some("10.1.0.2:80"),
                Some("10.1.0.2:80"),
            ),
            ("10.1.0.2:0", false, Some("10.1.0.2:0"), Some("10.1.0.2:0")),
            ("10.1.0.1:80", false, None, None),
            ("0.0.0.0:80", false, None, Some("0.0.0.0:80")),
            ("0.0.0.0:0", false, None, None),
            ("[::]:80", true, None, Some("0.0.0.0:80")),
            ("[::]:80", false, None, None),
        ] {
            let address = text.parse().unwrap();
            let expected = |text: Option<&str>| text.map(|text| text.parse().unwrap());
            assert_eq!(
                places(false).binds(address, both),
                expected(without),
                "{text}"
            );
            assert_eq!(places(true).binds(address, both), expected(with), "{text}");
        }
    }
}
