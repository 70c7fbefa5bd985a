//! Files of recipients and of identities: one per line, with comments.

use std::time::{SystemTime, UNIX_EPOCH};

use zeroize::Zeroizing;

use super::armor::is_armored;
use super::header::INTRO;
use super::{Identity, KeyError, Recipient};

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{cause}", at(*.line))]
pub struct ListError {
    /// The line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// The problem.
    pub cause: KeyError,
}

fn at(line: usize) -> String {
    match line {
        0 => String::new(),
        line => format!("line {line}: "),
    }
}

/// Parses the recipients in a file.
///
/// # Errors
/// A line is not a recipient, or there are no recipients.
pub fn recipients(text: &[u8]) -> Result<Vec<Recipient>, ListError> {
    all(text, str::parse)
}

/// Parses the identities in a file.
///
/// # Errors
/// A line is not an identity, or there are no identities.
pub fn identities(text: &[u8]) -> Result<Vec<Identity>, ListError> {
    if text.starts_with(INTRO) || is_armored(text, true) {
        let cause = KeyError::Encrypted;
        return Err(ListError { line: 0, cause });
    }
    all(text, Identity::parse)
}

fn all<T>(text: &[u8], parse: impl Fn(&str) -> Result<T, KeyError>) -> Result<Vec<T>, ListError> {
    let mut found = Vec::new();
    for (i, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let line = str::from_utf8(line).unwrap_or("\u{fffd}");
        match parse(line) {
            Ok(key) => found.push(key),
            Err(cause) => return Err(ListError { line: i + 1, cause }),
        }
    }
    match found.is_empty() {
        true => Err(ListError {
            line: 0,
            cause: KeyError::Nothing,
        }),
        false => Ok(found),
    }
}

/// The text of an identity file, as `age-keygen` writes it, with the current time.
pub fn identity_lines(identity: &Identity) -> Zeroizing<String> {
    let (recipient, secret) = (identity.recipient(), identity.to_text());
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let created = rfc3339(now.map_or(0, |now| now.as_secs()));
    // The full capacity is reserved first, since a text that grows leaves copies in memory.
    let mut text = Zeroizing::new(String::with_capacity(256));
    text.push_str(&format!(
        "# created: {created}\n# public key: {recipient}\n"
    ));
    text.push_str(&secret);
    text.push('\n');
    text
}

/// Seconds since the beginning of 1970, as a date and a time of RFC 3339.
fn rfc3339(seconds: u64) -> String {
    let (mut days, time) = (seconds / 86_400, seconds % 86_400);
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (day, hour, minute, second) = (days + 1, time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_date_prints() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), expected);
        }
    }

    #[test]
    fn lists_have_comments_and_no_secret_in_messages() {
        let identity = Identity::generate().unwrap();
        let text = identity_lines(&identity);
        let read = identities(text.as_bytes()).unwrap();
        assert_eq!(read[0].recipient(), identity.recipient());
        let recipient = identity.recipient().to_string();
        let list = format!("# a\n\n  {recipient} \r\n{recipient}\n");
        assert_eq!(recipients(list.as_bytes()).unwrap().len(), 2);
        let secret = identity.to_text();
        let changed = format!("{}Q", &secret[..secret.len() - 1]);
        for (text, part) in [
            ("", "has no line"),
            ("#\n", "has no line"),
            ("hello", "line 1: is not an identity"),
            (changed.as_str(), "line 1: is a mistyped identity"),
            (recipient.as_str(), "line 1: is a recipient"),
            (
                "\nAGE-PLUGIN-YUBIKEY-1",
                "line 2: keys of plugins are not supported",
            ),
            (
                "-----BEGIN OPENSSH PRIVATE KEY-----",
                "keys of ssh are not supported",
            ),
            (
                "AGE-SECRET-KEY-PQ-1ABC",
                "post-quantum keys are not supported",
            ),
            ("age-encryption.org/v1\n", "is encrypted itself"),
        ] {
            let error = identities(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains(&secret[17..40]), "{error}");
        }
        for (text, part) in [
            (secret.as_str(), "line 1: is an identity, which is secret"),
            ("ssh-ed25519 AAAA", "keys of ssh are not supported"),
            (
                "age1yubikey1q2w3e",
                "recipients of plugins are not supported",
            ),
            ("age1pq1x34nz", "post-quantum keys are not supported"),
            (
                "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwk",
                "is mistyped",
            ),
            ("bob", "'bob' is not a recipient"),
        ] {
            let error = recipients(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains(&secret[17..40]), "{error}");
        }
    }
}
