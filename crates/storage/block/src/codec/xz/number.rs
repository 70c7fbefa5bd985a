//! Numbers of xz, and the index of a stream, which consists of them.

use libdeflater::crc32;

/// The fewest packed bytes of a block.
const MIN_PACKED: u64 = 5;

/// A number of up to 63 bits, seven to a byte.
pub fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            // A longer form of the same number is invalid.
            return (byte != 0 || shift == 0).then_some(number);
        }
    }
    None
}

/// The records of an index: packed and plain length of each block.
pub fn records(index: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (mut rest, sum) = index.split_last_chunk::<4>()?;
    if crc32(rest) != u32::from_le_bytes(*sum) || *rest.split_off_first()? != 0 {
        return None;
    }
    let count = number(&mut rest)?;
    // No more is allocated than the bytes can fill.
    let mut records = Vec::with_capacity(count.min(rest.len() as u64 / 2) as usize);
    let mut total = 0i64;
    for _ in 0..count {
        let (packed, plain) = (number(&mut rest)?, number(&mut rest)?);
        if packed < MIN_PACKED {
            return None;
        }
        // A stream has fewer than 2^63 bytes.
        total = total.checked_add_unsigned(plain)?;
        records.push((packed, plain));
    }
    (rest.len() < 4 && rest.iter().all(|&byte| byte == 0)).then_some(records)
}
