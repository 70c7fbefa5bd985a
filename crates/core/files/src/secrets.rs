//! Secrets in addresses, which must not appear in messages, logs or reports.

use std::borrow::Cow;

/// What stands in place of a secret.
const HIDDEN: &str = "***";
/// What the names of parameters contain whose values are secrets.
const WORDS: [&str; 13] = [
    "token", "key", "sig", "pass", "pwd", "pw", "auth", "secret", "cred", "session", "jwt", "hmac",
    "ticket",
];

/// Removes the secrets of addresses such as `https://USER:PASSWORD@HOST/PATH?token=VALUE` from a text. The user and
/// the password are removed, and the values of parameters that may be secret become `***`. Scheme, host and path
/// remain.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let is_end = |c: char| c.is_whitespace() || "\"<>".contains(c);
        let end = after.find(is_end).unwrap_or(after.len());
        // What a sentence has behind an address.
        let address = after[..end].trim_end_matches(['\'', ')', ',', ':', '.']);
        address_without_secrets(&mut shown, address);
        rest = &after[address.len()..];
    }
    match shown.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(shown + rest),
    }
}

/// What follows the scheme of an address.
fn address_without_secrets(shown: &mut String, address: &str) {
    let address = &address[host(address)..];
    let query = address.find(['?', '#']).unwrap_or(address.len());
    let (mut separators, mut rest) = (&['/', '&', '?', '#'][..], address);
    loop {
        let end = rest.find(separators).unwrap_or(rest.len());
        let part = &rest[..end];
        match secret(part) {
            Some(value) => {
                shown.push_str(&part[..value]);
                shown.push_str(HIDDEN);
            }
            None => shown.push_str(part),
        }
        let Some(separator) = rest[end..].chars().next() else {
            return;
        };
        shown.push(separator);
        rest = &rest[end + 1..];
        // A value may have a slash.
        if address.len() - rest.len() > query {
            separators = &['&', '#'];
        }
    }
}

/// Where the host begins, after the name and the password of who asks.
fn host(address: &str) -> usize {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let behind = |text: &str| text.rfind('@').map_or(0, |at| at + 1);
    let authority = &address[..end];
    if authority.contains('@') {
        return behind(authority);
    }
    // Of a password with a slash, the authority is only the first part, and has no number for a port.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    match port.contains(']') || port.bytes().all(|byte| byte.is_ascii_digit()) {
        true => 0,
        false => behind(address),
    }
}

/// Where the secret value of a parameter begins, if it has one. Some cameras have `user=NAME_password=VALUE` as a path.
fn secret(part: &str) -> Option<usize> {
    let mut ends = part.match_indices('=').map(|(at, _)| at + 1);
    let value = ends.find(|&end| {
        let name = decoded(&part[..end]).to_ascii_lowercase();
        WORDS.iter().any(|word| name.contains(word))
    })?;
    (value < part.len()).then_some(value)
}

/// Without percent-encoding; what is malformed stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|code| u8::from_str_radix(str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_secret_stays() {
        for text in [
            "",
            "disk.img",
            "://",
            "C:/a=b?token=c",
            "http://host:80/a/b@c?channel=1&subtype=0#x",
            "rtsp://[2001:db8::1]:554/live;x=1",
            "nbd+unix:///a?socket=/run/a.sock",
            "two: http://a/, and 'https://b/c'.",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }

    #[test]
    fn who_asks_is_left_out() {
        for (text, shown) in [
            ("https://user:pass@a:1/b", "https://a:1/b"),
            ("https://user:p@ss@a", "https://a"),
            ("https://TOKEN@a/b", "https://a/b"),
            ("rtsp://u:p@[::1]:5/b", "rtsp://[::1]:5/b"),
            ("rtsp://u:p/a@host/b", "rtsp://host/b"),
            ("rtsp://u:p?a#b@host/b", "rtsp://host/b"),
            (
                "open 'rtsp://u:p@a/x': refused, http://u:p@b: no",
                "open 'rtsp://a/x': refused, http://b: no",
            ),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }

    #[test]
    fn values_that_may_be_secrets_are_hidden() {
        for (text, shown) in [
            ("http://a/b?token=c", "http://a/b?token=***"),
            (
                "http://a/b?x=1&Access_Token=c/d=e&y=2",
                "http://a/b?x=1&Access_Token=***&y=2",
            ),
            ("http://a?%74oken=c", "http://a?%74oken=***"),
            ("http://a/?password=&x=1", "http://a/?password=&x=1"),
            (
                "https://a/b?X-Amz-Credential=c&X-Amz-Signature=d&X-Amz-Date=e",
                "https://a/b?X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Date=e",
            ),
            ("https://a/b?sv=1&sig=c%2Fd", "https://a/b?sv=1&sig=***"),
            ("http://a/#auth=b", "http://a/#auth=***"),
            ("http://a/b;jsessionid=c/d", "http://a/b;jsessionid=***/d"),
            (
                "rtsp://a/user=admin_password=b_channel=1",
                "rtsp://a/user=admin_password=***",
            ),
            (
                "'http://a/?key=b': http://c/?key=d: no",
                "'http://a/?key=***': http://c/?key=***: no",
            ),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }
}
