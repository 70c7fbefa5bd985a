//! ffmpeg decodes what is written.

use std::io::Write;
use std::process::{Command, Stdio};

use evener_h264::entropy::SliceWriter;
use evener_h264::macroblock::{Kind, Macroblock};
use evener_h264::syntax::{Deblocking, Entropy, Profile, SliceHeader, SliceKind};

use crate::common::random::{self, Style};
use crate::common::rng::Rng;
use crate::stream::{self, stream};

/// Whether the test can run; says so where it cannot.
pub fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        evener_testing::skip("the program ffmpeg is not installed");
    }
    found
}

/// Decodes a stream with one thread; what is printed about errors, and the pictures' samples.
pub fn decode(stream: &[u8]) -> (String, Vec<u8>) {
    let mut child = Command::new("ffmpeg")
        .args("-v warning -nostdin -threads 1 -err_detect explode -f h264 -i pipe:0".split(' '))
        .args("-f rawvideo -fps_mode passthrough pipe:1".split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stream = stream.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&stream));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    (
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.stdout,
    )
}

#[test]
fn ffmpeg_decodes_random_pictures_in_cavlc() {
    if !has_ffmpeg() {
        return;
    }
    let mut rng = Rng::new(2);
    for round in 0..30 {
        let profile = [Profile::ConstrainedBaseline, Profile::Main, Profile::High][round % 3];
        let size = (16 * rng.within(1, 10) as u32, 16 * rng.within(1, 8) as u32);
        let references = 1 + (round % 4) as u8;
        let parameters = stream::parameters(profile, Entropy::Cavlc, size, references);
        let (stream, pictures) = stream(&mut rng, &parameters, 16);
        let (messages, samples) = decode(&stream);
        assert_eq!(messages, "", "round {round}");
        let picture = (size.0 * size.1 * 3 / 2) as usize;
        assert_eq!(samples.len(), picture * pictures.len(), "round {round}");
    }
}

#[test]
fn samples_that_are_not_predicted_decode_as_they_are() {
    if !has_ffmpeg() {
        return;
    }
    let size = (48, 32);
    let parameters = stream::parameters(Profile::ConstrainedBaseline, Entropy::Cavlc, size, 1);
    let style = Style {
        skipped: 0,
        intra: 0,
        samples: 100,
        dense: 0,
        largest: 1,
        reach: 0,
        requantised: 0,
    };
    let header = SliceHeader {
        deblocking: Deblocking::Off,
        ..SliceHeader::default()
    };
    let picture = random::picture(&mut Rng::new(3), &parameters, &header, &style);
    let mut stream = Vec::new();
    parameters.write(&mut stream);
    let mut writer = SliceWriter::new(&parameters);
    writer.begin(&header);
    for row in &picture.rows {
        writer.row(&row.macroblocks, &row.levels);
    }
    writer.finish(&mut stream);
    // After it one that repeats it: a single run of all macroblocks.
    let skipped = Macroblock {
        kind: Kind::PSkip,
        refs: [0; 4],
        ..Macroblock::default()
    };
    writer.begin(&SliceHeader {
        kind: SliceKind::P,
        idr: None,
        frame_num: 1,
        ..header
    });
    for _ in 0..2 {
        writer.row(&[skipped; 3], &[]);
    }
    writer.finish(&mut stream);

    let (messages, decoded) = decode(&stream);
    assert_eq!(messages, "");
    let mut expected = vec![0; 48 * 32 * 3 / 2];
    for (y, row) in picture.rows.iter().enumerate() {
        for (x, mb) in row.macroblocks.iter().enumerate() {
            let levels = &row.levels[mb.levels as usize];
            for (at, &sample) in levels.luma.as_flattened().iter().enumerate() {
                expected[(16 * y + at / 16) * 48 + 16 * x + at % 16] = sample as u8;
            }
            for (component, blocks) in levels.chroma_ac.iter().enumerate() {
                let plane = 48 * 32 * (4 + component) / 4;
                for (at, &sample) in blocks.as_flattened().iter().enumerate() {
                    expected[plane + (8 * y + at / 8) * 24 + 8 * x + at % 8] = sample as u8;
                }
            }
        }
    }
    assert!(
        decoded[..expected.len()] == expected,
        "the picture of samples"
    );
    assert!(
        decoded[expected.len()..] == expected,
        "the picture that repeats it"
    );
}
