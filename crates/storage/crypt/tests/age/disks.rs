//! Disks as outputs, which take so many bytes and no more.

use std::fs;
use std::path::Path;

use evener_crypt::age::Identity;
use evener_crypt::keys::Key;
use evener_crypt::product;
use evener_crypt::session::{
    Error, Opener, Options, Recipients, Rewrapped, Secret, counter, decrypt, encrypt, encrypt_age,
    rewrap,
};
use evener_testing::{Disk, Folder};

use crate::runtime;

const SIZE: usize = 1 << 20;

/// Whether a file that is written to the disk is refused before its first byte.
#[track_caller]
fn is_refused(disk: &Disk, what: &str, done: Result<(), Error>) {
    let error = done.unwrap_err().to_string();
    let says = format!("has room for {SIZE}");
    assert!(
        error.contains("is too small") && error.contains(&says),
        "{what}: {error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    let written = fs::read(disk.path()).unwrap();
    assert!(written.iter().all(|&byte| byte == 0), "{what}");
}

#[test]
fn what_does_not_fit_onto_a_disk_is_refused_before_the_first_byte() {
    let Some(disk) = Disk::new(SIZE as u64) else {
        return;
    };
    let folder = Folder::new();
    let out = disk.path().as_os_str();
    let large = folder.file("large", vec![7; SIZE + 8]);
    let run = Options::default;
    let key = Secret::Key(Key::generate().unwrap());
    let identity = Identity::generate().unwrap();
    let to = Recipients::Keys(vec![identity.recipient()]);
    let large = large.as_os_str();
    let path = |name: &str| folder.path(name);

    let (own, age) = (path("own"), path("age"));
    let sealed = encrypt(large, own.as_os_str(), &key, b"").unwrap();
    sealed.run(&runtime(), run()).unwrap();
    let sealed = encrypt_age(large, age.as_os_str(), &to, false).unwrap();
    sealed.run(&runtime(), run()).unwrap();

    let open = |input: &Path, opener: Opener<'_>, range: Option<&str>| {
        let range = range.map(|range| range.parse().unwrap());
        let session = decrypt(input.as_os_str(), out, opener, b"", range)?;
        session.run(&runtime(), run()).map(drop)
    };
    let identities = [identity];
    let by_identity = Opener::Identities(&identities);
    is_refused(&disk, "decrypt", open(&own, (&key).into(), None));
    is_refused(&disk, "decrypt age", open(&age, by_identity, None));
    is_refused(&disk, "a range", open(&own, (&key).into(), Some("4-")));
    let done = encrypt(large, out, &key, b"").and_then(|it| it.run(&runtime(), run()));
    is_refused(&disk, "encrypt", done.map(drop));
    let done = encrypt_age(large, out, &to, false).and_then(|it| it.run(&runtime(), run()));
    is_refused(&disk, "encrypt age", done.map(drop));
    let done = counter(large, out, (&[1; 16], &[2; 16]), 0);
    let done = done.and_then(|it| it.run(&runtime(), run()));
    is_refused(&disk, "ctr", done.map(drop));
    let rewrapped = rewrap(age.as_os_str(), Rewrapped::Output(out), by_identity);
    let done = rewrapped.and_then(|it| it.run(&to, |_| ()));
    is_refused(&disk, "rewrap", done.map(drop));
    let error = product::session::encrypt(large, out, &[3; 16], None)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("is too small"), "{error}");

    // What fits is written.
    open(&own, (&key).into(), Some("8-")).unwrap();
    assert!(fs::read(disk.path()).unwrap() == vec![7; SIZE]);
}
