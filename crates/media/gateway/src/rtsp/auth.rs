//! Who asks: Digest (RFC 7616, and RFC 2617 and 2069 that servers still have) and Basic (RFC 7617).

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use base64::Engine;
use md5::Md5;
use sha2::{Digest, Sha256};

/// Parameters of a challenge at most.
const MAX_PARAMETERS: usize = 32;

/// A name and a password. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scheme {
    Basic,
    Md5,
    Sha256,
}

/// What a server wants to know, of the schemes that it offers the strongest that is known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    scheme: Scheme,
    /// The algorithm as the server writes it.
    algorithm: Option<String>,
    /// The hash of name and password is hashed with the nonces.
    is_session: bool,
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// `qop=auth`, and not the answer of RFC 2069.
    has_qop: bool,
    /// The server takes the answer, but wants it for this nonce.
    pub is_stale: bool,
    /// Answers so far.
    count: u32,
}

impl Challenge {
    /// The strongest challenge among values of `WWW-Authenticate`: SHA-256 before MD5 before Basic.
    pub fn strongest<'a>(values: impl Iterator<Item = &'a str>) -> Option<Challenge> {
        let challenges = values.flat_map(split);
        let known = challenges.filter_map(|(scheme, parameters)| known(&scheme, &parameters));
        // Of equals the first: servers put what they prefer in front.
        known.reduce(|best, other| match other.scheme > best.scheme {
            true => other,
            false => best,
        })
    }

    /// The value of `Authorization` for a request. `cnonce` should be new for each; quotes must not be in it.
    pub fn answer(&mut self, by: &Credentials, method: &str, uri: &str, cnonce: &str) -> String {
        let Credentials { user, password } = by;
        if self.scheme == Scheme::Basic {
            let engine = base64::engine::general_purpose::STANDARD;
            return format!("Basic {}", engine.encode(format!("{user}:{password}")));
        }
        self.count = self.count.wrapping_add(1);
        let Challenge { realm, nonce, .. } = &*self;
        let mut who = self.hash(&format!("{user}:{realm}:{password}"));
        if self.is_session {
            who = self.hash(&format!("{who}:{nonce}:{cnonce}"));
        }
        let what = self.hash(&format!("{method}:{uri}"));
        let count = format!("{:08x}", self.count);
        let response = match self.has_qop {
            true => self.hash(&format!("{who}:{nonce}:{count}:{cnonce}:auth:{what}")),
            false => self.hash(&format!("{who}:{nonce}:{what}")),
        };
        let (user, realm, nonce) = (quoted(user), quoted(realm), quoted(nonce));
        let uri = quoted(uri);
        let mut value = format!(
            "Digest username={user}, realm={realm}, nonce={nonce}, uri={uri}, response=\"{response}\""
        );
        if let Some(algorithm) = &self.algorithm {
            value += &format!(", algorithm={algorithm}");
        }
        if self.has_qop {
            value += &format!(", qop=auth, nc={count}");
        }
        if self.has_qop || self.is_session {
            value += &format!(", cnonce=\"{cnonce}\"");
        }
        if let Some(opaque) = &self.opaque {
            value += &format!(", opaque={}", quoted(opaque));
        }
        value
    }

    fn hash(&self, text: &str) -> String {
        match self.scheme {
            Scheme::Sha256 => hexadecimal(&Sha256::digest(text)),
            Scheme::Md5 | Scheme::Basic => hexadecimal(&Md5::digest(text)),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Line ends, which a name can have from an address, would end the header.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars().filter(|char| !char.is_control()) {
        if matches!(char, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted + "\""
}

type Parameters = Vec<(String, String)>;

fn known(scheme: &str, parameters: &Parameters) -> Option<Challenge> {
    let get = |name| {
        let mut all = parameters.iter();
        let of = all.find(|(of, _): &&(String, String)| of.eq_ignore_ascii_case(name))?;
        Some(of.1.clone())
    };
    let mut challenge = Challenge {
        scheme: Scheme::Basic,
        algorithm: None,
        is_session: false,
        realm: get("realm").unwrap_or_default(),
        nonce: String::new(),
        opaque: None,
        has_qop: false,
        is_stale: false,
        count: 0,
    };
    if scheme.eq_ignore_ascii_case("Basic") {
        return Some(challenge);
    }
    if !scheme.eq_ignore_ascii_case("Digest") {
        return None;
    }
    let algorithm = get("algorithm");
    let upper = algorithm.as_deref().unwrap_or("MD5").to_ascii_uppercase();
    challenge.is_session = upper.ends_with("-SESS");
    challenge.scheme = match upper.trim_end_matches("-SESS") {
        "MD5" => Scheme::Md5,
        "SHA-256" => Scheme::Sha256,
        _ => return None,
    };
    challenge.algorithm = algorithm;
    challenge.nonce = get("nonce")?;
    challenge.opaque = get("opaque");
    if let Some(qop) = get("qop") {
        // Without `auth` the server wants the body hashed as well.
        let mut offered = qop.split(',').map(str::trim);
        challenge.has_qop = offered.any(|qop| qop.eq_ignore_ascii_case("auth"));
        if !challenge.has_qop {
            return None;
        }
    }
    challenge.is_stale = get("stale").is_some_and(|stale| stale.eq_ignore_ascii_case("true"));
    Some(challenge)
}

/// Schemes with their parameters. One header can have several, and a comma also separates parameters: a word that no `=`
/// follows begins the next scheme.
fn split(value: &str) -> Vec<(String, Parameters)> {
    let mut all: Vec<(String, Parameters)> = Vec::new();
    let mut chars = value.chars().peekable();
    let mut count = 0;
    while count < MAX_PARAMETERS {
        count += 1;
        skip(&mut chars, |char| char.is_whitespace() || char == ',');
        let word = take(&mut chars, |char| {
            !char.is_whitespace() && !",=\"".contains(char)
        });
        skip(&mut chars, char::is_whitespace);
        if chars.next_if_eq(&'=').is_some() {
            skip(&mut chars, char::is_whitespace);
            let value = match chars.next_if_eq(&'"') {
                Some(_) => unquoted(&mut chars),
                None => take(&mut chars, |char| !char.is_whitespace() && char != ','),
            };
            if let Some((_, parameters)) = all.last_mut() {
                parameters.push((word, value));
            }
        } else if word.is_empty() {
            break;
        } else {
            all.push((word, Vec::new()));
        }
    }
    all
}

fn skip(chars: &mut Peekable<Chars<'_>>, of: impl Fn(char) -> bool) {
    while chars.next_if(|char| of(*char)).is_some() {}
}

fn take(chars: &mut Peekable<Chars<'_>>, of: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| chars.next_if(|char| of(*char))).collect()
}

fn unquoted(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => text.extend(chars.next()),
            _ => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mufasa(password: &str) -> Credentials {
        Credentials {
            user: "Mufasa".to_string(),
            password: password.to_string(),
        }
    }

    fn answered(challenge: &str, password: &str, cnonce: &str) -> String {
        let mut challenge = Challenge::strongest([challenge].into_iter()).unwrap();
        challenge.answer(&mufasa(password), "GET", "/dir/index.html", cnonce)
    }

    const RFC_7616: &str = "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
        nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
        opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

    #[test]
    fn rfc_7616_section_3_9_1() {
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let challenge = format!("Digest {RFC_7616}, algorithm={algorithm}");
            let answer = answered(&challenge, "Circle of Life", cnonce);
            for part in [
                &format!("response=\"{response}\""),
                &format!("algorithm={algorithm},"),
                "qop=auth, nc=00000001",
                "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
            ] {
                assert!(answer.contains(part), "{part} in {answer}");
            }
        }
    }

    const RFC_2617: &str = "Digest realm=\"testrealm@host.com\", \
        nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";

    #[test]
    fn rfc_2617_section_3_5() {
        let challenge = format!("{RFC_2617}, qop=\"auth,auth-int\"");
        let answer = answered(&challenge, "Circle Of Life", "0a4f113b");
        assert!(answer.contains("response=\"6629fae49393a05397450978507c4ef1\""));
        assert!(!answer.contains("algorithm"));
    }

    #[test]
    fn rfc_2069_with_its_erratum() {
        let answer = answered(RFC_2617, "CircleOfLife", "unused");
        assert!(answer.contains("response=\"1949323746fe6a43ef61f9606e7febea\""));
        assert!(!answer.contains("unused"), "{answer}");
    }

    #[test]
    fn rfc_7617_section_2() {
        let values = ["Basic realm=\"WallyWorld\""];
        let mut challenge = Challenge::strongest(values.into_iter()).unwrap();
        let by = Credentials {
            user: "Aladdin".to_string(),
            password: "open sesame".to_string(),
        };
        let answer = challenge.answer(&by, "DESCRIBE", "rtsp://h/", "");
        assert_eq!(answer, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn the_strongest_is_taken() {
        let values = [
            "Basic realm=\"a, Digest nonce=x\", Digest realm=\"b\", nonce=\"1\"",
            "Negotiate, Digest realm=\"c\\\"\", nonce=\"2\", algorithm=SHA-256, stale=TRUE",
            "Digest realm=\"d\", nonce=\"3\", algorithm=SHA-512-256",
        ];
        let challenge = Challenge::strongest(values.into_iter()).unwrap();
        assert_eq!(challenge.scheme, Scheme::Sha256);
        assert_eq!(challenge.realm, "c\"");
        assert!(challenge.is_stale);
        let challenge = Challenge::strongest(values[..1].iter().copied()).unwrap();
        assert_eq!(
            (challenge.scheme, challenge.realm.as_str()),
            (Scheme::Md5, "b")
        );
        assert_eq!(Challenge::strongest(["Negotiate"].into_iter()), None);
        let body = "Digest realm=\"e\", nonce=\"4\", qop=\"auth-int\"";
        assert_eq!(Challenge::strongest([body].into_iter()), None);
    }

    #[test]
    fn answers_are_counted_and_line_ends_left_out() {
        let values = ["Digest realm=\"a\", nonce=\"1\", qop=auth"];
        let mut challenge = Challenge::strongest(values.into_iter()).unwrap();
        let by = Credentials {
            user: "a\r\nb\"".to_string(),
            password: String::new(),
        };
        challenge.answer(&by, "PLAY", "*", "x");
        let answer = challenge.answer(&by, "PLAY", "*", "y");
        assert!(answer.contains("nc=00000002, cnonce=\"y\""), "{answer}");
        assert!(answer.contains("username=\"ab\\\"\""), "{answer}");
        assert_eq!(format!("{by:?}"), "Credentials");
    }

    proptest! {
        #[test]
        fn no_challenge_panics(value in "\\PC*", quote in "[a-z=\", \\\\]{0,60}") {
            for value in [format!("Digest {value}"), format!("Digest nonce=1, {quote}"), value] {
                if let Some(mut challenge) = Challenge::strongest([value.as_str()].into_iter()) {
                    challenge.answer(&mufasa("x"), "PLAY", "*", "y");
                }
            }
        }
    }
}
