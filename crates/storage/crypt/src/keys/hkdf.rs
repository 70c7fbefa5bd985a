//! Key derivation: HKDF (RFC 5869) with SHA-512.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha512;
use zeroize::Zeroizing;

/// Bytes of a pseudorandom key.
const HASH: usize = 64;

/// HKDF-Extract: derives a pseudorandom key from a secret and a salt. It is also the HMAC-SHA-512 of the second
/// argument under the first.
pub fn extract(salt: &[u8], secret: &[u8]) -> Zeroizing<[u8; HASH]> {
    let mut mac = Hmac::<Sha512>::new_from_slice(salt).expect("HMAC takes keys of any length");
    mac.update(secret);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// HKDF-Expand: fills `to` from a key and `info`, whose parts are concatenated.
///
/// # Panics
/// If `to` has more than 255 * 64 bytes.
pub fn expand(key: &[u8], info: &[&[u8]], to: &mut [u8]) {
    let mut last = Zeroizing::new([0; HASH]);
    for (number, part) in to.chunks_mut(HASH).enumerate() {
        // The crate `hkdf` refuses keys that are shorter than the hash.
        let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
        if number > 0 {
            mac.update(&*last);
        }
        info.iter().for_each(|part| mac.update(part));
        mac.update(&[u8::try_from(number + 1).expect("255 blocks at most")]);
        *last = mac.finalize().into_bytes().into();
        part.copy_from_slice(&last[..part.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_another_implementation() {
        for (salt, secret, len) in [
            (&b""[..], &b"a secret"[..], 1),
            (&[7; 48], &[9; 32], 64),
            (&[1; 200], &[2; 300], 65),
            (b"salt", b"", 255 * HASH),
        ] {
            let (key, other) = hkdf::Hkdf::<Sha512>::extract(Some(salt), secret);
            assert_eq!(extract(salt, secret)[..], key[..]);
            let (mut to, mut expected) = (vec![0; len], vec![0; len]);
            other.expand(b"what for", &mut expected).unwrap();
            expand(&key, &[b"what ", b"for"], &mut to);
            assert!(to == expected);
        }
    }
}
