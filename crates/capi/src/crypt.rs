//! Encryption from memory to memory, over all workers.

use std::ffi::c_char;

use evener_crypt::bulk::Operation;
use evener_crypt::session::{Error, Memory, Options, decrypted_len, encrypted_len};

use crate::bytes::{Bytes, Cursor};
use crate::secret::Secret;
use crate::status::{Failure, Status, guarded};
use crate::workers::Workers;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match &error {
            error if error.is_request() => Status::Invalid,
            error if error.is_refusal() => Status::Refused,
            _ => Status::Failed,
        };
        Failure(status, error.to_string())
    }
}

/// How many bytes `len` bytes have when they are encrypted with `secret`.
///
/// # Safety
/// `secret` was made by this library, `size` is a place for a number, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_encrypted_size(
    secret: *const Secret,
    len: usize,
    size: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(Secret(secret)), false) = (unsafe { secret.as_ref() }, size.is_null()) else {
            return Err(Failure::invalid("evener_encrypted_size takes no null"));
        };
        let found = encrypted_len(secret, len as u64).map_err(Failure::invalid)?;
        let found = usize::try_from(found).map_err(Failure::invalid)?;
        // SAFETY: promised by the caller.
        unsafe { size.write(found) };
        Ok(Status::Ok)
    })
}

/// How many bytes of text there are in `len` bytes that were encrypted with `secret`. `EVENER_STATUS_REFUSED` if that is no
/// size of encrypted bytes.
///
/// # Safety
/// `secret` was made by this library, `size` is a place for a number, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_decrypted_size(
    secret: *const Secret,
    len: usize,
    size: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(Secret(secret)), false) = (unsafe { secret.as_ref() }, size.is_null()) else {
            return Err(Failure::invalid("evener_decrypted_size takes no null"));
        };
        let found =
            usize::try_from(decrypted_len(secret, len as u64)?).map_err(Failure::invalid)?;
        // SAFETY: promised by the caller.
        unsafe { size.write(found) };
        Ok(Status::Ok)
    })
}

/// Encrypts `input` as `evener encrypt` does a file. `output` has the bytes that `evener_encrypted_size` says, apart from those
/// of `input`. `context`, which may be null if it is empty, is needed to decrypt them.
///
/// # Safety
/// `workers` and `secret` were made by this library; the others are there, with so many bytes; nothing writes what is read,
/// and nothing else reads or writes the output, until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_encrypt(
    workers: *const Workers,
    secret: *const Secret,
    context: *const c_char,
    context_len: usize,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_len: usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(workers), Some(Secret(secret))) =
            (unsafe { (workers.as_ref(), secret.as_ref()) })
        else {
            return Err(Failure::invalid("evener_encrypt takes no null"));
        };
        let input = Bytes::new(input, input_len, "the input")?;
        let output = Bytes::new(output, output_len, "the output")?;
        let context = Bytes::new(context.cast(), context_len, "the context")?;
        input.check_apart(output)?;
        context.check_apart(output)?;
        let size = encrypted_len(secret, input.len() as u64).map_err(Failure::invalid)?;
        output.check_len(size)?;
        // SAFETY: promised by the caller.
        let (reader, context) = unsafe { (Cursor::new(input), context.read()) };
        let session = Memory::encrypt(reader, input.len() as u64, secret, context)?;
        // SAFETY: promised by the caller.
        unsafe { run(workers, session, output) }
    })
}

/// Decrypts `input`, which `evener_encrypt` or `evener encrypt` made with this secret and context. `output` has the bytes that
/// `evener_decrypted_size` says, apart from those of `input`.
///
/// `EVENER_STATUS_REFUSED` if the input was altered, or made with another secret or context. Unless this succeeds, all bytes of
/// the output are zero or as they were.
///
/// # Safety
/// As for `evener_encrypt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_decrypt(
    workers: *const Workers,
    secret: *const Secret,
    context: *const c_char,
    context_len: usize,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_len: usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(workers), Some(Secret(secret))) =
            (unsafe { (workers.as_ref(), secret.as_ref()) })
        else {
            return Err(Failure::invalid("evener_decrypt takes no null"));
        };
        let input = Bytes::new(input, input_len, "the input")?;
        let output = Bytes::new(output, output_len, "the output")?;
        let context = Bytes::new(context.cast(), context_len, "the context")?;
        input.check_apart(output)?;
        context.check_apart(output)?;
        output.check_len(decrypted_len(secret, input.len() as u64)?)?;
        // SAFETY: promised by the caller.
        let (reader, context) = unsafe { (Cursor::new(input), context.read()) };
        let session = Memory::decrypt(reader, input.len() as u64, secret, context)?;
        // SAFETY: promised by the caller.
        let done = unsafe { run(workers, session, output) };
        if done.is_err() {
            // SAFETY: promised by the caller; the run is over.
            unsafe { output.write() }.fill(0);
        }
        done
    })
}

/// Encrypts or decrypts `len` bytes of `input` into `output` by AES in counter mode, as `openssl enc -aes-256-ctr` does; with
/// `key_len` of 16, 24 or 32 it is AES-128, AES-192 or AES-256. `counter` has 16 bytes, the first counter of the stream, in
/// which the input lies from byte `at` on. `output` may be `input`, and has no bytes of it otherwise.
///
/// This authenticates nothing. Two texts under one key and counter betray each other.
///
/// # Safety
/// As for `evener_encrypt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_ctr(
    workers: *const Workers,
    key: *const u8,
    key_len: usize,
    counter: *const u8,
    at: u64,
    input: *const u8,
    output: *mut u8,
    len: usize,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let Some(workers) = (unsafe { workers.as_ref() }) else {
            return Err(Failure::invalid("evener_ctr takes no null"));
        };
        let key = Bytes::new(key, key_len, "the key")?;
        let counter = Bytes::new(counter, 16, "the counter")?;
        let input = Bytes::new(input, len, "the input")?;
        let output = Bytes::new(output, len, "the output")?;
        if !input.is(output) {
            input.check_apart(output)?;
        }
        key.check_apart(output)?;
        counter.check_apart(output)?;
        // SAFETY: promised by the caller; a unit is read before what becomes of it is written in its place.
        let (reader, key, counter) = unsafe { (Cursor::new(input), key.read(), counter.read()) };
        let session = Memory::counter(reader, len as u64, (key, counter), at)?;
        // SAFETY: promised by the caller.
        unsafe { run(workers, session, output) }
    })
}

/// # Safety
/// `output` is there, and only written here.
unsafe fn run<O: Operation + 'static>(
    Workers(runtime): &Workers,
    session: Memory<O, Cursor>,
    output: Bytes,
) -> Result<Status, Failure> {
    // SAFETY: promised by the caller.
    let writer = unsafe { Cursor::new(output) };
    session.run(writer, runtime, Options::default())?;
    Ok(Status::Ok)
}
