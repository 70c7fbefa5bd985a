//! Inputs and outputs by name: what is created where, what is refused, and what stays.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use evener_files::SourceFile;
use evener_image::exec::service::FilterService;
use evener_image::graph::{Graph, Planes};
use evener_image::io::y4m::{Reader, Writer};
use evener_image::io::{Error, Input, Output, TestSource, create_output, open_input};
use evener_image::{Format, Frame, Ratio, Timing};
use evener_runtime::stream::Source;
use evener_testing::Folder;

use crate::y4m::noise;
use crate::{bytes_of, format, text};

fn small() -> Format {
    format("420jpeg", 6, 4)
}

/// Writes `count` frames to `path` under its name.
fn make(path: &Path, count: usize) {
    let mut writer = Writer::create(path).unwrap();
    for _ in 0..count {
        writer.write(&Frame::new(&small())).unwrap();
    }
    writer.finish().unwrap();
}

fn create(path: &Path) -> Result<Output, Error> {
    create_output(path, &small(), &Timing::default(), &SourceFile::default())
}

#[test]
fn a_file_appears_when_it_is_finished() {
    let folder = Folder::new();
    let path = folder.path("out.y4m");
    let mut output = create(&path).unwrap();
    output.write(&Frame::new(&small())).unwrap();
    assert!(!path.exists());
    output.finish().unwrap();
    output.finish().unwrap();
    drop(output);
    assert_eq!(folder.names(), ["out.y4m"]);
    assert_eq!(Reader::open(&path).unwrap().frames(), Some(1));
}

#[test]
fn a_stream_that_is_given_up_leaves_what_was_there() {
    let folder = Folder::new();
    let path = folder.path("out.y4m");
    for abort in [true, false] {
        let mut output = create(&path).unwrap();
        output.write(&Frame::new(&small())).unwrap();
        if abort {
            output.abort()
        } else {
            drop(output)
        }
        assert_eq!(folder.names(), [""; 0]);
    }
    make(&path, 3);
    let mut output = create(&path).unwrap();
    output.write(&Frame::new(&small())).unwrap();
    assert_eq!(
        Reader::open(&path).unwrap().frames(),
        Some(3),
        "the old file stays meanwhile"
    );
    output.abort();
    assert_eq!(Reader::open(&path).unwrap().frames(), Some(3));
}

#[test]
fn a_replaced_file_keeps_its_rights_and_its_links() {
    let folder = Folder::new();
    let (path, link, nowhere) = (
        folder.path("real.y4m"),
        folder.path("link.y4m"),
        folder.path("nowhere.y4m"),
    );
    make(&path, 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.y4m", &link).unwrap();
    make(&link, 2);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    assert_eq!(Reader::open(&path).unwrap().frames(), Some(2));
    // A link to a file that is not there yet makes that file.
    symlink("new.y4m", &nowhere).unwrap();
    make(&nowhere, 4);
    assert_eq!(
        Reader::open(folder.path("new.y4m")).unwrap().frames(),
        Some(4)
    );
    assert!(fs::symlink_metadata(&nowhere).unwrap().is_symlink());
}

#[test]
fn pipes_and_devices_are_written_in_place() {
    let folder = Folder::new();
    let fifo = folder.path("fifo.mp4");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let from = fifo.clone();
    let reading = std::thread::spawn(move || {
        let mut input = open_input(&from).unwrap();
        assert!(matches!(input, Input::Y4m(_)));
        let mut frame = Frame::new(input.format());
        let mut count = 0;
        while input.read(&mut frame).unwrap() {
            count += 1;
        }
        count
    });
    let mut output = create(&fifo).unwrap();
    for _ in 0..5 {
        output.write(&Frame::new(&small())).unwrap();
    }
    output.finish().unwrap();
    drop(output);
    assert_eq!(reading.join().unwrap(), 5);
    assert_eq!(folder.names(), ["fifo.mp4"]);

    let mut output = create(Path::new("/dev/null")).unwrap();
    assert!(matches!(output, Output::Y4m(_)));
    output.write(&Frame::new(&small())).unwrap();
    output.finish().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_says_so() {
    let mut output = create(Path::new("/dev/full")).unwrap();
    let error = output.write(&Frame::new(&small())).err().unwrap();
    assert!(matches!(error, Error::NoSpace { frames: 0, .. }), "{error}");
}

#[test]
fn the_input_is_not_overwritten_by_any_of_its_names() {
    let folder = Folder::new();
    let (path, hard, soft) = (
        folder.path("in.y4m"),
        folder.path("hard.y4m"),
        folder.path("soft.mkv"),
    );
    make(&path, 1);
    fs::hard_link(&path, &hard).unwrap();
    symlink(&path, &soft).unwrap();
    let input = open_input(&path).unwrap();
    assert!(input.id().is_some());
    let round = folder
        .path("../")
        .join(folder.root().file_name().unwrap())
        .join("in.y4m");
    for name in [&path, &hard, &soft, &round] {
        let error = create_output(name, &small(), &Timing::default(), &input.source_file()).err();
        assert!(
            matches!(
                error,
                Some(Error::File(evener_files::Error::SameFile { .. }))
            ),
            "{name:?}: {error:?}"
        );
    }
    let other = folder.path("other.y4m");
    assert!(create_output(&other, &small(), &Timing::default(), &input.source_file()).is_ok());
}

#[test]
fn what_cannot_be_opened_is_told_in_a_line_with_its_path() {
    let folder = Folder::new();
    make(&folder.path("file.y4m"), 1);
    fs::write(folder.path("text.y4m"), "not video").unwrap();
    fs::create_dir(folder.path("dir.y4m")).unwrap();
    let inputs = [
        "missing.y4m",
        "missing.mp4",
        "dir.y4m",
        "text.y4m",
        "file.y4m/x.y4m",
    ];
    let outputs = [
        "none/out.y4m",
        "dir.y4m",
        "file.y4m/out.y4m",
        "new/",
        "noextension",
        "list.m3u8",
    ];
    let messages = inputs
        .iter()
        .map(|name| (name, open_input(folder.path(name)).err()))
        .chain(
            outputs
                .iter()
                .map(|name| (name, create(&folder.path(name)).err())),
        );
    for (name, error) in messages {
        let message = error
            .unwrap_or_else(|| panic!("{name} was accepted"))
            .to_string();
        let path = folder.path(name);
        assert!(message.starts_with(text(&path)), "{message}");
        assert!(
            !message.contains('\n') && !message.contains("os error"),
            "{message}"
        );
    }
    assert_eq!(folder.names(), ["dir.y4m", "file.y4m", "text.y4m"]);
    for name in ["null:", "null:x"] {
        assert!(open_input(name).is_err());
    }
    assert!(create(Path::new("")).is_err());
    assert!(create(Path::new("https://example.org/out.y4m")).is_err());
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let folder = Folder::new();
    let path = folder.path("mine.y4m");
    make(&path, 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::File::options().write(true).open(&path).is_ok() {
        evener_testing::skip("this user may write everything");
        return;
    }
    let error = create(&path).err().unwrap();
    assert!(
        matches!(error, Error::File(evener_files::Error::Create { .. })),
        "{error}"
    );
}

#[test]
fn y4m_is_known_by_its_first_bytes_too() {
    let folder = Folder::new();
    let (path, plain) = (folder.path("in.y4m"), folder.path("no extension"));
    make(&path, 7);
    fs::copy(&path, &plain).unwrap();
    let input = open_input(&plain).unwrap();
    assert!(matches!(input, Input::Y4m(_)));
    assert_eq!(input.frames(), Some(7));
    let upper = folder.path("OUT.Y4M");
    assert!(matches!(create(&upper).unwrap(), Output::Y4m(_)));
}

#[test]
fn the_number_of_frames_is_known_only_where_it_is_sure() {
    let folder = Folder::new();
    let path = folder.path("in.y4m");
    make(&path, 3);
    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(Reader::open(&path).unwrap().frames(), Some(3));
    bytes.truncate(bytes.len() - 1);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Reader::open(&path).unwrap().frames(), None);
    let header = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
    fs::write(&path, &bytes[..header]).unwrap();
    assert_eq!(Reader::open(&path).unwrap().frames(), Some(0));
}

#[test]
fn timing_goes_from_input_to_output() {
    let folder = Folder::new();
    let (a, b) = (folder.path("a.y4m"), folder.path("b.y4m"));
    let timing = Timing {
        rate: Ratio {
            num: 30000,
            den: 1001,
        },
        aspect: Some(Ratio { num: 4, den: 3 }),
        range_named: true,
        interlace: 't',
        ..Timing::default()
    };
    create_output(&a, &small(), &timing, &SourceFile::default())
        .unwrap()
        .finish()
        .unwrap();
    let input = open_input(&a).unwrap();
    create_output(&b, input.format(), input.timing(), &SourceFile::default())
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(*open_input(&b).unwrap().timing(), timing);
    assert_eq!(fs::read(a).unwrap(), fs::read(b).unwrap());
}

#[test]
fn a_synthetic_scene_goes_to_a_file_and_back() {
    let folder = Folder::new();
    let path = folder.path("scene.y4m");
    let mut source = open_input("testsrc:101x57:9:422p10").unwrap();
    let mut output = create_output(
        &path,
        source.format(),
        source.timing(),
        &SourceFile::default(),
    )
    .unwrap();
    let mut frame = Frame::new(source.format());
    while source.read(&mut frame).unwrap() {
        output.write(&frame).unwrap();
    }
    output.finish().unwrap();
    assert_eq!((source.frames(), output.frames()), (Some(9), 9));

    let mut again = TestSource::parse("testsrc:101x57:9:422p10").unwrap();
    let mut input = open_input(&path).unwrap();
    let mut read = Frame::new(input.format());
    while again.read(&mut frame).unwrap() {
        assert!(input.read(&mut read).unwrap());
        assert_eq!(crate::bytes_of(&read), crate::bytes_of(&frame));
    }
    assert!(!input.read(&mut read).unwrap());
    let mut header = String::new();
    fs::File::open(&path)
        .unwrap()
        .take(40)
        .read_to_string(&mut header)
        .unwrap_or_default();
    assert!(
        header.starts_with("YUV4MPEG2 W101 H57 F25:1 Ip"),
        "{header}"
    );
}

#[test]
fn null_counts_and_keeps_nothing() {
    let mut output = create_output(
        "null:",
        &small(),
        &Timing::default(),
        &SourceFile::default(),
    )
    .unwrap();
    for _ in 0..3 {
        output.write(&Frame::new(&small())).unwrap();
    }
    output.finish().unwrap();
    assert_eq!((output.frames(), output.name()), (3, "null:"));
}

/// A file of `count` frames whose planes all differ, behind `line`, and a reader of its luma.
fn luma_of(path: &Path, count: usize, line: &str) -> (Format, Vec<Vec<u8>>, Reader<fs::File>) {
    let format = format("420jpeg", 64, 48);
    let frames: Vec<Vec<u8>> = (0..count)
        .map(|i| noise(i as u64, format.frame_bytes()))
        .collect();
    let mut bytes = b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\n".to_vec();
    for frame in &frames {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(frame);
    }
    fs::write(path, bytes).unwrap();
    let mut reader = Reader::open(path).unwrap();
    reader.want_planes(1);
    (format, frames, reader)
}

#[test]
fn planes_nobody_wants_are_passed_over() {
    let folder = Folder::new();
    let path = folder.path("in.y4m");
    for line in ["FRAME\n", "FRAME Ip XSOMETHING=OTHER_AND_LONGER_STILL\n"] {
        let (format, frames, mut reader) = luma_of(&path, 5, line);
        let mut frame = Frame::new(&format);
        for expected in &frames {
            frame.plane_bytes_mut(1).fill(7);
            frame.plane_bytes_mut(2).fill(7);
            assert!(reader.read(&mut frame).unwrap());
            assert!(frame.plane_bytes(0)[..] == expected[..64 * 48]);
            assert!(frame.plane_bytes(1).iter().all(|&code| code == 7));
            assert!(frame.plane_bytes(2).iter().all(|&code| code == 7));
        }
        assert!(!reader.read(&mut frame).unwrap());
        let (_, frames, mut reader) = luma_of(&path, 3, line);
        reader.want_planes(3);
        for expected in frames {
            assert!(reader.read(&mut frame).unwrap());
            assert!(bytes_of(&frame) == expected);
        }
    }
}

#[test]
fn a_stream_passes_over_what_its_graph_does_not_read() {
    let folder = Folder::new();
    let path = folder.path("in.y4m");
    for (graph, read) in [("sobel", 1), ("blur", 3)] {
        let (format, frames, _) = luma_of(&path, 2, "FRAME\n");
        let graph = Graph::parse(graph).unwrap();
        let service = graph.service(&format, Planes::Auto).unwrap();
        assert_eq!(service.planes_read(), read);
        let mut reader = Reader::open(&path).unwrap();
        let mut input = open_input(&path).unwrap();
        let sources: [&mut dyn Source<FilterService, Error = Error>; 2] = [&mut reader, &mut input];
        for source in sources {
            let mut frame = Frame::new(&format);
            source.start(&service);
            assert!(source.read(&mut frame).unwrap());
            let bytes = bytes_of(&frame);
            let passed = bytes[64 * 48..].iter().all(|&code| code == 0);
            assert_eq!((passed, bytes == frames[0]), (read == 1, read == 3));
        }
    }
}

#[test]
fn a_file_cut_short_in_what_is_passed_over_says_where() {
    let folder = Folder::new();
    let path = folder.path("in.y4m");
    let whole = 6 + 64 * 48 * 3 / 2;
    // Bytes of the last frame that are left: all but one, all of the luma, one more, half of the chroma.
    for left in [whole - 1, 6 + 64 * 48, 6 + 64 * 48 + 1, 6 + 64 * 48 * 5 / 4] {
        let (format, _, mut reader) = luma_of(&path, 3, "FRAME\n");
        let length = fs::metadata(&path).unwrap().len();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length - (whole - left) as u64).unwrap();
        let mut frame = Frame::new(&format);
        assert!(reader.read(&mut frame).unwrap());
        assert!(reader.read(&mut frame).unwrap());
        match reader.read(&mut frame) {
            Err(Error::Truncated {
                frame, got, wanted, ..
            }) => assert_eq!((frame, got, wanted), (2, left as u64, whole as u64)),
            other => panic!("{other:?}"),
        }
        assert!(!reader.read(&mut frame).unwrap());
    }
}
