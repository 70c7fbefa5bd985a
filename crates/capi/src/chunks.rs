//! Chunks of an encrypted file, each by itself.

use std::ffi::{c_char, c_int};

use evener_crypt::chunked::{
    CHUNK, FileKey as OwnKey, MAX_CHUNKS, SEALED_CHUNK, plain_len, sealed_len,
};
use evener_crypt::session::{header_len, key_of_header, new_header};

use crate::bytes::Bytes;
use crate::secret::Secret;
use crate::status::{Failure, Status, guarded};

/// Bytes of text in every chunk of an encrypted file but the last, which has fewer, or none.
pub const EVENER_CHUNK: usize = 16384;
/// Bytes that a chunk has more when it is sealed.
pub const EVENER_TAG: usize = 16;

const _: () = assert!(EVENER_CHUNK == CHUNK && EVENER_CHUNK + EVENER_TAG == SEALED_CHUNK);

/// The key of one encrypted file. Any number of threads may use it at once.
pub struct FileKey(OwnKey);

/// How many bytes there are before the first chunk of what is encrypted with `secret`.
///
/// # Safety
/// `secret` was made by this library, `size` is a place for a number, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_header_size(secret: *const Secret, size: *mut usize) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(Secret(secret)), false) = (unsafe { secret.as_ref() }, size.is_null()) else {
            return Err(Failure::invalid("evener_header_size takes no null"));
        };
        // SAFETY: promised by the caller.
        unsafe { size.write(header_len(secret)) };
        Ok(Status::Ok)
    })
}

/// Makes the key of a new file, and writes the header that the file begins with: as many bytes as `evener_header_size` says.
/// `context`, which may be null if it is empty, is needed to open the file. The key is freed by `evener_file_key_free`.
///
/// # Safety
/// `secret` was made by this library; the others are there, with so many bytes; `key` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_file_key_new(
    secret: *const Secret,
    context: *const c_char,
    context_len: usize,
    header: *mut u8,
    header_len: usize,
    key: *mut *mut FileKey,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(Secret(secret)), false) = (unsafe { secret.as_ref() }, key.is_null()) else {
            return Err(Failure::invalid("evener_file_key_new takes no null"));
        };
        let context = Bytes::new(context.cast(), context_len, "the context")?;
        let header = Bytes::new(header, header_len, "the header")?;
        context.check_apart(header)?;
        check_header(secret, header)?;
        // SAFETY: promised by the caller.
        let (made, bytes) = new_header(secret, unsafe { context.read() })?;
        // SAFETY: promised by the caller.
        unsafe {
            header.write().copy_from_slice(&bytes);
            key.write(Box::into_raw(Box::new(FileKey(made))));
        }
        Ok(Status::Ok)
    })
}

/// The key of a file that begins with `header`: as many bytes as `evener_header_size` says. `EVENER_STATUS_REFUSED` if it is no
/// header, or was made with another secret or context.
///
/// # Safety
/// As for `evener_file_key_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_file_key_open(
    secret: *const Secret,
    context: *const c_char,
    context_len: usize,
    header: *const u8,
    header_len: usize,
    key: *mut *mut FileKey,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(Secret(secret)), false) = (unsafe { secret.as_ref() }, key.is_null()) else {
            return Err(Failure::invalid("evener_file_key_open takes no null"));
        };
        let context = Bytes::new(context.cast(), context_len, "the context")?;
        let header = Bytes::new(header, header_len, "the header")?;
        check_header(secret, header)?;
        // SAFETY: promised by the caller.
        let made = unsafe { key_of_header(secret, context.read(), header.read()) }?;
        // SAFETY: promised by the caller.
        unsafe { key.write(Box::into_raw(Box::new(FileKey(made)))) };
        Ok(Status::Ok)
    })
}

fn check_header(secret: &evener_crypt::session::Secret, header: Bytes) -> Result<(), Failure> {
    let wanted = header_len(secret);
    match header.len() == wanted {
        true => Ok(()),
        false => Err(Failure::invalid(format!(
            "the header has {} bytes, with this secret {wanted}",
            header.len()
        ))),
    }
}

/// Seals chunks from number `first` on, counted from 0: `text` into `sealed`, on the thread that calls.
///
/// `text` is whole chunks, and if `last` is not 0 the last chunk of the file after them, which is shorter and may be empty.
/// `sealed` has `EVENER_TAG` bytes more for each chunk, apart from those of `text`. A chunk must not be sealed twice with
/// different text under one file key.
///
/// # Safety
/// `key` was made by this library; the others are there, with so many bytes; nothing writes what is read, and nothing else
/// reads or writes what is written, until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_chunks_seal(
    key: *const FileKey,
    first: u64,
    last: c_int,
    text: *const u8,
    text_len: usize,
    sealed: *mut u8,
    sealed_size: usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let Some(FileKey(key)) = (unsafe { key.as_ref() }) else {
            return Err(Failure::invalid("evener_chunks_seal takes no null key"));
        };
        let last = last != 0;
        let text = Bytes::new(text, text_len, "the text")?;
        let sealed = Bytes::new(sealed, sealed_size, "the place for sealed chunks")?;
        text.check_apart(sealed)?;
        check_whole(first, text, last, CHUNK)?;
        sealed.check_len(sealed_len(text.len(), last) as u64)?;
        // SAFETY: promised by the caller; they are apart.
        let (text, sealed) = unsafe { (text.read(), sealed.write()) };
        key.seal(first, text, last, sealed)
            .map_err(Failure::invalid)?;
        Ok(Status::Ok)
    })
}

/// Opens chunks from number `first` on: `sealed` into `text`, on the thread that calls.
///
/// `sealed` is whole chunks, and if `last` is not 0 the last chunk of the file after them. `text` has `EVENER_TAG` bytes less
/// for each chunk, apart from those of `sealed`. `EVENER_STATUS_REFUSED` if a chunk is not what was sealed at its place, or the
/// last one is missing; the text from that chunk on is zero.
///
/// # Safety
/// As for `evener_chunks_seal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_chunks_open(
    key: *const FileKey,
    first: u64,
    last: c_int,
    sealed: *const u8,
    sealed_size: usize,
    text: *mut u8,
    text_len: usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let Some(FileKey(key)) = (unsafe { key.as_ref() }) else {
            return Err(Failure::invalid("evener_chunks_open takes no null key"));
        };
        let last = last != 0;
        let sealed = Bytes::new(sealed, sealed_size, "what is sealed")?;
        let text = Bytes::new(text, text_len, "the place for text")?;
        sealed.check_apart(text)?;
        check_whole(first, sealed, last, SEALED_CHUNK)?;
        text.check_len(plain_len(sealed.len()) as u64)?;
        // SAFETY: promised by the caller; they are apart.
        let (sealed, text) = unsafe { (sealed.read(), text.write()) };
        let opened = key.open_chunks(first, sealed, last, text);
        opened.map_err(|error| Failure(Status::Refused, format!("input: {error}")))?;
        Ok(Status::Ok)
    })
}

fn check_whole(first: u64, bytes: Bytes, last: bool, chunk: usize) -> Result<(), Failure> {
    if first >= MAX_CHUNKS {
        let text = format!("chunk {first}: a file has at most {MAX_CHUNKS}");
        return Err(Failure::invalid(text));
    }
    match last || bytes.len().is_multiple_of(chunk) {
        true => Ok(()),
        false => Err(Failure::invalid(format!(
            "{} bytes are no whole chunks of {chunk}, and the last chunk of the file is not among them",
            bytes.len()
        ))),
    }
}

/// Frees the key of a file. Null is allowed.
///
/// # Safety
/// `key` was made by this library, was not freed, and no other thread uses it; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_file_key_free(key: *mut FileKey) {
    if !key.is_null() {
        // SAFETY: promised by the caller.
        drop(unsafe { Box::from_raw(key) });
    }
}
