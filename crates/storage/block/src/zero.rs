//! Zeros, and whether bytes are all zero.

/// What zeros are written from.
pub(crate) static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Bytes that are compared at a time: enough for wide registers, and few enough that most blocks need only one step.
const STEP: usize = 128;

/// Whether `bytes` are all zero.
pub fn is_zero(bytes: &[u8]) -> bool {
    let (steps, rest) = bytes.as_chunks::<STEP>();
    rest.iter().all(|&b| b == 0)
        && steps
            .iter()
            .all(|step| step.iter().fold(0, |all, &b| all | b) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_counts() {
        for len in [0, 1, STEP - 1, STEP, 3 * STEP + 5] {
            let mut bytes = vec![0; len];
            assert!(is_zero(&bytes));
            for at in 0..len {
                bytes[at] = 0x80;
                assert!(!is_zero(&bytes), "{at} of {len}");
                bytes[at] = 0;
            }
        }
    }
}
