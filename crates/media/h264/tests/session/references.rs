//! Pictures refer to no more than their level has room for.

use evener_h264::config::{Config, Preset, Settings};
use evener_h264::session::{Options, Session};
use evener_h264::syntax::Level;
use evener_image::session::Audio;
use evener_testing::Folder;

use crate::{decoded, has_ffmpeg, probed, runtime};

const W: usize = 352;
const H: usize = 288;
const FRAMES: usize = 8;

/// A pattern that moves a little and comes back after three frames, so that older pictures are worth referring to.
fn y4m(folder: &Folder) -> String {
    let mut bytes = format!("YUV4MPEG2 W{W} H{H} F5:1 Ip C420jpeg\n").into_bytes();
    for frame in 0..FRAMES {
        bytes.extend_from_slice(b"FRAME\n");
        let shift = 3 * (frame % 3);
        let luma = (0..W * H).map(|i| ((i % W + shift) * (i / W + shift) / 50) as u8);
        bytes.extend(luma.chain([128; W * H / 2]));
    }
    let path = folder.file("in.y4m", bytes);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_level_with_room_for_two_gets_no_more() {
    let config = Config::new(&Settings {
        preset: Preset::Slow,
        level: Level::named("1.1"),
        ..Settings::default()
    })
    .unwrap();
    assert!(config.tools.references > 2);
    let folder = Folder::new();
    let output = folder.path("out.264");
    let session = Session::open(&config, None, y4m(&folder), &output, Audio::Copied).unwrap();
    session.run(&runtime(), Options::default()).unwrap();
    if !has_ffmpeg() {
        return;
    }
    assert_eq!(decoded(&output).len(), FRAMES * W * H * 3 / 2);
    let keys = probed(&output, "packet=flags").matches('K').count();
    assert_eq!(keys, 1, "the others refer to pictures");
}
