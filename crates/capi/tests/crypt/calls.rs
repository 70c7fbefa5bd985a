//! The functions of C as these tests call them: memory is that of slices, and handles are freed.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use evener_c::*;

/// A handle that is freed.
pub struct Handle<T> {
    pub pointer: *mut T,
    free: unsafe extern "C" fn(*mut T),
}

// SAFETY: any number of threads may use what these tests make.
unsafe impl<T> Sync for Handle<T> {}

impl<T> Handle<T> {
    fn made(status: Status, pointer: *mut T, free: unsafe extern "C" fn(*mut T)) -> Handle<T> {
        assert_eq!(status, Status::Ok, "{}", last_error());
        Handle { pointer, free }
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is not used any more.
        unsafe { (self.free)(self.pointer) };
    }
}

pub fn last_error() -> String {
    // SAFETY: it is a string until the next call.
    let text = unsafe { CStr::from_ptr(evener_last_error()) };
    text.to_str().unwrap().to_owned()
}

pub fn workers() -> Handle<Workers> {
    let mut made = null_mut();
    // SAFETY: a place for a pointer.
    let status = unsafe { evener_workers_new(2, &mut made) };
    Handle::made(status, made, evener_workers_free)
}

pub fn key(bytes: &[u8; 32]) -> Handle<Secret> {
    let mut made = null_mut();
    // SAFETY: the bytes of a key, and a place for a pointer.
    let status = unsafe { evener_secret_of_key(bytes.as_ptr(), &mut made) };
    Handle::made(status, made, evener_secret_free)
}

pub fn try_passphrase(text: &str) -> (Status, *mut Secret) {
    let (text, mut made) = (CString::new(text).unwrap(), null_mut());
    // SAFETY: a string, and a place for a pointer.
    let status = unsafe { evener_secret_of_passphrase(text.as_ptr(), &mut made) };
    (status, made)
}

pub fn passphrase(text: &str) -> Handle<Secret> {
    let (status, made) = try_passphrase(text);
    Handle::made(status, made, evener_secret_free)
}

pub fn try_load(path: &str) -> (Status, *mut Secret) {
    let (path, mut made) = (CString::new(path).unwrap(), null_mut());
    // SAFETY: a string, and a place for a pointer.
    let status = unsafe { evener_secret_load(path.as_ptr(), &mut made) };
    (status, made)
}

pub fn load(path: &str) -> Handle<Secret> {
    let (status, made) = try_load(path);
    Handle::made(status, made, evener_secret_free)
}

pub fn encrypted_size(secret: &Handle<Secret>, len: usize) -> Result<usize, Status> {
    let mut size = usize::MAX;
    // SAFETY: a secret, and a place for a number.
    match unsafe { evener_encrypted_size(secret.pointer, len, &mut size) } {
        Status::Ok => Ok(size),
        status => Err(status),
    }
}

pub fn decrypted_size(secret: &Handle<Secret>, len: usize) -> Result<usize, Status> {
    let mut size = usize::MAX;
    // SAFETY: a secret, and a place for a number.
    match unsafe { evener_decrypted_size(secret.pointer, len, &mut size) } {
        Status::Ok => Ok(size),
        status => Err(status),
    }
}

pub fn header_size(secret: &Handle<Secret>) -> usize {
    let mut size = 0;
    // SAFETY: a secret, and a place for a number.
    let status = unsafe { evener_header_size(secret.pointer, &mut size) };
    assert_eq!(status, Status::Ok);
    size
}

/// Of `evener_encrypt` and `evener_decrypt`.
type Crypt = unsafe extern "C" fn(
    *const Workers,
    *const Secret,
    *const std::ffi::c_char,
    usize,
    *const u8,
    usize,
    *mut u8,
    usize,
) -> Status;

fn crypt(
    function: Crypt,
    workers: &Handle<Workers>,
    (secret, context): (&Handle<Secret>, &[u8]),
    input: &[u8],
    output: &mut [u8],
) -> Status {
    let (context, context_len) = (context.as_ptr().cast(), context.len());
    // SAFETY: all are there, and apart.
    unsafe {
        function(
            workers.pointer,
            secret.pointer,
            context,
            context_len,
            input.as_ptr(),
            input.len(),
            output.as_mut_ptr(),
            output.len(),
        )
    }
}

pub fn encrypt(
    workers: &Handle<Workers>,
    secret: (&Handle<Secret>, &[u8]),
    input: &[u8],
    output: &mut [u8],
) -> Status {
    crypt(evener_encrypt, workers, secret, input, output)
}

pub fn decrypt(
    workers: &Handle<Workers>,
    secret: (&Handle<Secret>, &[u8]),
    input: &[u8],
    output: &mut [u8],
) -> Status {
    crypt(evener_decrypt, workers, secret, input, output)
}

pub fn ctr(
    workers: &Handle<Workers>,
    (key, counter): (&[u8], &[u8; 16]),
    at: u64,
    input: &[u8],
    output: &mut [u8],
) -> Status {
    assert_eq!(input.len(), output.len());
    let (input, output, len) = (input.as_ptr(), output.as_mut_ptr(), input.len());
    let (key, key_len, counter) = (key.as_ptr(), key.len(), counter.as_ptr());
    // SAFETY: all are there, and apart.
    unsafe {
        evener_ctr(
            workers.pointer,
            key,
            key_len,
            counter,
            at,
            input,
            output,
            len,
        )
    }
}

pub fn ctr_in_place(
    workers: &Handle<Workers>,
    (key, counter): (&[u8], &[u8; 16]),
    at: u64,
    bytes: &mut [u8],
) -> Status {
    let (place, len) = (bytes.as_mut_ptr(), bytes.len());
    let (key, key_len, counter) = (key.as_ptr(), key.len(), counter.as_ptr());
    // SAFETY: all are there; the output may be the input.
    unsafe {
        evener_ctr(
            workers.pointer,
            key,
            key_len,
            counter,
            at,
            place,
            place,
            len,
        )
    }
}

pub fn file_key(secret: &Handle<Secret>, header: &mut [u8]) -> (Status, *mut FileKey) {
    let (bytes, len, mut made) = (header.as_mut_ptr(), header.len(), null_mut());
    // SAFETY: a secret, no context, a header, and a place for a pointer.
    let status =
        unsafe { evener_file_key_new(secret.pointer, null_mut(), 0, bytes, len, &mut made) };
    (status, made)
}

pub fn new_file_key(secret: &Handle<Secret>, header: &mut [u8]) -> Handle<FileKey> {
    let (status, made) = file_key(secret, header);
    Handle::made(status, made, evener_file_key_free)
}

pub fn open_file_key(secret: &Handle<Secret>, header: &[u8]) -> Handle<FileKey> {
    let (bytes, len, mut made) = (header.as_ptr(), header.len(), null_mut());
    // SAFETY: a secret, no context, a header, and a place for a pointer.
    let status =
        unsafe { evener_file_key_open(secret.pointer, null_mut(), 0, bytes, len, &mut made) };
    Handle::made(status, made, evener_file_key_free)
}

pub fn seal(
    key: &Handle<FileKey>,
    first: u64,
    last: bool,
    text: &[u8],
    sealed: &mut [u8],
) -> Status {
    let (input, len, output) = (text.as_ptr(), text.len(), sealed.as_mut_ptr());
    // SAFETY: all are there, and apart.
    unsafe {
        evener_chunks_seal(
            key.pointer,
            first,
            last.into(),
            input,
            len,
            output,
            sealed.len(),
        )
    }
}

pub fn open(
    key: &Handle<FileKey>,
    first: u64,
    last: bool,
    sealed: &[u8],
    text: &mut [u8],
) -> Status {
    let (input, len, output) = (sealed.as_ptr(), sealed.len(), text.as_mut_ptr());
    // SAFETY: all are there, and apart.
    unsafe {
        evener_chunks_open(
            key.pointer,
            first,
            last.into(),
            input,
            len,
            output,
            text.len(),
        )
    }
}

/// What each function says of what cannot be, and what it left in memory: nothing.
pub fn misuse() -> Vec<(Status, String, &'static str)> {
    let (workers, secret) = (workers(), key(&[3; 32]));
    let (workers, secret) = (workers.pointer, secret.pointer);
    let mut memory = vec![9u8; 1000];
    let start = memory.as_mut_ptr();
    let (text, null) = (std::ptr::null(), null_mut::<u8>());
    let mut said = Vec::new();
    let mut keep = |status, wanted| said.push((status, last_error(), wanted));
    // SAFETY: offsets are within the memory; what is wrong is refused before it is followed.
    unsafe {
        let at = |from: usize| start.add(from);
        let mut seal = |input: *mut u8, len, output, size, wanted| {
            let status = evener_encrypt(workers, secret, text, 0, input, len, output, size);
            keep(status, wanted);
        };
        seal(at(0), 100, at(50), 172, "memory of its own");
        seal(at(500), 100, at(0), 171, "171 bytes, the result 172");
        seal(null, 100, at(0), 172, "the input is null");
        seal(at(0), 100, null, 172, "the output is null");
        seal(at(0), usize::MAX, at(0), 172, "the input has");
        let mut run = |workers, key_len, input: *mut u8, output, wanted| {
            let (key, counter) = (at(900), at(950));
            let status = evener_ctr(workers, key, key_len, counter, 0, input, output, 100);
            keep(status, wanted);
        };
        run(workers, 16, at(0), at(1), "memory of its own");
        run(workers, 16, at(0), at(880), "memory of its own");
        run(workers, 17, at(0), at(200), "17 bytes");
        run(null_mut(), 16, at(0), at(200), "takes no null");
        let mut place = null_mut();
        keep(evener_secret_of_key(null, &mut place), "takes no null");
        keep(evener_secret_of_key(at(0), null_mut()), "no place");
        keep(evener_header_size(secret, null_mut()), "takes no null");
        keep(evener_workers_new(0, null_mut()), "takes no null");
        keep(evener_workers_new(u32::MAX, &mut null_mut()), "workers");
    }
    memory.dedup();
    assert_eq!(memory, [9]);
    said
}
