//! Key files and passphrases.

use std::fs;

use evener_crypt::keys::{
    self, Cost, Exposed, Key, KeyFileError, PASSPHRASE_HEADER, ParseError, PassphraseError,
    PassphraseHeader,
};
use evener_testing::Folder;

#[test]
fn keys_differ_and_read_back() {
    let (a, b) = (Key::generate().unwrap(), Key::generate().unwrap());
    assert_ne!(a.bytes(), b.bytes());
    let line = a.to_line();
    assert_eq!(line.len(), 65);
    assert_eq!(Key::parse(&line).unwrap().bytes(), a.bytes());
    assert_eq!(
        Key::parse(&line.to_ascii_uppercase()).unwrap().bytes(),
        a.bytes()
    );
    assert_eq!(Key::parse(&line[..64]).unwrap().bytes(), a.bytes());
    let dos = [&line[..64], b"\r\n"].concat();
    assert_eq!(Key::parse(&dos).unwrap().bytes(), a.bytes());
    assert_eq!(format!("{a:?}"), "Key(..)");
    assert_ne!(keys::salt().unwrap(), keys::salt().unwrap());
}

#[test]
fn keys_are_wiped() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<Key>();
    let mut key = Key::generate().unwrap();
    zeroize::Zeroize::zeroize(&mut key);
    assert_eq!(key.bytes(), &[0; 32]);
}

#[test]
fn text_that_is_no_key() {
    let line = "0123456789abcdef".repeat(4);
    let parse = |text: &str| Key::parse(text.as_bytes()).unwrap_err();
    assert_eq!(parse(""), ParseError::Length(0));
    assert_eq!(parse("\n"), ParseError::Length(0));
    assert_eq!(parse(&line[1..]), ParseError::Length(63));
    assert_eq!(parse(&format!("{line}0\n")), ParseError::Length(65));
    assert_eq!(parse(&format!(" {}", &line[1..])), ParseError::Digit(1));
    assert_eq!(parse(&format!("{}g\n", &line[1..])), ParseError::Digit(64));
    assert_eq!(parse(&format!("{line}\n\n")), ParseError::Lines);
    assert_eq!(parse(&format!("{line}\n{line}\n")), ParseError::Lines);
    assert!(Key::parse(&[0xff; 64]).is_err());
    for error in [parse(&line[1..]), parse(&format!("{}g\n", &line[1..]))] {
        assert!(!error.to_string().contains(&line[1..9]), "{error}");
    }
}

#[test]
fn files() {
    let folder = Folder::new();
    let path = folder.path("key");
    let key = Key::generate().unwrap();
    keys::write_new(&path, &key).unwrap();
    let read = keys::read_all(&fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(read.bytes(), key.bytes());
    assert_eq!(Exposed::of(&fs::metadata(&path).unwrap()), None);
    assert!(matches!(
        keys::write_new(&path, &read),
        Err(KeyFileError::Exists)
    ));
    assert_eq!(
        fs::read(&path).unwrap(),
        *key.to_line(),
        "it was left alone"
    );
    assert!(matches!(
        keys::read_all(&fs::File::open(folder.root()).unwrap()),
        Err(KeyFileError::Read(_))
    ));
    fs::write(&path, "x".repeat(1 << 20)).unwrap();
    assert!(matches!(
        keys::read_all(&fs::File::open(&path).unwrap()),
        Err(KeyFileError::Parse(ParseError::Length(_)))
    ));
    let nowhere = folder.path("none/key");
    assert!(matches!(
        keys::write_new(&nowhere, &key),
        Err(KeyFileError::Write(_))
    ));
}

#[cfg(unix)]
#[test]
fn others_may_not_read_them() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.path("key");
    keys::write_new(&path, &Key::generate().unwrap()).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    for (mode, warned) in [(0o400, false), (0o640, true), (0o644, true), (0o602, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let exposed = Exposed::of(&fs::metadata(&path).unwrap());
        assert_eq!(exposed.map(|exposed| exposed.mode), warned.then_some(mode));
    }
    let warning = Exposed { mode: 0o640 }.to_string();
    assert!(
        warning.contains("(mode 640)") && warning.contains("chmod 600"),
        "{warning}"
    );
}

const CHEAP: Cost = Cost {
    memory: 64,
    passes: 1,
    lanes: 2,
};

#[test]
fn passphrases_give_keys() {
    let header = PassphraseHeader::generate(CHEAP).unwrap();
    let bytes = header.to_bytes();
    let read = PassphraseHeader::parse(&bytes).unwrap();
    assert_eq!(read, header);
    assert_eq!(read.cost(), CHEAP);
    let key = header.key(b"correct horse").unwrap();
    assert_eq!(read.key(b"correct horse").unwrap().bytes(), key.bytes());
    assert_ne!(read.key(b"correct horsf").unwrap().bytes(), key.bytes());
    let other = PassphraseHeader::generate(CHEAP).unwrap();
    assert_ne!(other.key(b"correct horse").unwrap().bytes(), key.bytes());
    assert!(matches!(header.key(b""), Err(PassphraseError::Empty)));
    assert_eq!(header.context(b"mine"), [&bytes[..], b"mine"].concat());
}

/// OpenSSL's answer, asked through pyca/cryptography: `Argon2id(salt=b"0123456789abcdef", length=32, iterations=2,
/// lanes=2, memory_cost=64).derive(b"correct")`.
#[test]
fn the_derivation_is_argon2id() {
    let mut bytes = *b"evener~\x01\0\0\0\x40\0\0\0\x02\0\0\0\x020123456789abcdef";
    let header = PassphraseHeader::parse(&bytes).unwrap();
    let key = header.key(b"correct").unwrap();
    let wanted =
        crate::vectors::hex("62d8655bfc3457c5214a39fe9d7857db57462e79fdafe01ebba06600a912f7e0");
    assert_eq!(key.bytes()[..], wanted);
    bytes[20] ^= 1;
    let other = PassphraseHeader::parse(&bytes).unwrap();
    assert_ne!(other.key(b"correct").unwrap().bytes(), key.bytes());
}

#[test]
fn headers_that_ask_for_too_much_or_are_none() {
    let bytes = PassphraseHeader::generate(CHEAP).unwrap().to_bytes();
    for length in 0..PASSPHRASE_HEADER {
        let parsed = PassphraseHeader::parse(&bytes[..length]);
        assert!(matches!(parsed, Err(PassphraseError::NoHeader)), "{length}");
    }
    let with = |at: usize, value: u32| {
        let mut bytes = bytes;
        bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        PassphraseHeader::parse(&bytes)
    };
    assert!(matches!(with(0, 0), Err(PassphraseError::NoHeader)));
    let mut newer = bytes;
    newer[7] = 2;
    assert!(matches!(
        PassphraseHeader::parse(&newer),
        Err(PassphraseError::Version(2))
    ));
    for (at, value) in [
        (8, (1 << 20) + 1),
        (8, u32::MAX),
        (12, 1 << 18),
        (12, u32::MAX),
        (16, 65),
        (16, u32::MAX),
    ] {
        assert!(
            matches!(with(at, value), Err(PassphraseError::TooCostly(_))),
            "{at} {value}"
        );
    }
    for (at, value) in [(8, 0), (8, 15), (12, 0), (16, 0)] {
        assert!(
            matches!(with(at, value), Err(PassphraseError::TooCheap(_))),
            "{at} {value}"
        );
    }
    assert!(with(8, 1 << 20).is_ok());
    let beyond = Cost {
        memory: 2 << 20,
        ..CHEAP
    };
    assert!(PassphraseHeader::generate(beyond).is_err());
}
