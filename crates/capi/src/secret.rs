//! What bytes are encrypted with.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use evener_crypt::keys::Key;
use evener_crypt::session::{Secret as OwnSecret, key_file};
use zeroize::Zeroizing;

use crate::status::{Failure, Status, guarded};

/// Bytes of a key.
pub const EVENER_KEY: usize = 32;

/// A key or a passphrase. It is wiped from memory when it is freed. Any number of threads may use it at once.
pub struct Secret(pub(crate) OwnSecret);

/// The secret that is a key of `EVENER_KEY` bytes. It is freed by `evener_secret_free`.
///
/// # Safety
/// `key` has so many bytes, `secret` is a place for a pointer, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_secret_of_key(key: *const u8, secret: *mut *mut Secret) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let Some(key) = (unsafe { key.cast::<[u8; EVENER_KEY]>().as_ref() }) else {
            return Err(Failure::invalid("evener_secret_of_key takes no null"));
        };
        // SAFETY: promised by the caller.
        unsafe { give(OwnSecret::Key(Key::of_bytes(key)), secret) }
    })
}

/// The secret that is a passphrase, a string that is not empty. What is encrypted with it begins with a longer header, and each
/// call that uses it takes about 0.1 s and 64 MiB to make a key of it.
///
/// # Safety
/// `text` ends with a zero byte, `secret` is a place for a pointer, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_secret_of_passphrase(
    text: *const c_char,
    secret: *mut *mut Secret,
) -> Status {
    guarded(|| {
        if text.is_null() {
            return Err(Failure::invalid(
                "evener_secret_of_passphrase takes no null",
            ));
        }
        // SAFETY: promised by the caller.
        let text = Zeroizing::new(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec());
        let made = OwnSecret::passphrase(text).map_err(Failure::invalid)?;
        // SAFETY: promised by the caller.
        unsafe { give(made, secret) }
    })
}

/// The key in a file that `evener keygen` wrote.
///
/// # Safety
/// `path` ends with a zero byte, `secret` is a place for a pointer, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_secret_load(
    path: *const c_char,
    secret: *mut *mut Secret,
) -> Status {
    guarded(|| {
        if path.is_null() {
            return Err(Failure::invalid("evener_secret_load takes no null"));
        }
        // SAFETY: promised by the caller.
        let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
        let (made, _) = key_file(Path::new(path), "".as_ref()).map_err(Failure::failed)?;
        // SAFETY: promised by the caller.
        unsafe { give(made, secret) }
    })
}

/// # Safety
/// `place` is a place for a pointer, or null.
unsafe fn give(made: OwnSecret, place: *mut *mut Secret) -> Result<Status, Failure> {
    if place.is_null() {
        return Err(Failure::invalid("there is no place for the secret"));
    }
    // SAFETY: promised by the caller.
    unsafe { place.write(Box::into_raw(Box::new(Secret(made)))) };
    Ok(Status::Ok)
}

/// Frees a secret. File keys that were made with it stay. Null is allowed.
///
/// # Safety
/// `secret` was made by this library, was not freed, and no other thread uses it; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_secret_free(secret: *mut Secret) {
    if !secret.is_null() {
        // SAFETY: promised by the caller.
        drop(unsafe { Box::from_raw(secret) });
    }
}
