//! Bytes in hexadecimal.

use std::str::FromStr;

use zeroize::Zeroizing;

/// Bytes written in hexadecimal. Wiped when dropped.
#[derive(Clone)]
pub struct Hex(Zeroizing<Vec<u8>>);

/// The text is not hexadecimal. The message repeats none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// A character is not a digit.
    #[error("character {0} is not a hexadecimal digit")]
    Digit(usize),
    /// The number of digits is odd.
    #[error("there are {0} hexadecimal digits, an odd number")]
    Odd(usize),
}

impl Hex {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Hex {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Hex, HexError> {
        let mut bytes = Zeroizing::new(vec![0; text.len().div_ceil(2)]);
        let mut count = 0;
        for c in text.chars() {
            let digit = c.to_digit(16).ok_or(HexError::Digit(count + 1))?;
            bytes[count / 2] = bytes[count / 2] << 4 | digit as u8;
            count += 1;
        }
        match count % 2 {
            0 => Ok(Hex(bytes)),
            _ => Err(HexError::Odd(count)),
        }
    }
}

impl std::fmt::Debug for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hex(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_either_case_are_bytes() {
        let hex: Hex = "00fFA5".parse().unwrap();
        assert_eq!(hex.bytes(), [0, 255, 0xa5]);
        assert_eq!("".parse::<Hex>().unwrap().bytes(), b"");
        assert_eq!("0x1".parse::<Hex>().unwrap_err(), HexError::Digit(2));
        assert_eq!("abc".parse::<Hex>().unwrap_err(), HexError::Odd(3));
        assert_eq!("\u{e9}a".parse::<Hex>().unwrap_err(), HexError::Digit(1));
    }
}
