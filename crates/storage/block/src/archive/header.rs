//! The header of a file in a tar (POSIX.1-2017, pax; GNU tar's `tar.h`).

/// Bytes of a header. The bytes of files are filled up to whole ones.
pub const BLOCK: u64 = 512;

/// Where a header has what.
const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const SUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..263;
const PREFIX: std::ops::Range<usize> = 345..500;

/// Whether a file that begins so is a tar: its first header has a name and the right sum.
pub fn is_tar(front: &[u8]) -> bool {
    let header = front.first_chunk().map(|bytes| Header(*bytes));
    header.is_some_and(|header| header.is_good() && !header.name().is_empty())
}

/// A header.
pub struct Header(pub [u8; BLOCK as usize]);

impl Header {
    /// Whether it is all zero, as behind the last file.
    pub fn is_end(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    /// Whether its sum is right. The sum counts as blanks. Old programs summed signed bytes.
    pub fn is_good(&self) -> bool {
        let counted = |at: usize| if SUM.contains(&at) { b' ' } else { self.0[at] };
        let bytes = || (0..self.0.len()).map(counted);
        let plain: u64 = bytes().map(u64::from).sum();
        let signed: i64 = bytes().map(|byte| i64::from(byte as i8)).sum();
        let sum = number(&self.0[SUM]);
        sum.is_some_and(|sum| sum == plain || i64::try_from(sum) == Ok(signed))
    }

    /// What kind of entry it is.
    pub fn kind(&self) -> u8 {
        self.0[KIND]
    }

    /// Bytes that follow; `None` if it is no number.
    pub fn size(&self) -> Option<u64> {
        number(&self.0[SIZE])
    }

    /// Its name, with the prefix that POSIX has and GNU has not.
    pub fn name(&self) -> Vec<u8> {
        let (prefix, name) = (text(&self.0[PREFIX]), text(&self.0[NAME]));
        let is_posix = self.0[MAGIC] == *b"ustar\0";
        match is_posix && !prefix.is_empty() {
            true => [prefix, b"/", name].concat(),
            false => name.to_vec(),
        }
    }
}

/// Text up to the first zero.
pub fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or(field)
}

/// A number of a field: octal digits, or of GNU in base 256.
pub fn number(field: &[u8]) -> Option<u64> {
    match field.split_first()? {
        (0x80, rest) => {
            let start = rest.len().checked_sub(8)?;
            let (high, low) = rest.split_at(start);
            let low = low.first_chunk().map(|low| u64::from_be_bytes(*low));
            low.filter(|_| high.iter().all(|&byte| byte == 0))
        }
        _ => {
            let digits = text(field).trim_ascii();
            let is_octal = digits.iter().all(|byte| (b'0'..=b'7').contains(byte));
            let digits = std::str::from_utf8(digits).ok().filter(|_| is_octal)?;
            u64::from_str_radix(digits, 8).ok()
        }
    }
}

/// The records of a pax header: `LENGTH KEY=VALUE\n`, where the length counts all of it. `None` if they are damaged.
pub fn records(mut data: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut records = Vec::new();
    while !data.is_empty() && data[0] != 0 {
        let blank = data.iter().position(|&byte| byte == b' ')?;
        let len = decimal(&data[..blank])?;
        let (record, rest) = data.split_at_checked(usize::try_from(len).ok()?)?;
        let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|&byte| byte == b'=')?;
        records.push((&record[..equals], &record[equals + 1..]));
        data = rest;
    }
    Some(records)
}

/// A number in decimal digits.
pub fn decimal(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_of_gnu() {
        for (field, wanted) in [
            (&b"0000644\0"[..], Some(0o644)),
            (b" 644 \0", Some(0o644)),
            (b"00000000010\0", Some(8)),
            (b"77777777777 ", Some((1 << 33) - 1)),
            (b"\x80\0\0\0\0\0\0\x02\0\0\0\0", Some(2 << 32)),
            (b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
            (b"\0\0\0\0\0\0\0\0", None),
            (b"0000648\0", None),
            (b"", None),
        ] {
            assert_eq!(number(field), wanted, "{field:?}");
        }
    }

    #[test]
    fn records_of_pax_count_their_own_length() {
        let found = records(b"12 path=a=b\n10 size=9\n\0\0").unwrap();
        assert_eq!(found, [(&b"path"[..], &b"a=b"[..]), (b"size", b"9")]);
        for bad in [
            &b"12 path=a"[..],
            b"5 a=b",
            b"x a=b\n",
            b"6 abc\n",
            b"0 a=b\n",
            b"1 \n",
        ] {
            assert!(records(bad).is_none(), "{bad:?}");
        }
    }
}
