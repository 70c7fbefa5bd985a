//! Encryption of files and of memory.

use std::io::{self, Read};
use std::path::PathBuf;

use evener_crypt::bulk::Operation;
use evener_crypt::keys;
use evener_crypt::session::{
    self, Decryption, Error, Memory, Options, Secret, key_file, new_key_file,
};
use evener_runtime::Runtime;
use evener_runtime::buffer::Rows;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::beside::{self, Beside};
use crate::errors::{self, CryptError};
use crate::lend::{self, Access, Loan};
use crate::report;
use crate::setup::Setup;

/// A 256-bit key. It is wiped from memory after its last use, and never printed.
#[pyclass(frozen, module = "evener")]
pub struct Key(keys::Key);

#[pymethods]
impl Key {
    /// Returns a new random key from the operating system.
    #[staticmethod]
    fn generate() -> PyResult<Key> {
        let key = keys::Key::generate();
        key.map(Key)
            .map_err(|error| errors::of::<CryptError>(&error))
    }

    /// Loads a key from a file written by `create` or `evener keygen`.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Key> {
        match key_file(&path, "".as_ref()) {
            Ok((Secret::Key(key), _)) => Ok(Key(key)),
            Ok((Secret::Passphrase(_), _)) => unreachable!("a file of a key has no passphrase"),
            Err(error) => Err(failure(&error)),
        }
    }

    /// Writes a new key to a new file that only its owner can read, and returns the key.
    #[staticmethod]
    fn create(path: PathBuf) -> PyResult<Key> {
        new_key_file(&path).map_err(|error| failure(&error))?;
        Key::load(path)
    }

    /// Returns the key with these 32 bytes, which must be random.
    #[staticmethod]
    fn from_bytes(key: &[u8]) -> PyResult<Key> {
        let key = key
            .try_into()
            .map_err(|_| PyValueError::new_err(format!("a key of {} bytes: give 32", key.len())))?;
        Ok(Key(keys::Key::of_bytes(key)))
    }

    fn __repr__(&self) -> &'static str {
        "evener.Key(..)"
    }
}

/// The given secret: a key or a passphrase.
fn secret(key: Option<&Bound<'_, Key>>, passphrase: Option<&str>) -> PyResult<Secret> {
    match (key, passphrase) {
        (Some(key), None) => Ok(Secret::Key(key.get().0.clone())),
        (None, Some(text)) => {
            let text = Zeroizing::new(text.as_bytes().to_vec());
            Secret::passphrase(text).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        _ => Err(PyValueError::new_err("give a key or a passphrase")),
    }
}

fn failure(error: &Error) -> PyErr {
    match error.is_request() {
        true => PyValueError::new_err(error.to_string()),
        false => errors::of::<CryptError>(error),
    }
}

/// Encrypts or decrypts a file into another one. `range` selects decrypted bytes.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // The package calls it by name.
pub fn _crypt_file<'py>(
    py: Python<'py>,
    encrypt: bool,
    input: PathBuf,
    output: PathBuf,
    key: Option<Bound<'py, Key>>,
    passphrase: Option<String>,
    context: Vec<u8>,
    range: Option<(u64, Option<u64>)>,
    workers: Option<u32>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let secret = secret(key.as_ref(), passphrase.as_deref())?;
    let setup = Setup::new("auto", workers, "auto")?;
    let (input, output) = (input.as_os_str(), output.as_os_str());
    let range = range.map(|(from, to)| session::Range::Between { from, to });
    let report = beside::run(py, progress.as_ref(), |beside| {
        let runtime = setup.runtime()?;
        match encrypt {
            true => run_file(
                session::encrypt(input, output, &secret, &context),
                &runtime,
                &setup,
                beside,
            ),
            false => match session::decrypt(input, output, &secret, &context, range) {
                Ok(Decryption::Chunked(session)) => run_file(Ok(session), &runtime, &setup, beside),
                Ok(Decryption::Age(session)) => run_file(Ok(session), &runtime, &setup, beside),
                Err(error) => Err(failure(&error)),
            },
        }
    })??;
    report::of(py, &report.to_string(), &report)
}

/// Encrypts or decrypts a file in counter mode.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // The package calls it by name.
pub fn _ctr_file<'py>(
    py: Python<'py>,
    input: PathBuf,
    output: PathBuf,
    key: Vec<u8>,
    iv: Vec<u8>,
    at: u64,
    workers: Option<u32>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let key = Zeroizing::new(key);
    let setup = Setup::new("auto", workers, "auto")?;
    let (input, output) = (input.as_os_str(), output.as_os_str());
    let report = beside::run(py, progress.as_ref(), |beside| {
        let session = session::counter(input, output, (&key, &iv), at);
        run_file(session, &setup.runtime()?, &setup, beside)
    })??;
    report::of(py, &report.to_string(), &report)
}

fn run_file<O: Operation + 'static>(
    session: Result<session::Session<O>, Error>,
    runtime: &Runtime,
    setup: &Setup,
    beside: Beside,
) -> PyResult<evener_runtime::Report> {
    let session = session.map_err(|error| failure(&error))?;
    let options = Options {
        plan: setup.plan.clone(),
        workers: setup.workers,
        on_progress: beside.on_progress(session.bytes()),
        cancel: beside.cancel,
    };
    session
        .run(runtime, options)
        .map_err(|error| failure(&error))
}

/// Encrypts or decrypts memory.
#[pyfunction]
pub fn _crypt_bytes<'py>(
    py: Python<'py>,
    encrypt: bool,
    data: &Bound<'py, PyAny>,
    key: Option<Bound<'py, Key>>,
    passphrase: Option<String>,
    context: Vec<u8>,
    workers: Option<u32>,
) -> PyResult<Bound<'py, PyBytes>> {
    let secret = secret(key.as_ref(), passphrase.as_deref())?;
    let setup = Setup::new("auto", workers, "auto")?;
    let (reader, len) = reader(data)?;
    match encrypt {
        true => {
            let session = py.detach(|| Memory::encrypt(reader, len, &secret, &context));
            run_memory(py, session, &setup)
        }
        false => {
            let session = py.detach(|| Memory::decrypt(reader, len, &secret, &context));
            run_memory(py, session, &setup)
        }
    }
}

/// Encrypts or decrypts memory in counter mode.
#[pyfunction]
pub fn _ctr_bytes<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    key: Vec<u8>,
    iv: Vec<u8>,
    at: u64,
    workers: Option<u32>,
) -> PyResult<Bound<'py, PyBytes>> {
    let key = Zeroizing::new(key);
    let setup = Setup::new("auto", workers, "auto")?;
    let (reader, len) = reader(data)?;
    run_memory(py, Memory::counter(reader, len, (&key, &iv), at), &setup)
}

fn run_memory<'py, O: Operation + 'static>(
    py: Python<'py>,
    session: Result<Memory<O, LoanReader>, Error>,
    setup: &Setup,
) -> PyResult<Bound<'py, PyBytes>> {
    let session = session.map_err(|error| failure(&error))?;
    let len = usize::try_from(session.bytes()).expect("as much as was read, and a little");
    let result = PyBytes::new_with(py, len, |bytes| {
        beside::run(py, None, |beside| {
            let options = Options {
                plan: setup.plan.clone(),
                workers: setup.workers,
                on_progress: None,
                cancel: beside.cancel,
            };
            let run = session.run(bytes, &setup.runtime()?, options);
            run.map_err(|error| failure(&error)).map(drop)
        })?
    });
    lend::collect(py);
    result
}

/// The bytes of an object, lent.
struct LoanReader {
    bytes: Rows<u8>,
    at: usize,
}

impl Read for LoanReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes.read();
        let rest = &bytes[self.at..];
        let len = rest.len().min(room.len());
        room[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// Lends the memory of `data`, and returns its number of bytes.
fn reader(data: &Bound<'_, PyAny>) -> PyResult<(LoanReader, u64)> {
    let buffer = PyUntypedBuffer::get(data)?;
    if !buffer.is_c_contiguous() {
        buffer.release(data.py());
        return Err(PyValueError::new_err(
            "data is not contiguous; give bytes(data)",
        ));
    }
    let len = buffer.len_bytes();
    let loan = Loan::new(data.py(), buffer, Access::Read);
    let loan = loan.map_err(|why| errors::refused("data", &why))?;
    let rows = usize::from(len > 0);
    let bytes = Rows::lent(loan.lent(0, len), len, len, rows);
    Ok((LoanReader { bytes, at: 0 }, len as u64))
}
