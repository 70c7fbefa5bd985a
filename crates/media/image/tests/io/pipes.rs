//! y4m streams through pipes.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

use evener_files::InputFile;
use evener_image::Frame;
use evener_image::io::Error;
use evener_image::io::y4m::{Reader, Writer};

use crate::y4m::{noise, read_all};
use crate::{bytes_of, format, frame_bytes, frame_of};

fn pipe() -> (File, File) {
    let (reader, writer) = io::pipe().unwrap();
    (
        File::from(OwnedFd::from(reader)),
        File::from(OwnedFd::from(writer)),
    )
}

#[test]
fn a_frame_from_a_pipe_does_not_wait_for_the_next() {
    let (input, mut output) = pipe();
    let (sent, received) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut reader = Reader::from_input(InputFile::from_file(input, "pipe").unwrap()).unwrap();
        let mut frame = Frame::new(reader.format());
        assert_eq!(reader.frames(), None);
        while reader.read(&mut frame).unwrap() {
            sent.send(bytes_of(&frame)).unwrap();
        }
    });
    let frames: Vec<_> = (0..4).map(|i| noise(i, 384 * 256)).collect();
    output.write_all(b"YUV4MPEG2 W384 H256 Cmono\n").unwrap();
    for (i, frame) in frames.iter().enumerate() {
        output
            .write_all(if i == 2 { b"FRAME It\n" } else { b"FRAME\n" })
            .unwrap();
        output.write_all(frame).unwrap();
        // Deadlocks, and so times out, if the reader wants more than the frame.
        assert!(
            received.recv_timeout(Duration::from_secs(20)).unwrap() == *frame,
            "frame {i}"
        );
    }
    drop(output);
    reading.join().unwrap();
}

#[test]
fn large_frames_pass_through_pipes_in_any_order_of_sizes() {
    let format = format("420p10", 1001, 701);
    let (input, output) = pipe();
    let frames: Vec<_> = (0..5)
        .map(|i| noise(i, frame_bytes("420p10", 1001, 701)))
        .collect();
    let expected = frames.clone();
    let reading = std::thread::spawn(move || {
        read_all(&mut Reader::from_input(InputFile::from_file(input, "pipe").unwrap()).unwrap()).0
            == expected
    });
    struct Pipe(File);
    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }
        fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
            self.0.write_vectored(slices)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Pipe(output), "pipe");
    for bytes in &frames {
        writer.write(&frame_of(&format, bytes)).unwrap();
    }
    drop(writer);
    assert!(reading.join().unwrap());
}

#[test]
fn a_closed_pipe_is_an_error_of_its_own() {
    let (input, output) = pipe();
    drop(input);
    let error = Writer::new(output, "pipe")
        .write(&Frame::new(&format("mono", 64, 64)))
        .err();
    assert!(
        matches!(error, Some(Error::ClosedPipe { frames: 0, .. })),
        "{error:?}"
    );
}
