//! How commands end when their standard streams or signals misbehave.

mod changed;
mod closed;
mod plans;
mod readers;
mod scripts;
pub mod stuck;

use crate::run::Folder;

/// Commands that write much to the standard output, and what they need: a key, and files of 4 MiB.
const STREAMS: [&str; 9] = [
    "filter blur -i testsrc:640x480:10000000 -o -",
    "encode -i testsrc:640x480:10000000 -o - --preset ultrafast --qp 10",
    "encrypt -k key /dev/zero",
    "decrypt -k key sealed",
    "ctr --key 000102030405060708090a0b0c0d0e0f --iv 000102030405060708090a0b0c0d0e0f /dev/zero",
    "product encrypt --key 000102030405060708090a0b0c0d0e0f /dev/zero",
    "image pack disk -",
    "image unpack disk -",
    "queens 17 --show 100000000",
];

/// What they need.
fn needs() -> Folder {
    let folder = Folder::new();
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    // Nothing that can be packed: it has to come out as long as it is.
    let noise: Vec<u8> = (0..4 << 20).map(|_| next()).collect();
    folder.file("disk", noise);
    folder.line("keygen -o key").succeeded();
    folder.line("encrypt -k key disk -o sealed").succeeded();
    folder
}
