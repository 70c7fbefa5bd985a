//! Age files against the published vectors, and against who would change them.

mod disks;
mod ranges;
mod vectors;

use evener_crypt::age::Identity;
use evener_crypt::session::{Opener, Options, Recipients, decrypt, encrypt_age};
use evener_runtime::Runtime;
use evener_testing::Folder;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).memory(false).build().unwrap()
}

/// Encrypts the file `plain` of a folder as `sealed`.
fn seal(folder: &Folder, identity: &Identity, armor: bool) {
    let [plain, sealed] = ["plain", "sealed"].map(|name| folder.path(name));
    let to = Recipients::Keys(vec![identity.recipient()]);
    let session = encrypt_age(plain.as_ref(), sealed.as_ref(), &to, armor).unwrap();
    let promised = session.bytes();
    session.run(&runtime(), Options::default()).unwrap();
    assert_eq!(promised, Some(std::fs::metadata(&sealed).unwrap().len()));
}

/// Decrypts the file `sealed` of a folder.
fn open(folder: &Folder, identity: &Identity, range: Option<&str>) -> Result<Vec<u8>, String> {
    let [sealed, back] = ["sealed", "back"].map(|name| folder.path(name));
    let _ = std::fs::remove_file(&back);
    let identities = [identity.clone()];
    let range = range.map(|range| range.parse().unwrap());
    let opener = Opener::Identities(&identities);
    let done = decrypt(sealed.as_ref(), back.as_ref(), opener, b"", range)
        .and_then(|session| session.run(&runtime(), Options::default()));
    match done {
        Ok(_) => Ok(std::fs::read(&back).unwrap()),
        Err(error) => {
            assert!(!back.exists());
            Err(error.to_string())
        }
    }
}
