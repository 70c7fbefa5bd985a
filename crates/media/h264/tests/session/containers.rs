//! Other containers, and what of a film goes with the video.

use std::fs;
use std::path::Path;

use evener_testing::Folder;

use crate::{decoded, encode, has_ffmpeg, probed, run};

#[test]
fn containers_hold_the_frames_and_their_times() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let stream = folder.path("out.264");
    let input = "testsrc:64x48:12";
    encode(input, &stream).unwrap();
    let frames = decoded(&stream);
    for extension in [
        "mp4", "m4v", "mkv", "mov", "ts", "mts", "m2ts", "flv", "avi", "3gp", "nut",
    ] {
        let out = folder.path(&format!("a film.{extension}"));
        encode(input, &out).unwrap();
        assert!(decoded(&out) == frames, "{extension}");
        // Of some formats ffprobe says it for a programme, too.
        let told = probed(&out, "stream=codec_name,r_frame_rate");
        let expected = "codec_name=h264\nr_frame_rate=25/1\n";
        assert!(told.starts_with(expected), "{extension}: {told}");
        fs::remove_file(out).unwrap();
    }
    assert_eq!(folder.names(), ["out.264"]);
}

/// A film with sound, subtitles, a title and a chapter.
fn film(folder: &Folder) -> String {
    let subtitles = folder.file("s.srt", "1\n00:00:00,100 --> 00:00:00,300\nhello\n");
    let about = folder.file(
        "m.txt",
        ";FFMETADATA1\ntitle=Ice\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=400\ntitle=One\n",
    );
    let film = folder.path("film.mkv");
    let line = "-v error -f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -f lavfi -i sine=d=0.4 -i {} -i {} -map 0 -map 1 -map 2 \
                -map_metadata 3 -map_chapters 3 -c:v ffv1 -pix_fmt yuv420p -c:a aac -c:s srt {}";
    run("ffmpeg", line, &[&subtitles, &about, &film]);
    film.to_str().unwrap().to_owned()
}

fn streams(file: &Path) -> String {
    let line = "-v error -of csv=p=0 -show_entries stream=codec_name {}";
    let text = String::from_utf8(run("ffprobe", line, &[file])).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sound_and_what_else_a_film_has_goes_with_the_video() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let film = film(&folder);
    let stream = folder.path("out.264");
    encode(&film, &stream).unwrap();
    let frames = decoded(&stream);
    for (name, expected) in [
        ("out.mkv", "h264 aac subrip"),
        ("out.mov", "h264 aac"),
        ("out.mp4", "h264 aac"),
        ("out.ts", "h264 aac"),
    ] {
        let out = folder.path(name);
        encode(&film, &out).unwrap();
        assert!(decoded(&out) == frames, "{name}");
        // The chapters of mp4 are a stream.
        let found = streams(&out);
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    let told = probed(
        &folder.path("out.mp4"),
        "format_tags=title:chapter=start_time",
    );
    assert!(
        told.contains("title=Ice") && told.contains("start_time=0.000000"),
        "{told}"
    );
}
