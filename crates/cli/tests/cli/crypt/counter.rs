//! Counter mode.

use std::process::Command;

use super::{CHUNK, MIB, fed, piped, same, text};
use crate::run::Folder;
use crate::terminal::on_terminal;

const KEY: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
const IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

#[test]
fn the_example_of_the_standard() {
    // NIST SP 800-38A, F.5.5.
    let plain = [
        0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17,
        0x2a,
    ];
    let sealed = [
        0x60, 0x1e, 0xc3, 0x13, 0x77, 0x57, 0x89, 0xa5, 0xb7, 0xa7, 0xf5, 0x04, 0xbb, 0xf3, 0xd2,
        0x28,
    ];
    let folder = Folder::new();
    let line = format!("ctr --key {KEY} --iv {IV}");
    assert_eq!(piped(&folder, &line, &plain).succeeded().stdout, sealed);
    assert_eq!(piped(&folder, &line, &sealed).succeeded().stdout, plain);
}

/// What openssl makes of a text; nothing if there is no openssl.
fn openssl(bits: usize, key: &str, iv: &str, text: &[u8]) -> Option<Vec<u8>> {
    let cipher = format!("-aes-{bits}-ctr");
    if Command::new("openssl").arg("version").output().is_err() {
        evener_testing::skip("there is no openssl to compare with");
        return None;
    }
    let mut command = Command::new("openssl");
    command.args(["enc", &cipher, "-K", key, "-iv", iv]);
    Some(fed(&mut command, text).succeeded().stdout.clone())
}

#[test]
fn the_bytes_are_those_of_openssl() {
    let folder = Folder::new();
    let all = text(2 * MIB + 5);
    for bits in [128, 192, 256] {
        for iv in [
            IV,
            "ffffffffffffffffffffffffffffffff",
            "00000000000000000000fffffffffffe",
        ] {
            for length in [0, 1, 15, 16, 17, CHUNK - 1, CHUNK, MIB, 2 * MIB + 5] {
                let (key, text) = (&KEY[..bits / 4], &all[..length]);
                let Some(wanted) = openssl(bits, key, iv, text) else {
                    return;
                };
                let line = format!("ctr --key {key} --iv {iv}");
                let done = piped(&folder, &line, text);
                same(
                    &done.succeeded().stdout,
                    &wanted,
                    &format!("{line}, {length} bytes"),
                );
            }
        }
    }
}

#[test]
fn any_place_in_the_stream() {
    let folder = Folder::new();
    let text = text(MIB + 99);
    let from_start = piped(&folder, &format!("ctr --key {KEY} --iv {IV}"), &text);
    for at in [
        1,
        15,
        16,
        17,
        CHUNK - 1,
        CHUNK,
        500_000,
        MIB,
        MIB + 98,
        MIB + 99,
    ] {
        folder.file("part", &text[at..]);
        let line = format!("ctr --key {KEY} --iv {IV} --at {at} part");
        let done = folder.line(&line);
        same(&done.succeeded().stdout, &from_start.stdout[at..], &line);
    }
    // Far away the counter itself says what is right, and openssl begins at it.
    let iv = u128::from_str_radix(IV, 16).unwrap();
    for at in [(4u64 << 30) - 16, 4 << 30, 5 << 30, 1 << 45, (1 << 63) - 32] {
        let there = format!("{:032x}", iv.wrapping_add(u128::from(at / 16)));
        let Some(wanted) = openssl(256, KEY, &there, &text[..1000]) else {
            return;
        };
        for skip in [0, 7] {
            let line = format!("ctr --key {KEY} --iv {IV} --at {}", at + skip as u64);
            let done = piped(&folder, &line, &text[skip..1000]);
            same(&done.succeeded().stdout, &wanted[skip..], &line);
        }
    }
}

#[test]
fn a_terminal_is_told_that_nothing_is_authenticated() {
    let line = format!("ctr --key {KEY} --iv {IV} -o out");
    let seen = on_terminal(&line, "dumb", 120);
    assert!(
        seen.starts_with("evener: note: counter mode does not detect changes"),
        "{seen}"
    );
    let folder = Folder::new();
    let said = folder.line(&line).succeeded().stderr.clone();
    assert!(!said.contains("note"), "{said}");
}

#[test]
fn keys_and_counters_that_cannot_be() {
    let folder = Folder::new();
    folder.file("plain", "text");
    let odd = &KEY[..63];
    for (flags, parts) in [
        (format!("--key {KEY}"), &["--iv"][..]),
        (format!("--iv {IV}"), &["--key"]),
        (
            format!("--key {odd} --iv {IV}"),
            &["--key", "63 hexadecimal digits"],
        ),
        (
            format!("--key {KEY}ab --iv {IV}"),
            &["the key has 33 bytes"],
        ),
        (format!("--key 00 --iv {IV}"), &["the key has 1 bytes"]),
        (format!("--key {KEY} --iv {KEY}"), &["(IV) has 32 bytes"]),
        (
            format!("--key {}xy --iv {IV}", &KEY[..62]),
            &["--key", "character 63"],
        ),
        (format!("--key {KEY} --iv {IV} --at=-1"), &["--at"]),
        (
            format!("--key {KEY} --iv {IV} --at 9223372036854775808"),
            &["--at"],
        ),
        (format!("--key {KEY} --iv {IV} --at x"), &["--at"]),
    ] {
        folder
            .line(&format!("ctr {flags} plain -o out"))
            .failed(2, parts);
    }
    assert_eq!(folder.names(), ["plain"]);
}
