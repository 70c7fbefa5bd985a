//! Byte streams of NAL units (annex B), as they are taken apart.

use crate::bits::NalType;

/// The NAL units of a byte stream, without start codes and the zero bytes around them.
pub fn nal_units(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = &bytes[after_start_code(bytes)..];
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let next = after_start_code(rest);
        let end = match next < rest.len() || rest.ends_with(&START) {
            true => next - START.len(),
            false => rest.len(),
        };
        let unit = &rest[..end];
        rest = &rest[next..];
        let zeros = unit.iter().rev().take_while(|&&byte| byte == 0).count();
        Some(&unit[..unit.len() - zeros])
    })
}

/// Whether a NAL unit is of that type.
pub fn is(unit: &[u8], kind: NalType) -> bool {
    unit.first().is_some_and(|first| first & 31 == kind as u8)
}

const START: [u8; 3] = [0, 0, 1];

/// Where the first start code ends, or the length.
fn after_start_code(bytes: &[u8]) -> usize {
    let mut at = 2;
    while at < bytes.len() {
        // A byte above 1 is in no start code, so three positions are ruled out.
        match bytes[at] {
            2.. => at += 3,
            1 if bytes[at - 2..at] == [0, 0] => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn units(bytes: &[u8]) -> Vec<&[u8]> {
        nal_units(bytes).collect()
    }

    #[test]
    fn units_end_at_start_codes_of_either_length() {
        let none: [&[u8]; 0] = [];
        assert_eq!(units(&[]), none);
        assert_eq!(units(&[0, 0, 1]), none);
        assert_eq!(units(&[0, 0, 1, 7]), [&[7]]);
        assert_eq!(units(&[0, 0, 0, 1, 7, 0, 0]), [&[7]]);
        let two: [&[u8]; 2] = [&[0x67, 1, 1, 0, 1], &[0x65, 0, 0, 3, 1, 0, 2]];
        for zeros in [0, 1, 5] {
            let mut bytes = vec![0; zeros];
            bytes.extend_from_slice(&[0, 0, 1]);
            bytes.extend_from_slice(two[0]);
            bytes.extend(vec![0; zeros]);
            bytes.extend_from_slice(&[0, 0, 1]);
            bytes.extend_from_slice(two[1]);
            assert_eq!(units(&bytes), two, "{zeros}");
        }
        assert!(is(two[0], NalType::Sequence) && is(two[1], NalType::IdrSlice));
    }

    /// The definition: what lies between start codes, without zeros at its end.
    fn by_definition(bytes: &[u8]) -> Vec<&[u8]> {
        let starts: Vec<usize> = (0..bytes.len())
            .filter(|&at| bytes[at..].starts_with(&START))
            .collect();
        let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
        let unit = |(start, end): (&usize, usize)| {
            let unit = &bytes[start + 3..end];
            let length = unit
                .iter()
                .rposition(|&b| b != 0)
                .map_or(0, |last| last + 1);
            &unit[..length]
        };
        starts.iter().zip(ends).map(unit).collect()
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_by_definition(bytes in vec(0u8..3, 0..60)) {
            let expected = by_definition(&bytes);
            // Nothing follows a start code at the very end.
            let expected = match bytes.ends_with(&START) {
                true => &expected[..expected.len() - 1],
                false => &expected[..],
            };
            prop_assert_eq!(units(&bytes), expected);
        }
    }
}
