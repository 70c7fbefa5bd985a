//! What the tests have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use evener_block::codec::Codec;
use evener_block::format::Format;
use evener_block::session::{OpenOptions, Options, PackOptions, SessionError, Verified};
use evener_block::session::{pack, unpack, verify};
use evener_block::{Decoder, Error, Image};
use evener_runtime::{Choice, Runtime};
pub use evener_testing::Folder;

/// Whether a program is there; otherwise a note is printed.
pub fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        evener_testing::skip(format_args!("{program} is not installed"));
    }
    found.is_ok()
}

/// What all fixtures hold: text, zeros, and something that hardly shrinks.
pub fn sample() -> Vec<u8> {
    let mut bytes = vec![0; 41_472];
    for (i, byte) in bytes[..16384].iter_mut().enumerate() {
        *byte = match i % 512 < 200 {
            true => (((i * i) >> 7) ^ i) as u8,
            false => (i >> 9) as u8,
        };
    }
    for (i, byte) in bytes.iter_mut().enumerate().skip(32768) {
        *byte = ((i as u32).wrapping_mul(2_654_435_761) >> 13) as u8;
    }
    bytes
}

/// Workers for all tests.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::builder().workers(2).memory(false).build().unwrap())
}

pub fn plan(text: &str) -> Choice {
    text.parse().unwrap()
}

/// Packs `plain` and gives the bytes of the container.
pub fn packed(folder: &Folder, plain: &[u8], codec: &str, block: u32, how: &str) -> Vec<u8> {
    let input = folder.file("plain", plain);
    let output = folder.path("packed");
    let options = PackOptions {
        codec: Codec::of_name(codec).unwrap(),
        block,
        open: known(&evener_block::format::RAW),
        ..PackOptions::default()
    };
    let session = pack(input.as_os_str(), output.as_os_str(), &options).unwrap();
    let run = Options {
        plan: plan(how),
        ..Options::default()
    };
    let (told, _) = session.run(runtime(), run).unwrap();
    let bytes = fs::read(output).unwrap();
    assert_eq!(told.size, plain.len() as u64);
    assert_eq!(told.packed_size, bytes.len() as u64);
    bytes
}

/// All of an image, block by block, each compared with what was stored beside it.
pub fn read_all(image: &Image) -> Result<Vec<u8>, Error> {
    let mut decoder = Decoder::new();
    let mut all = Vec::new();
    while (all.len() as u64) < image.size() {
        let at = all.len() as u64;
        let mut block = image.block(at)?;
        assert!(
            block.start <= at && at < block.start + block.len,
            "{block:?}"
        );
        if let evener_block::Place::Zero { packed: None } = block.place {
            block.len -= at - block.start;
            block.start = at;
        }
        assert_eq!(block.start, at);
        assert!(block.len < 1 << 30, "too much for a test: {block:?}");
        let from = all.len();
        all.resize(from + block.len as usize, 0xaa);
        image.read_block(&mut decoder, &block, &mut all[from..])?;
        image.check(&block, &all[from..])?;
    }
    Ok(all)
}

pub fn verified(path: &Path) -> Result<Verified, SessionError> {
    let session = verify(path.as_os_str(), OpenOptions::default())?;
    Ok(session.run(runtime(), Options::default())?.0)
}

pub fn unpacked(folder: &Folder, path: &Path, how: &str) -> Result<Vec<u8>, SessionError> {
    let output = folder.path("unpacked");
    let session = unpack(
        path.as_os_str(),
        output.as_os_str(),
        OpenOptions::default(),
        &[],
    )?;
    let run = Options {
        plan: plan(how),
        ..Options::default()
    };
    session.run(runtime(), run)?;
    Ok(fs::read(output).unwrap())
}

/// Compares without printing megabytes.
#[track_caller]
pub fn same(got: &[u8], wanted: &[u8], what: &str) {
    let at = got.iter().zip(wanted).position(|(a, b)| a != b);
    let (length, expected) = (got.len(), wanted.len());
    assert!(
        got == wanted,
        "{what}: {length} bytes for {expected}, differing at {at:?}"
    );
}

/// The fixture of that name.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// An image is opened as one of this format.
pub fn known(format: &'static Format) -> OpenOptions {
    OpenOptions {
        format: Some(format),
        ..OpenOptions::default()
    }
}
