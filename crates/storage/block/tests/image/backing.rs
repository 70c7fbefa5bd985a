//! Which file is under an image: one from a server or in a tar chooses none of this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use evener_block::session::{
    OpenOptions, Options, PackOptions, SessionError, info, pack, unpack, verify,
};

use crate::common::{Folder, fixture, runtime, same, sample};
use crate::{ranges, tars};

/// A qcow2 image of one cluster's worth of nothing, over a raw file of this name.
fn over(name: &str, size: u64) -> Vec<u8> {
    let cluster = 65_536u64;
    let mut image = vec![0; 4 * cluster as usize];
    let name_at = 0x200u64;
    image[..4].copy_from_slice(b"QFI\xfb");
    for (at, number) in [
        (4, 3),
        (16, name.len() as u32),
        (20, 16),
        (36, 1),
        (56, 1),
        (96, 4),
        (100, 104),
    ] {
        image[at..at + 4].copy_from_slice(&number.to_be_bytes());
    }
    for (at, number) in [(8, name_at), (24, size), (40, cluster), (48, 2 * cluster)] {
        image[at..at + 8].copy_from_slice(&number.to_be_bytes());
    }
    image[104..108].copy_from_slice(&0xe279_2acau32.to_be_bytes());
    image[108..112].copy_from_slice(&3u32.to_be_bytes());
    image[112..115].copy_from_slice(b"raw");
    image[name_at as usize..][..name.len()].copy_from_slice(name.as_bytes());
    image
}

fn opened(folder: &Folder, input: &OsStr, options: &OpenOptions) -> Result<Vec<u8>, SessionError> {
    let output = folder.path("unpacked");
    let session = unpack(input, output.as_os_str(), options.clone(), &[])?;
    session.run(runtime(), Options::default())?;
    Ok(fs::read(output).unwrap())
}

fn served(bytes: Vec<u8>) -> String {
    ranges::server(move |_, asked| ranges::part(&bytes, asked.start..asked.end.min(bytes.len())))
}

#[test]
fn an_image_from_elsewhere_opens_no_file_of_this_machine() {
    let folder = Folder::in_memory();
    let secret = folder.file("secret", sample());
    let size = sample().len() as u64;
    let absolute = secret.to_str().unwrap();
    for name in [absolute, "secret", "file:secret", "../secret"] {
        let image = over(name, size);
        let url = served(image.clone());
        let tar = folder.file("d.tar", tars::tar(&[("disk.qcow2", b'0', &image)]));
        let tar_url = served(fs::read(&tar).unwrap());
        for input in [url.as_ref(), tar.as_os_str(), tar_url.as_ref()] {
            let input: &OsStr = input;
            let plain = OpenOptions::default();
            let errors = [
                opened(&folder, input, &plain).map(drop),
                info(input, plain.clone()).map(drop),
                verify(input, plain.clone()).map(drop),
                pack(
                    input,
                    folder.path("out").as_os_str(),
                    &PackOptions::default(),
                )
                .map(drop),
            ];
            for error in errors {
                let error = error.unwrap_err().to_string();
                assert!(
                    error.contains("--backing FILE") && error.contains(name),
                    "{}: {error}",
                    input.display()
                );
                assert_eq!(error.lines().count(), 1, "{error}");
            }
            // By hand it is opened.
            let chosen = OpenOptions {
                backing: Some(secret.clone()),
                ..plain
            };
            let got = opened(&folder, input, &chosen).unwrap();
            same(&got, &sample(), name);
            fs::remove_file(folder.path("unpacked")).unwrap();
        }
    }
    assert!(!folder.path("out").exists());
}

#[test]
fn a_file_by_hand_is_under_an_image_whatever_that_names() {
    let folder = Folder::in_memory();
    let size = sample().len() as u64;
    let under = folder.file("under", sample());
    let chosen = |path: &Path| OpenOptions {
        backing: Some(path.to_owned()),
        ..OpenOptions::default()
    };
    for name in ["missing", "nbd://server/disk", "json:{}"] {
        let image = folder.file("top.qcow2", over(name, size));
        same(
            &opened(&folder, image.as_os_str(), &chosen(&under)).unwrap(),
            &sample(),
            name,
        );
        fs::remove_file(folder.path("unpacked")).unwrap();
    }
    // It is no output, must be there, and be of use.
    let image = folder.file("top.qcow2", over("missing", size));
    let error = unpack(image.as_os_str(), under.as_os_str(), chosen(&under), &[])
        .err()
        .unwrap();
    assert!(error.to_string().contains("is an input as well"), "{error}");
    let error = opened(&folder, image.as_os_str(), &chosen(&folder.path("none"))).unwrap_err();
    assert!(error.to_string().contains("none: cannot open"), "{error}");
    let alone = fixture("zlib.qcow2");
    let error = opened(&folder, alone.as_os_str(), &chosen(&under)).unwrap_err();
    assert!(
        error.is_request() && error.to_string().contains("has no backing file"),
        "{error}"
    );
    // It names none itself but by the rules.
    let forbidden = OpenOptions {
        no_backing: true,
        ..chosen(&under)
    };
    let error = opened(&folder, image.as_os_str(), &forbidden).unwrap_err();
    assert!(error.to_string().contains("--no-backing"), "{error}");
}
