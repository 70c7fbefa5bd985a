//! By which names a server of HTTP may be called, and whose pages may ask it.
//!
//! A page of any site can have its own name lead to an address of this network (DNS rebinding). A browser then takes the
//! server for that site, and hands the page all answers. But it says the name in `Host`, so names that are not this
//! server's are refused. An address needs no name, and `localhost` has no other address.

use std::net::IpAddr;
use std::str::FromStr;

use crate::address::Address;

/// Bytes of a name at most (RFC 1035, section 2.3.4).
const MOST: usize = 253;

/// A name that the operator gives a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

/// What cannot be the name of a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}': not the name of a host, as in gateway.example; it has no port, and no *")]
pub struct BadHostName(String);

/// What a request says of whom it is for, and who asks. The values of headers as they came, without white space around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// `Host`, or what is in its place in the first line.
    pub host: Option<&'a [u8]>,
    /// `Origin`: the site of the page that asks. Not every request of a page has it.
    pub origin: Option<&'a [u8]>,
    /// `Sec-Fetch-Site`: how that site and the server are related.
    pub site: Option<&'a [u8]>,
    /// `Sec-Fetch-Dest`: what the answer is for.
    pub destination: Option<&'a [u8]>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// Clients may not call the server so.
    #[error("{0}: this server is not known by that name; --host {0} lets clients use it")]
    Host(String),
    /// `Host` is neither a name nor an address.
    #[error("the Host of the request is neither the name of a host nor an address")]
    Malformed,
    /// A page of another site asks.
    #[error("{0}: a page of that site asks; --host {0} lets its pages ask")]
    Origin(String),
    /// A page of another site asks, which the request does not name.
    #[error("a page of another site asks; only pages of this server may")]
    Site,
}

/// The names of a server.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    names: Vec<String>,
    /// Pages of all sites may ask.
    any_site: bool,
}

impl<'a> Asked<'a> {
    /// Takes a header, if it is one of these.
    pub fn header(&mut self, name: &[u8], value: &'a [u8]) {
        let places: [(&[u8], &mut Option<&'a [u8]>); 4] = [
            (b"host", &mut self.host),
            (b"origin", &mut self.origin),
            (b"sec-fetch-site", &mut self.site),
            (b"sec-fetch-dest", &mut self.destination),
        ];
        for (known, place) in places {
            if name.eq_ignore_ascii_case(known) {
                *place = Some(value);
            }
        }
    }

    /// With the host of what is asked for, where that has one, as a proxy is asked; `Host` then says nothing (RFC 9112,
    /// section 3.2.2).
    #[must_use]
    pub fn of_target(self, target: &'a [u8]) -> Asked<'a> {
        let Some(scheme) = target.windows(3).position(|part| part == b"://") else {
            return self;
        };
        if target.starts_with(b"/") {
            return self;
        }
        let rest = &target[scheme + 3..];
        let end = rest.iter().position(|byte| b"/?".contains(byte));
        Asked {
            host: Some(&rest[..end.unwrap_or(rest.len())]),
            ..self
        }
    }
}

impl FromStr for HostName {
    type Err = BadHostName;

    fn from_str(text: &str) -> Result<HostName, BadHostName> {
        let name = canonical(text);
        match is_name(&name) {
            true => Ok(HostName(name)),
            false => Err(BadHostName(text.escape_debug().to_string())),
        }
    }
}

impl Hosts {
    /// Those that the operator gives, those of the addresses where the server listens, and the machine's own.
    pub fn new<'a>(names: &[HostName], listens: impl IntoIterator<Item = &'a Address>) -> Hosts {
        let mut hosts = Hosts {
            names: names.iter().map(|name| name.0.clone()).collect(),
            any_site: false,
        };
        let machine = rustix::system::uname();
        hosts.add(machine.nodename().to_str().ok());
        for address in listens {
            if let Address::Tcp(place) = address {
                hosts.add(host_of(place.as_bytes()));
            }
        }
        hosts
    }

    /// Lets pages of all sites ask. Names of the server are compared as before.
    #[must_use]
    pub fn with_any_site(self, any_site: bool) -> Hosts {
        Hosts { any_site, ..self }
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// It is for another host, or a page of another site asks.
    pub fn check(&self, asked: Asked<'_>) -> Result<(), Foreign> {
        let host = match asked.host {
            None | Some(b"") => None,
            Some(host) => Some(host_of(host).ok_or(Foreign::Malformed)?),
        };
        if let Some(host) = host
            && !is_address(host)
            && !self.has(host)
        {
            return Err(Foreign::Host(canonical(host)));
        }
        if self.any_site {
            return Ok(());
        }
        if let Some(origin) = asked.origin {
            return match site_of(origin) {
                Some(site) if self.is_own(site, host) => Ok(()),
                Some(site) => Err(Foreign::Origin(canonical(site))),
                None => Err(Foreign::Site),
            };
        }
        // A click on a link shows a document, and the user sees it.
        match (asked.site, asked.destination) {
            (Some(b"cross-site"), destination) if destination != Some(b"document") => {
                Err(Foreign::Site)
            }
            _ => Ok(()),
        }
    }

    /// Whether pages of a site are as good as the server's own. An address is not enough here: anybody has one.
    fn is_own(&self, site: &str, host: Option<&str>) -> bool {
        let site = canonical(site);
        let is_loopback = literal(&site).is_some_and(|address| address.is_loopback());
        is_loopback || self.has(&site) || host.is_some_and(|host| canonical(host) == site)
    }

    fn has(&self, host: &str) -> bool {
        let host = canonical(host);
        host == "localhost" || self.names.contains(&host)
    }

    fn add(&mut self, name: Option<&str>) {
        let name = name.map(canonical).filter(|name| is_name(name));
        self.names.extend(name);
    }
}

/// The host of `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`. An address of version 6 keeps its brackets.
fn host_of(authority: &[u8]) -> Option<&str> {
    let text = str::from_utf8(authority).ok()?;
    let end = match text.find(']') {
        Some(end) => end + 1,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, port) = text.split_at(end);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_good_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (has_good_port && (is_address(host) || is_name(&canonical(host)))).then_some(host)
}

/// The host of `SCHEME://HOST:PORT`, which a page that is of no site, as a file, does not have.
fn site_of(origin: &[u8]) -> Option<&str> {
    let text = str::from_utf8(origin).ok()?;
    host_of(text.split_once("://")?.1.as_bytes())
}

fn literal(host: &str) -> Option<IpAddr> {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(address) => address.parse().ok().filter(IpAddr::is_ipv6),
        None => host.parse().ok(),
    }
}

fn is_address(host: &str) -> bool {
    literal(host).is_some()
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=MOST).contains(&text.len()) && text.bytes().all(fits)
}

/// In small letters, and without the dot of the root.
fn canonical(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str], listens: &str) -> Hosts {
        let names: Vec<HostName> = names.iter().map(|name| name.parse().unwrap()).collect();
        Hosts::new(&names, [&listens.parse().unwrap()])
    }

    fn of(host: &str) -> Asked<'_> {
        Asked {
            host: Some(host.as_bytes()),
            ..Asked::default()
        }
    }

    #[test]
    fn addresses_and_own_names_may_be_used_and_others_not() {
        let hosts = hosts(&["Gateway.Example."], "tcp:box.lan:8080");
        let machine = rustix::system::uname();
        let machine = machine.nodename().to_str().unwrap();
        for host in [
            "127.0.0.1:8080",
            "192.0.2.7",
            "[::1]:8080",
            "[2001:db8::1]",
            "localhost",
            "LocalHost:8080",
            "gateway.example:8080",
            "GATEWAY.example.",
            "box.lan:8080",
            machine,
            "",
        ] {
            assert_eq!(hosts.check(of(host)), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "a.gateway.example",
        ] {
            let name = host.trim_end_matches(":8080").to_owned();
            assert_eq!(hosts.check(of(host)), Err(Foreign::Host(name)));
        }
        for host in [
            "a b",
            "localhost:x",
            "::1",
            "[::1",
            "[127.0.0.1]",
            "a@localhost",
            "ä",
        ] {
            assert_eq!(hosts.check(of(host)), Err(Foreign::Malformed), "{host}");
        }
        // No browser leaves it out.
        assert_eq!(hosts.check(Asked::default()), Ok(()));
    }

    #[test]
    fn the_reason_names_the_option() {
        let refused = Hosts::default().check(of("Evil.example:80")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "evil.example: this server is not known by that name; --host evil.example lets clients use it"
        );
    }

    #[test]
    fn pages_of_other_sites_may_not_ask_unless_all_may() {
        let hosts = hosts(&["gateway.example"], "tcp:0.0.0.0:8080");
        let from = |origin: &'static str| Asked {
            origin: Some(origin.as_bytes()),
            ..of("192.0.2.7:8080")
        };
        for origin in [
            "http://192.0.2.7:8080",
            "http://192.0.2.7:3000",
            "http://localhost:3000",
            "http://127.0.0.1",
            "https://gateway.example",
        ] {
            assert_eq!(hosts.check(from(origin)), Ok(()), "{origin}");
        }
        for origin in [
            "https://evil.example",
            "http://198.51.100.1",
            "null",
            "file://",
            "a\u{0}",
        ] {
            assert!(hosts.check(from(origin)).is_err(), "{origin}");
            let all = hosts.clone().with_any_site(true);
            assert_eq!(all.check(from(origin)), Ok(()), "{origin}");
        }
        let all = hosts.with_any_site(true);
        assert!(all.check(of("evil.example")).is_err());
    }

    #[test]
    fn what_a_page_embeds_says_so_without_an_origin() {
        let of = |site: &'static str, destination: &'static str| Asked {
            site: Some(site.as_bytes()),
            destination: Some(destination.as_bytes()),
            ..of("127.0.0.1:8080")
        };
        let hosts = Hosts::default();
        assert_eq!(hosts.check(of("cross-site", "image")), Err(Foreign::Site));
        assert_eq!(hosts.check(of("cross-site", "iframe")), Err(Foreign::Site));
        for (site, destination) in [
            ("cross-site", "document"),
            ("same-origin", "video"),
            ("none", "document"),
        ] {
            assert_eq!(hosts.check(of(site, destination)), Ok(()));
        }
    }

    #[test]
    fn names_are_names() {
        assert!("gateway-1.lan".parse::<HostName>().is_ok());
        for text in [
            "",
            ".",
            "a:80",
            "*.lan",
            "http://a",
            "a b",
            &"a".repeat(254),
        ] {
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
    }
}
