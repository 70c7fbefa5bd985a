//! Addresses of streams: `rtsp://USER:PASSWORD@HOST:PORT/PATH?QUERY`.

use std::fmt;

use evener_files::without_secrets;

use super::auth::Credentials;

/// Bytes of an address at most.
const MAX_BYTES: usize = 4096;
/// The port if an address has none (RFC 2326, section 3.2).
const PORT: u16 = 554;

/// An address of RTSP over TCP. `Display` is for messages, and has no secrets; servers get [`Url::target`].
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// A name, or an address; of version 6 in brackets.
    host: String,
    port: Option<u16>,
    /// From the first `/` or `?` on; can be empty.
    path: String,
    credentials: Option<Credentials>,
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It does not begin with `rtsp://`.
    #[error("not an address of rtsp://")]
    Scheme,
    /// It has no host, or its port is no number.
    #[error("the address has no usable host and port")]
    Host,
    /// It has white space, control characters, characters beyond ASCII, or too many bytes.
    #[error("the address has characters that are not allowed, or too many")]
    Characters,
}

impl Url {
    /// Reads an address.
    ///
    /// # Errors
    /// It is not one of RTSP over TCP, or is malformed.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        check(text)?;
        let rest = without_scheme(text).ok_or(UrlError::Scheme)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let credentials = user.map(|user| {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            Credentials {
                user: decode(user),
                password: decode(password),
            }
        });
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.find(']')) {
            Some(end) => place.split_at(end + 2),
            None => place.split_at(place.find(':').unwrap_or(place.len())),
        };
        let port = match port.strip_prefix(':') {
            Some("") => None,
            Some(port) => Some(port.parse().map_err(|_| UrlError::Host)?),
            None if port.is_empty() => None,
            None => return Err(UrlError::Host),
        };
        if host.is_empty() || port == Some(0) {
            return Err(UrlError::Host);
        }
        Ok(Url {
            host: host.to_string(),
            port,
            path: path.to_string(),
            credentials,
        })
    }

    /// A name or an address, without brackets.
    pub fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port of TCP.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(PORT)
    }

    /// The whole address as servers get it, without who asks.
    pub fn target(&self) -> String {
        match self.port {
            Some(port) => format!("rtsp://{}:{port}{}", self.host, self.path),
            None => format!("rtsp://{}{}", self.host, self.path),
        }
    }

    /// Who asks, if the address says so.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// Where `path` is that begins below this address: what the address has no `/` for is added, and its query is left
    /// out.
    ///
    /// # Errors
    /// The path has characters that an address cannot have, is too long, or leads out of this address by `..`.
    pub fn below(&self, path: &str) -> Result<Url, UrlError> {
        check(path)?;
        let (segments, _) = path.split_once('?').unwrap_or((path, ""));
        let dots = |segment: &str| decode(segment).split(['/', '\\']).any(|part| part == "..");
        if segments.split('/').any(dots) {
            return Err(UrlError::Characters);
        }
        let base = self.path.split('?').next().unwrap_or_default();
        let path = format!("{}/{path}", base.trim_end_matches('/'));
        match path.len() <= MAX_BYTES {
            true => Ok(Url {
                path,
                ..self.clone()
            }),
            false => Err(UrlError::Characters),
        }
    }

    /// Where `control` is, with this address as the base. An absolute one is itself, `*` is the base, a path from the root
    /// replaces the path. Anything else is appended, after a `/` where there is none: that is what servers mean and other
    /// clients do, though RFC 2326, section C.1.1, would have the last segment replaced.
    ///
    /// # Errors
    /// The control has characters that an address cannot have, or is absolute and malformed.
    pub fn join(&self, control: &str) -> Result<Url, UrlError> {
        check(control)?;
        if has_scheme(control) {
            return Url::parse(control);
        }
        let path = match control {
            "*" | "" => self.path.clone(),
            _ if control.starts_with('/') => control.to_string(),
            _ if control.starts_with('?') || self.path.ends_with('/') => {
                format!("{}{control}", self.path)
            }
            _ => format!("{}/{control}", self.path),
        };
        if path.len() > MAX_BYTES {
            return Err(UrlError::Characters);
        }
        Ok(Url {
            path,
            ..self.clone()
        })
    }
}

fn check(text: &str) -> Result<(), UrlError> {
    match text.len() <= MAX_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(UrlError::Characters),
    }
}

fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn without_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    scheme.eq_ignore_ascii_case("rtsp").then_some(rest)
}

/// Without percent-encoding; what is malformed stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let code = rest.get(at + 1..at + 3);
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[at + 3..];
            }
            None => {
                bytes.push(b'%');
                rest = &rest[at + 1..];
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(&self.target()))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, control: &str) -> String {
        let base = Url::parse(base).unwrap();
        base.join(control).unwrap().to_string()
    }

    #[test]
    fn parts_are_read() {
        let url = Url::parse("RTSP://us%3aer:p%40ss:w@camera.example:8554/live?channel=1").unwrap();
        assert_eq!((url.host(), url.port()), ("camera.example", 8554));
        let credentials = url.credentials().unwrap();
        assert_eq!(credentials.user, "us:er");
        assert_eq!(credentials.password, "p@ss:w");
        let shown = "rtsp://camera.example:8554/live?channel=1";
        assert_eq!(url.to_string(), shown);
        assert!(!format!("{url:?}").contains("p@ss"));
        let url = Url::parse("rtsp://camera/live?channel=1&token=hidden").unwrap();
        assert_eq!(url.target(), "rtsp://camera/live?channel=1&token=hidden");
        let shown = "rtsp://camera/live?channel=1&token=***";
        assert_eq!(
            (url.to_string(), format!("{url:?}")),
            (shown.into(), shown.into())
        );

        let url = Url::parse("rtsp://[::1]/").unwrap();
        assert_eq!((url.host(), url.port()), ("::1", 554));
        let url = Url::parse("rtsp://camera?x").unwrap();
        assert_eq!(
            (url.host(), url.to_string().as_str()),
            ("camera", "rtsp://camera?x")
        );
    }

    #[test]
    fn malformed_addresses_are_refused() {
        for (text, error) in [
            ("http://camera/", UrlError::Scheme),
            ("camera", UrlError::Scheme),
            ("rtsps://camera/", UrlError::Scheme),
            ("rtsp:///path", UrlError::Host),
            ("rtsp://camera:x/", UrlError::Host),
            ("rtsp://camera:0/", UrlError::Host),
            ("rtsp://camera:65536/", UrlError::Host),
            ("rtsp://[::1]x/", UrlError::Host),
            ("rtsp://camera/a b", UrlError::Characters),
            ("rtsp://camera/\r\nTEARDOWN", UrlError::Characters),
        ] {
            assert_eq!(Url::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn paths_stay_below_their_address() {
        let below = |base: &str, path: &str| {
            let base = Url::parse(base).unwrap();
            base.below(path).map(|url| url.to_string())
        };
        let ok = |text: &str| Ok(text.to_string());
        assert_eq!(below("rtsp://h", "a/b?c=d"), ok("rtsp://h/a/b?c=d"));
        assert_eq!(below("rtsp://h:8/live/?x", "a"), ok("rtsp://h:8/live/a"));
        assert_eq!(
            below("rtsp://h/live", "rtsp://i/"),
            ok("rtsp://h/live/rtsp://i/")
        );
        for path in [
            "../a",
            "a/../../b",
            "a/%2e%2E/b",
            "a/..%2f..",
            "a b",
            "a\r\nb",
        ] {
            assert_eq!(
                below("rtsp://h/live", path),
                Err(UrlError::Characters),
                "{path}"
            );
        }
        let user = Url::parse("rtsp://user:pass@h/live").unwrap();
        assert_eq!(user.below("a").unwrap().credentials(), user.credentials());
    }

    #[test]
    fn controls_are_joined_as_servers_mean_them() {
        assert_eq!(joined("rtsp://h/live", "track1"), "rtsp://h/live/track1");
        assert_eq!(joined("rtsp://h/live/", "track1"), "rtsp://h/live/track1");
        assert_eq!(joined("rtsp://h", "track1"), "rtsp://h/track1");
        assert_eq!(joined("rtsp://h/live", "/other/1"), "rtsp://h/other/1");
        assert_eq!(joined("rtsp://h/live", "?track=1"), "rtsp://h/live?track=1");
        assert_eq!(joined("rtsp://h/live", "*"), "rtsp://h/live");
        let absolute = "rtsp://other:99/live/track1";
        assert_eq!(joined("rtsp://h/live", absolute), absolute);
        let base = Url::parse("rtsp://h/live").unwrap();
        assert_eq!(base.join("a\r\nb"), Err(UrlError::Characters));
        assert_eq!(base.join("http://h/"), Err(UrlError::Scheme));
    }
}
