//! Any range of an encrypted file, from a file and from a pipe: the slice, or an error of one line and no output.

#![no_main]
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;

use evener_crypt::chunked::{CHUNK, FileKey, HEADER, SALT, Scheme, sealed_len};
use evener_crypt::keys::Key;
use evener_crypt::session::{Options, Range, Secret, decrypt};
use evener_runtime::{Runtime, Simd};
use libfuzzer_sys::fuzz_target;

/// So short that all of the file fits in a pipe at once.
const LENGTH: usize = 3 * CHUNK + 100;

struct Fixed {
    text: Vec<u8>,
    sealed: Vec<u8>,
    /// A file without a name, so that nothing is left behind.
    input: File,
    output: PathBuf,
    runtime: Runtime,
}

fn fixed() -> &'static Fixed {
    static FIXED: OnceLock<Fixed> = OnceLock::new();
    FIXED.get_or_init(|| {
        let text: Vec<u8> = (0..LENGTH).map(|i| (i * i >> 7) as u8 ^ i as u8).collect();
        let scheme = Scheme::Cobblestone256;
        let (key, header) =
            FileKey::create(scheme, secret().bytes(), b"", &[1; SALT], Simd::detect())
                .expect("a key");
        let mut sealed = header.to_vec();
        sealed.resize(HEADER + sealed_len(LENGTH, true), 0);
        key.seal(0, &text, true, &mut sealed[HEADER..])
            .expect("short enough");
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let output = folder.join(format!("evener-fuzz-{}", std::process::id()));
        fs::write(&output, &sealed).expect("a file");
        let input = File::open(&output).expect("a file");
        fs::remove_file(&output).expect("a file");
        let runtime = Runtime::builder()
            .workers(2)
            .memory(false)
            .build()
            .expect("threads");
        Fixed {
            text,
            sealed,
            input,
            output,
            runtime,
        }
    })
}

fn secret() -> Key {
    Key::parse(&[b'5'; 64]).expect("64 digits")
}

/// What comes out of a range, or what was said.
fn part(piped: bool, range: Range) -> Result<Vec<u8>, String> {
    let Fixed {
        sealed,
        input,
        output,
        runtime,
        ..
    } = fixed();
    let (read, mut write) = std::io::pipe().expect("a pipe");
    let input = match piped {
        true => {
            write.write_all(sealed).expect("room in the pipe");
            read.as_raw_fd()
        }
        false => input.as_raw_fd(),
    };
    drop(write);
    let input = PathBuf::from(format!("/proc/self/fd/{input}"));
    let secret = Secret::Key(secret());
    let session = decrypt(
        input.as_os_str(),
        output.as_os_str(),
        &secret,
        b"",
        Some(range),
    );
    let done = session.and_then(|session| session.run(runtime, Options::default()));
    // Whoever ended early left something in the pipe.
    drop(read);
    let written = fs::read(output).ok();
    let _ = fs::remove_file(output);
    match (done, written) {
        (Ok(_), Some(written)) => Ok(written),
        (Err(error), None) => Err(error.to_string()),
        (done, written) => panic!(
            "{range:?}: {:?}, and a file: {}",
            done.err(),
            written.is_some()
        ),
    }
}

fuzz_target!(|data: &[u8]| {
    let (numbers, rest) = data.split_at(data.len().min(17));
    let range = match std::str::from_utf8(rest)
        .unwrap_or_default()
        .parse::<Range>()
    {
        Ok(range) => range,
        Err(message) => {
            assert!(!message.is_empty());
            let number = |at: usize| {
                let mut bytes = [0; 8];
                let from = numbers.get(at..).unwrap_or_default();
                let from = &from[..from.len().min(8)];
                bytes[..from.len()].copy_from_slice(from);
                u64::from_le_bytes(bytes)
            };
            let kind = numbers.first().copied().unwrap_or(0);
            // Most of all numbers lie far beyond the end.
            let near = |n: u64| {
                if kind & 4 == 0 {
                    n % (LENGTH as u64 + 3)
                } else {
                    n
                }
            };
            match kind & 16 {
                0 => Range::Between {
                    from: near(number(1)),
                    to: (kind & 8 == 0).then(|| near(number(9))),
                },
                _ => Range::Last(near(number(1))),
            }
        }
    };
    let length = LENGTH as u64;
    let (from, to) = match range {
        Range::Between { from, to } => (from, to.unwrap_or(length)),
        Range::Last(count) => (length.saturating_sub(count), length),
    };
    for piped in [false, true] {
        let possible = from <= to && to <= length && !(piped && matches!(range, Range::Last(_)));
        let wanted = possible.then(|| &fixed().text[from as usize..to as usize]);
        match part(piped, range) {
            Ok(text) => assert!(wanted == Some(&text[..]), "{range:?}, pipe: {piped}"),
            Err(said) => {
                assert!(wanted.is_none(), "{range:?}, pipe: {piped}: {said}");
                assert!(!said.contains('\n'), "{said}");
            }
        }
    }
});
