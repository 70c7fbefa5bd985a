//! Which bytes of a file a web server gives (RFC 9110, 14.4).

use std::ops::Range;

use ureq::http::HeaderMap;

/// What `Content-Range` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// The bytes that follow; `None` where the server has none of those that were asked for.
    pub bytes: Option<Range<u64>>,
    /// Bytes of the whole file, if the server knows.
    pub size: Option<u64>,
}

impl ContentRange {
    /// What an answer says; `None` if it says nothing, or what is not valid.
    pub fn of(headers: &HeaderMap) -> Option<ContentRange> {
        let mut all = headers.get_all("content-range").iter();
        match (all.next(), all.next()) {
            (Some(one), None) => ContentRange::parse(one.to_str().ok()?),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<ContentRange> {
        let (unit, rest) = text.trim().split_once(' ')?;
        let (bytes, size) = rest.trim_start().split_once('/')?;
        let size = match size {
            "*" => None,
            size => Some(number(size)?),
        };
        let bytes = match bytes {
            "*" => None,
            bytes => {
                let (first, last) = bytes.split_once('-')?;
                let (first, last) = (number(first)?, number(last)?);
                Some(first..last.checked_add(1)?)
            }
        };
        let is_valid = bytes
            .as_ref()
            .is_none_or(|bytes| !bytes.is_empty() && size.is_none_or(|size| bytes.end <= size));
        let known = unit.eq_ignore_ascii_case("bytes") && is_valid;
        known.then_some(ContentRange { bytes, size })
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_valid_is_read_and_nothing_else() {
        let parsed = |text| ContentRange::parse(text).map(|it| (it.bytes, it.size));
        for (text, wanted) in [
            ("bytes 0-0/1", (Some(0..1), Some(1))),
            ("Bytes 5-9/100", (Some(5..10), Some(100))),
            ("bytes 5-9/*", (Some(5..10), None)),
            ("bytes */100", (None, Some(100))),
        ] {
            assert_eq!(parsed(text), Some(wanted), "{text}");
        }
        for text in [
            "",
            "bytes",
            "bytes 0-0",
            "bytes=0-0/1",
            "lines 0-0/1",
            "bytes 9-5/100",
            "bytes 0-100/100",
            "bytes +0-5/100",
            "bytes 0-5/1e3",
            "bytes 0-18446744073709551615/*",
            "bytes 0-5,7-9/100",
            "bytes -5/100",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
