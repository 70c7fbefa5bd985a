//! Any bytes through the y4m reader: no panic, no frame that is not there, and whatever is read can be written and
//! read again.

#![no_main]
#![forbid(unsafe_code)]

use evener_image::Frame;
use evener_image::io::y4m::{Header, Reader, Writer};
use libfuzzer_sys::fuzz_target;

/// Larger frames are left alone: the input cannot hold one, and a frame costs memory.
const LARGEST: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::new(bytes, "fuzz") else {
        return;
    };
    let (format, timing) = (*reader.format(), *reader.timing());
    let header = Header { format, timing };
    let line = header.line().expect("what was read has a name");
    // The siting of 4:2:0 has no name at 10 bits, and a reader never gives one there.
    assert_eq!(Header::parse(line.trim_end().as_bytes()), Ok(header));
    if format.frame_bytes() > LARGEST {
        return;
    }

    let mut frame = Frame::new(&format);
    let mut writer = Writer::new(Vec::new(), "fuzz")
        .with_format(&format)
        .with_timing(&timing);
    let mut count = 0;
    while let Ok(true) = reader.read(&mut frame) {
        writer.write(&frame).expect("memory takes everything");
        count += 1;
    }
    assert!(
        count * format.frame_bytes() <= bytes.len(),
        "{count} frames out of nowhere"
    );
    assert!(
        matches!(reader.read(&mut frame), Ok(false)),
        "the end stays the end"
    );

    writer.finish().expect("memory takes everything");
    let written = writer.into_inner();
    let mut again = Reader::new(&written[..], "again").expect("what was written is right");
    assert_eq!((*again.format(), *again.timing()), (format, timing));
    for n in 0..count {
        assert!(
            again.read(&mut frame).expect("what was written is right"),
            "frame {n}"
        );
    }
    assert!(!again.read(&mut frame).expect("what was written is right"));
});
