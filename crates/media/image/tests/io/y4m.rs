//! y4m streams in memory.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};

use evener_files::Target;
use evener_image::io::Error;
use evener_image::io::y4m::{HeaderError, MAX_LINE, Reader, Writer};
use evener_image::{ColourRange, Format, Frame, Ratio, Timing};
use evener_testing::Folder;
use proptest::prelude::*;

use crate::{FORMATS, bytes_of, format, frame_bytes, frame_of};

/// A stream as the format's definition has it, without using the writer.
fn stream(header: &str, lines: &[&str], frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 {header}\n").into_bytes();
    for (i, frame) in frames.iter().enumerate() {
        bytes.extend_from_slice(lines[i % lines.len()].as_bytes());
        bytes.extend_from_slice(frame);
    }
    bytes
}

/// Noise that contains newlines and `FRAME` like any other bytes.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 56) as u8
        })
        .collect()
}

pub fn read_all<R: Read>(reader: &mut Reader<R>) -> (Vec<Vec<u8>>, Option<Error>) {
    let mut frame = Frame::new(reader.format());
    let mut frames = Vec::new();
    loop {
        match reader.read(&mut frame) {
            Ok(true) => frames.push(bytes_of(&frame)),
            Ok(false) => return (frames, None),
            Err(error) => return (frames, Some(error)),
        }
    }
}

/// Gives a few bytes a call, as pipes do, and is interrupted now and then, as signals do.
struct Dribble<'a> {
    bytes: &'a [u8],
    steps: Vec<usize>,
    calls: usize,
}

impl Dribble<'_> {
    fn step(&mut self) -> io::Result<usize> {
        self.calls += 1;
        match self.steps[self.calls % self.steps.len()] {
            0 => Err(io::ErrorKind::Interrupted.into()),
            n => Ok(n),
        }
    }
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.step()?.min(buffer.len());
        self.bytes.read(&mut buffer[..n])
    }

    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut left = self.step()?;
        let mut got = 0;
        for slice in slices {
            let n = left.min(slice.len());
            let now = self.bytes.read(&mut slice[..n])?;
            (left, got) = (left - now, got + now);
        }
        Ok(got)
    }
}

/// Takes a few bytes a call, and no more than `room` in all.
struct Narrow {
    kept: Vec<u8>,
    step: usize,
    room: usize,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.kept.len() == self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n = self.step.min(bytes.len()).min(self.room - self.kept.len());
        self.kept.extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let all: Vec<u8> = slices.iter().flat_map(|s| s.to_vec()).collect();
        self.write(&all)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Narrow {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        self.kept.commit(bytes)
    }
}

fn timings() -> impl Strategy<Value = (Timing, String)> {
    (
        (1..=u32::MAX, 1..=u32::MAX),
        proptest::option::of((1u32..1000, 1u32..1000)),
        proptest::option::of(any::<bool>()),
        proptest::sample::select(vec!['?', 'p', 't', 'b']),
    )
        .prop_map(|((num, den), aspect, full_range, interlace)| {
            let (an, ad) = aspect.unwrap_or((0, 0));
            let range = match full_range {
                None => "",
                Some(true) => " XCOLORRANGE=FULL",
                Some(false) => " XCOLORRANGE=LIMITED",
            };
            let timing = Timing {
                rate: Ratio { num, den },
                aspect: aspect.map(|(num, den)| Ratio { num, den }),
                range_named: full_range.is_some(),
                interlace,
                ..Timing::default()
            };
            (
                timing,
                format!("F{num}:{den} I{interlace} A{an}:{ad} C@{range}"),
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn streams_are_read_and_written_exactly(
        (name, _) in proptest::sample::select(FORMATS.to_vec()),
        (w, h) in (1usize..40, 1usize..40),
        count in 0usize..5,
        seed: u64,
        (timing, tags) in timings(),
        steps in proptest::collection::vec(prop_oneof![Just(0usize), 1usize..12, 1usize..5000], 1..8)
            .prop_filter("some progress", |s| s.iter().any(|&n| n > 0)),
        step in 1usize..3000,
    ) {
        let size = frame_bytes(name, w, h);
        let frames: Vec<_> = (0..count).map(|i| noise(seed ^ i as u64, size)).collect();
        let header = format!("W{w} H{h} {}", tags.replace('@', name));
        let plain = stream(&header, &["FRAME\n"], &frames);
        let odd = format!("FRAME {}\n", "Xy".repeat(seed as usize % 900));
        let mixed = stream(&header, &["FRAME\n", "FRAME Ip\n", "FRAME \n", &odd], &frames);
        let usual = format(name, w as u32, h as u32);
        let range = match tags.split_once("XCOLORRANGE=") {
            None => usual.range,
            Some((_, "FULL")) => ColourRange::Full,
            Some(_) => ColourRange::Limited,
        };
        let expected = Format { range, ..usual };

        for bytes in [&plain, &mixed] {
            let mut reader =
                Reader::new(Dribble { bytes, steps: steps.clone(), calls: 0 }, "dribble").unwrap();
            prop_assert_eq!(*reader.format(), expected);
            prop_assert_eq!(*reader.timing(), timing);
            let (got, error) = read_all(&mut reader);
            prop_assert!(error.is_none(), "{:?}", error);
            prop_assert_eq!(&got, &frames);
        }

        let out = Narrow { kept: Vec::new(), step, room: usize::MAX };
        let mut writer = Writer::new(out, "narrow").with_timing(&timing).with_format(&expected);
        for bytes in &frames {
            writer.write(&frame_of(&expected, bytes)).unwrap();
        }
        writer.finish().unwrap();
        prop_assert_eq!(writer.into_inner().kept, plain);
    }

    #[test]
    fn damaged_streams_end_in_an_error_or_in_frames(
        at in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        steps in proptest::collection::vec(1usize..300, 1..4),
    ) {
        let frames = [noise(1, 24), noise(2, 24)];
        let mut bytes = stream("W4 H4 F25:1 Ip A1:1 C420jpeg Xa", &["FRAME\n", "FRAME Ip\n"], &frames);
        for (index, value) in at {
            let length = bytes.len();
            bytes[index.index(length)] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok(mut reader) = Reader::new(Dribble { bytes: &bytes, steps, calls: 0 }, "x") {
            // Damage may enlarge the frame; what was asked for stays small compared with real frames.
            prop_assume!(reader.format().frame_bytes() < 1 << 20);
            let size = reader.format().frame_bytes();
            let (got, _) = read_all(&mut reader);
            prop_assert!(got.len() * size <= bytes.len());
        }
    }
}

#[test]
fn a_cut_at_every_byte_is_told_with_its_frame() {
    let folder = Folder::new();
    let path = folder.path("cut.y4m");
    for (name, lines) in [
        ("420jpeg", ["FRAME\n"; 2]),
        ("420p10", ["FRAME\n", "FRAME Ip\n"]),
    ] {
        let size = frame_bytes(name, 5, 3);
        let frames = [noise(1, size), noise(2, size)];
        let bytes = stream(&format!("W5 H3 C{name}"), &lines, &frames);
        let header = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
        let first = header + lines[0].len() + size;
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let from_memory = Reader::new(&bytes[..cut], "cut").map(|mut r| read_all(&mut r));
            let from_file = Reader::open(&path).map(|mut r| read_all(&mut r));
            for result in [from_memory, from_file] {
                if cut < header {
                    let Err(Error::Header { reason, .. }) = result else {
                        panic!("{cut}")
                    };
                    assert_eq!(reason, HeaderError::Ends(cut));
                    continue;
                }
                let (whole, error) = match result {
                    Ok((got, error)) => (got, error),
                    Err(error) => (Vec::new(), Some(error)),
                };
                let (count, rest) = match cut {
                    _ if cut < first => (0, cut - header),
                    _ if cut < bytes.len() => (1, cut - first),
                    _ => (2, 0),
                };
                assert_eq!(whole, frames[..count], "cut at {cut}");
                match error {
                    None => assert_eq!(rest, 0, "cut at {cut}"),
                    Some(Error::Truncated {
                        frame, got, wanted, ..
                    }) => {
                        assert_eq!((frame, got), (count as u64, rest as u64), "cut at {cut}");
                        let line =
                            lines[count]
                                .len()
                                .min(if rest < lines[count].len() { 6 } else { 99 });
                        assert_eq!(wanted, (line + size) as u64, "cut at {cut}");
                    }
                    Some(other) => panic!("cut at {cut}: {other}"),
                }
            }
        }
    }
}

#[test]
fn headers_that_lie_cost_nothing() {
    let folder = Folder::new();
    let path = folder.path("lie.y4m");
    // The frame would have 4 GiB; the file has not even a line of it.
    std::fs::write(
        &path,
        stream("W65536 H65536 Cmono", &["FRAME\n"], &[vec![0; 100]]),
    )
    .unwrap();
    match Reader::open(&path).err() {
        Some(Error::Truncated {
            frame: 0,
            got: 106,
            wanted,
            ..
        }) => {
            assert_eq!(wanted, 6 + (1 << 32));
        }
        other => panic!("{other:?}"),
    }
    for (header, reason) in [
        ("W4294967297 H1", HeaderError::TooLarge(4294967297, 1)),
        ("W65536 H65536 C444p10", HeaderError::TooLarge(65536, 65536)),
        ("W1 H1 C420p14", HeaderError::Chroma("420p14".into())),
    ] {
        let bytes = stream(header, &["FRAME\n"], &[vec![0; 3]]);
        match Reader::new(&bytes[..], "lie").err() {
            Some(Error::Header { reason: found, .. }) => assert_eq!(found, reason),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn lines_without_end_are_refused() {
    let mut endless = b"YUV4MPEG2 W4 H4 ".to_vec();
    endless.resize(100_000, b'X');
    let reason = |bytes: &[u8]| match Reader::new(bytes, "endless").err() {
        Some(Error::Header { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(&endless), HeaderError::TooLong);
    assert_eq!(reason(&vec![b'x'; 100_000]), HeaderError::Magic);
    assert_eq!(
        reason(b"a text that is no video at all"),
        HeaderError::Magic
    );

    let line = format!("FRAME {}\n", "X".repeat(MAX_LINE));
    let bytes = stream("W4 H4", &["FRAME\n", &line], &[noise(1, 24), noise(2, 24)]);
    let (frames, error) = read_all(&mut Reader::new(&bytes[..], "endless").unwrap());
    assert_eq!(frames.len(), 1);
    assert!(
        matches!(
            error,
            Some(Error::FrameHeader {
                frame: 1,
                byte: 46,
                ..
            })
        ),
        "{error:?}"
    );
}

#[test]
fn a_missing_frame_line_is_told_with_its_byte() {
    for line in ["FRAMES\n", "frame\n", "\n", "FRAM", "XFRAME\n"] {
        let bytes = stream("W4 H4", &["FRAME\n", line], &[noise(1, 24), noise(2, 24)]);
        let mut reader = Reader::new(&bytes[..], "damaged").unwrap();
        let (frames, error) = read_all(&mut reader);
        assert_eq!(frames.len(), 1);
        assert!(
            matches!(
                error,
                Some(Error::FrameHeader {
                    frame: 1,
                    byte: 46,
                    ..
                })
            ),
            "{line:?} {error:?}"
        );
        let mut frame = Frame::new(reader.format());
        assert!(
            !reader.read(&mut frame).unwrap(),
            "the stream is over after an error"
        );
    }
}

#[test]
fn frames_of_another_format_are_refused() {
    let bytes = stream("W4 H4", &["FRAME\n"], &[noise(1, 24)]);
    let mut reader = Reader::new(&bytes[..], "in").unwrap();
    let other = Format {
        width: 5,
        ..*reader.format()
    };
    let error = reader.read(&mut Frame::new(&other)).err().unwrap();
    assert!(error.to_string().contains("4x4 4:2:0 8 bits"), "{error}");
    assert!(
        reader.read(&mut Frame::new(reader.format())).unwrap(),
        "the frame is still there"
    );

    let mut writer = Writer::new(Vec::new(), "out").with_format(reader.format());
    assert!(matches!(
        writer.write(&Frame::new(&other)),
        Err(Error::FrameFormat { .. })
    ));
    let floats = Format {
        depth: evener_image::Depth::F32,
        ..other
    };
    let error = Writer::new(Vec::new(), "out")
        .write(&Frame::new(&floats))
        .err();
    assert!(
        matches!(error, Some(Error::FloatFrames { .. })),
        "{error:?}"
    );
}

#[test]
fn a_stream_without_frames_has_a_header_if_its_format_is_known() {
    let mut writer = Writer::new(Vec::new(), "out").with_format(&format("422", 4, 4));
    writer.finish().unwrap();
    let bytes = writer.into_inner();
    assert_eq!(bytes, b"YUV4MPEG2 W4 H4 F25:1 Ip A0:0 C422\n");
    assert_eq!(
        read_all(&mut Reader::new(&bytes[..], "in").unwrap())
            .0
            .len(),
        0
    );
    let error = Writer::new(Vec::new(), "out").finish().err();
    assert!(matches!(error, Some(Error::NoFrames { .. })), "{error:?}");
}

#[test]
fn a_full_disk_is_told_and_whole_frames_can_be_kept() {
    let format = format("420jpeg", 4, 4);
    let header = "YUV4MPEG2 W4 H4 F25:1 Ip A0:0 C420jpeg\n".len();
    for room in 0..header + 3 * 30 {
        let mut writer = Writer::new(
            Narrow {
                kept: Vec::new(),
                step: 7,
                room,
            },
            "disk",
        );
        let error = (0..3)
            .find_map(|_| writer.write(&Frame::new(&format)).err())
            .unwrap();
        let fit = room.saturating_sub(header) / 30;
        let held = if room < header { 0 } else { header + fit * 30 };
        assert!(error.to_string().contains("write elsewhere"), "{error}");
        match error {
            Error::NoSpace { frames, bytes, .. } => {
                assert_eq!((frames, bytes), (fit as u64, held as u64), "room {room}");
            }
            other => panic!("{other}"),
        }
        assert!(
            writer.write(&Frame::new(&format)).is_err(),
            "room {room}: the stream is over"
        );
        assert_eq!(writer.finish().is_ok(), room >= header, "room {room}");
        if room >= header {
            let kept = writer.into_inner().kept;
            let (frames, error) = read_all(&mut Reader::new(&kept[..], "kept").unwrap());
            assert_eq!((frames.len(), error.is_none()), (fit, true), "room {room}");
        }
    }
}

/// Takes `good` bytes, then fails once, then takes everything.
struct Hiccup {
    kept: Vec<u8>,
    good: usize,
}

impl Write for Hiccup {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.good == 0 {
            self.good = usize::MAX;
            return Err(io::ErrorKind::Other.into());
        }
        let n = self.good.min(bytes.len());
        self.good -= n;
        self.kept.extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Hiccup {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        self.kept.commit(bytes)
    }
}

#[test]
fn nothing_is_written_behind_a_part_of_a_frame() {
    let format = format("420jpeg", 4, 4);
    let header = "YUV4MPEG2 W4 H4 F25:1 Ip A0:0 C420jpeg\n".len();
    for good in 1..header + 60 {
        let mut writer = Writer::new(
            Hiccup {
                kept: Vec::new(),
                good,
            },
            "hiccup",
        );
        let results: Vec<_> = (0..4)
            .map(|_| writer.write(&Frame::new(&format)).is_ok())
            .collect();
        let whole = good.saturating_sub(header) / 30;
        assert_eq!(
            results,
            (0..4).map(|n| n < whole).collect::<Vec<_>>(),
            "{good} bytes"
        );
        assert_eq!(writer.finish().is_ok(), good >= header, "{good} bytes");
        if good >= header {
            assert_eq!(
                writer.into_inner().kept.len(),
                header + whole * 30,
                "{good} bytes"
            );
        }
    }
}
