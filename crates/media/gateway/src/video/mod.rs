//! What pictures are, and what their headers say, by coding.

pub mod bits;
pub mod h264;
pub mod h265;
pub mod mpeg2;

/// What follows each start code (00 00 01) in `bytes`, up to the next or the end. Of the last, what is there may be cut.
pub fn units(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = after_start_code(bytes);
    std::iter::from_fn(move || {
        let unit = rest?;
        rest = after_start_code(unit);
        let end = rest.map_or(unit.len(), |next| unit.len() - next.len() - 3);
        // Zeros before a start code are of no unit.
        let zeros = unit[..end]
            .iter()
            .rev()
            .take_while(|&&byte| byte == 0)
            .count();
        Some(&unit[..if rest.is_some() { end - zeros } else { end }])
    })
}

fn after_start_code(bytes: &[u8]) -> Option<&[u8]> {
    let at = bytes.windows(3).position(|window| window == [0, 0, 1])?;
    Some(&bytes[at + 3..])
}

#[cfg(test)]
mod tests {
    #[test]
    fn units_are_between_start_codes() {
        let bytes = [9, 0, 0, 1, 5, 6, 0, 0, 0, 1, 7, 0, 0, 1, 0, 0, 1, 8, 0];
        let units: Vec<_> = super::units(&bytes).collect();
        assert_eq!(units, [&[5, 6][..], &[7], &[], &[8, 0]]);
        assert_eq!(super::units(&bytes[..3]).count(), 0);
    }
}
