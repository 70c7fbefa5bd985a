//! Encrypted files of other programs, recognised by their first bytes.

/// What a file that begins with `front` is, as a message says it, if another program encrypted it.
pub(super) fn recognise(front: &[u8]) -> Option<&'static str> {
    if front.is_empty() {
        Some("is empty, so it is not an encrypted file; fetch or make it again")
    } else if is_utf16(front) {
        Some(
            "looks like a file that PowerShell's > has re-encoded as UTF-16; write it again with -o",
        )
    } else if front.starts_with(b"-----BEGIN PGP") {
        Some("is an OpenPGP file in lines of text, which evener does not know; gpg does")
    } else if front.starts_with(b"Salted__") {
        Some("was encrypted by openssl enc, whose files evener does not know; openssl does")
    } else if is_openpgp(front) {
        Some("is an OpenPGP file, which evener does not know; gpg does")
    } else {
        None
    }
}

/// Whether it begins with text in UTF-16, as files of age and those with a passphrase do once they are text: a byte order
/// mark, and characters of ASCII.
fn is_utf16(front: &[u8]) -> bool {
    matches!(front, [0xFF, 0xFE, _, 0, _, 0, _, 0, _, 0, ..])
}

/// Whether it begins with the packet of a session key, by RFC 9580: for a public key or for a passphrase. Of random bytes
/// fewer than one in ten million do.
fn is_openpgp(front: &[u8]) -> bool {
    let (kind, packet) = match front {
        [0x84 | 0x8C, length, rest @ ..] => {
            (front[0] >> 2 & 15, Some((usize::from(*length), rest)))
        }
        [0x85 | 0x8D, high, low, rest @ ..] => {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            (front[0] >> 2 & 15, Some((length, rest)))
        }
        [0xC1 | 0xC3, length @ ..192, rest @ ..] => {
            (front[0] & 63, Some((usize::from(*length), rest)))
        }
        [0xC1 | 0xC3, high @ 192..=223, low, rest @ ..] => {
            let length = (usize::from(*high) - 192) << 8 | usize::from(*low);
            (front[0] & 63, Some((length + 192, rest)))
        }
        _ => (0, None),
    };
    match (kind, packet) {
        // Version 3, a key's number of 8 bytes, its algorithm, and a number whose length in bits comes first.
        (1, Some((30..1100, [3, key @ ..]))) => {
            matches!(key.get(8..10), Some([1 | 2 | 16 | 18, ..=32]))
        }
        // Version 4, a cipher, how the key is made, and a hash.
        (3, Some((4..100, [4, 1..=13, 0..=4, 1..=14, ..]))) => true,
        // Version 5, a cipher, its mode, and how the key is made.
        (3, Some((20..100, [5, 1..=13, 1..=3, 0..=4, ..]))) => true,
        _ => false,
    }
}

/// Whether bytes like these come about by chance: random ones have hardly ever so many that are equal, or no others than those
/// of text.
pub(super) fn is_noise(front: &[u8]) -> bool {
    let mut seen = [false; 256];
    front
        .iter()
        .for_each(|&byte| seen[usize::from(byte)] = true);
    let different = seen.iter().filter(|&&seen| seen).count();
    different * 5 > front.len() * 3 && !front.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How files of gpg 2.2 begin, and one whose packets have the newer kind of length.
    const GPG: [&[u8]; 4] = [
        b"\x85\x01\x0c\x03\x15\x1d\x73\xd8\x14\xa1\x6e\xd1\x01\x07\xfa\x02",
        b"\x84\x5e\x03\x30\xa3\x6f\x41\xd0\xa2\x07\x2e\x12\x01\x07\x40\xfe",
        b"\x8c\x0d\x04\x09\x03\x02\x23\x31\xd7\x94\x29\x22\x21\x17\xff\xd2",
        b"\xc3\x0d\x04\x09\x03\x02\x23\x31\xd7\x94\x29\x22\x21\x17\xff\xd2",
    ];

    #[test]
    fn files_of_others_are_known_by_their_beginning() {
        for bytes in GPG {
            let known = recognise(bytes);
            assert!(known.is_some_and(|it| it.contains("OpenPGP")), "{bytes:?}");
        }
        assert!(
            recognise(b"-----BEGIN PGP MESSAGE-----\n")
                .unwrap()
                .contains("gpg")
        );
        assert!(recognise(b"Salted__\x01\x02").unwrap().contains("openssl"));
        let mangled: Vec<u8> = "\u{feff}age-encryption.org/v1\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert!(recognise(&mangled).unwrap().contains("UTF-16"));
        assert!(recognise(b"").unwrap().contains("empty"));
        for other in [
            &b"\xff\xfe\x12\x25"[..],
            b"\x85",
            b"\x8c\x0d",
            b"evener~\x01",
            &[0x85; 36],
        ] {
            assert_eq!(recognise(other), None, "{other:?}");
        }
    }

    #[test]
    fn random_bytes_are_noise_and_nothing_else_is() {
        for _ in 0..20_000 {
            let bytes: [u8; 36] = crate::age::random().unwrap();
            assert!(is_noise(&bytes), "{bytes:?}");
            assert_eq!(recognise(&bytes), None, "{bytes:?}");
        }
        let mut elf = *b"\x7fELF\x02\x01\x01................................";
        elf[7..].fill(0);
        for other in [&b"any text of some length, as a letter"[..], &[0; 36], &elf] {
            assert!(!is_noise(other), "{other:?}");
        }
    }
}
